"""Outfit of an agent by the settings: a model, options, a session, the hooks that go with them, and a log.

A setting that somebody made counts before what the app file says, and that before the agent's own options.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from edgeagent.agent import Agent, Options
from edgeagent.app.eventlog import EventWriter
from edgeagent.app.guards import is_nano
from edgeagent.config import Config
from edgeagent.errors import ConfigError, ModelError
from edgeagent.hooks import Hook
from edgeagent.hooks.run_guards import LoopDetectorHook
from edgeagent.hooks.run_records import AuditLogHook
from edgeagent.hooks.slm import default_slm_hooks
from edgeagent.llm import LLM
from edgeagent.llm.gbnf import Rules
from edgeagent.llm.schema import SchemaError, expression
from edgeagent.mcp_tools.server_settings import checked_settings
from edgeagent.pii import PII
from edgeagent.resources import expanded
from edgeagent.session import Session

if TYPE_CHECKING:
    from edgeagent.llm.llama import LlamaLLM
    from edgeagent.mcp_tools.tool_servers import ToolServers

logger = logging.getLogger(__name__)

SMALL_WEIGHTS: Final = 4_000_000_000
"""A model with fewer weights gets the hooks of small models."""


def configured_llm(config: Config) -> LlamaLLM:
    """The model of the settings; its weights are not loaded yet.

    Raises:
        ConfigError: A setting of the engine is wrong.
        ModelError: The model can't be used.
    """
    from edgeagent.llm.engine_settings import EngineSettings
    from edgeagent.llm.llama import LlamaLLM

    engine = {name: value for name, value in config.engine.items() if name != "context_window"}
    return LlamaLLM(
        config.model,
        context_window=config.engine.get("context_window"),
        settings=EngineSettings(**engine),
        **config.keywords("llm"),
    )


class Outfit:
    """Fits agents out with what the settings say. Owns the models, the servers of tools, the audit and the log that it
    makes.

    Args:
        session: Keywords of the session that the app file says.

    Raises:
        ConfigError: A setting is wrong.
    """

    def __init__(self, config: Config, *, session: Mapping[str, Any] | None = None) -> None:
        self._config = config
        self._session = dict(session or {})
        self._models: dict[str, LLM] = {}
        """The configured models that were made, by the names in the settings."""
        self._chosen = config.model
        self._fallbacks = list(config.fallback_models)
        self.pii = replace(PII.of(self._session.get("pii")), **config.pii)
        """Treatment of personal data."""
        _check_distinct(
            session=config.session or self._session.get("path"),
            audit=config.audit,
            log=config.log,
            trail=self._session.get("audit"),
        )
        self._audit: AuditLogHook | None = None
        self._log: EventWriter | None = None
        self._mcp = checked_settings(config.mcp)
        self._servers: ToolServers | None = None

    def llm(self) -> LLM:
        """The configured model, made when it is first asked for: an agent may bring its own. If it can't be used, the
        first fallback that can.

        Raises:
            ModelError: None of them can be used.
        """
        while True:
            try:
                return self._model(self._chosen)
            except ModelError as error:
                if not self._fallbacks:
                    raise
                failed, self._chosen = self._chosen, self._fallbacks.pop(0)
                logger.warning("%s cannot answer (%s); %s takes over", failed, error, self._chosen)

    @property
    def log(self) -> EventWriter:
        """A subscriber that writes events, where the settings name a file for them.

        Raises:
            ConfigError: The file can't be opened.
        """
        if self._log is None:
            config = self._config
            self._log = EventWriter(config.log, pii=self.pii, max_mb=config.log_max_mb, files=config.log_files)
        return self._log

    def made(self, llm: LLM | None) -> bool:
        """True for a model of the settings."""
        return llm in self._models.values()

    def helps(self, llm: LLM | None) -> bool:
        """True if a file tells that a model has few weights, and the settings have such models helped by hooks.

        Nano was trained to do without.
        """
        header = getattr(llm, "header", None)
        small = header is not None and header.weights < SMALL_WEIGHTS and not is_nano(llm)
        return self._config.small_model_hooks and small

    def options(self, own: Options) -> Options:
        """An agent's options, with what the settings say instead of them."""
        config = self._config
        given = config.has("deadline_s") or own.deadline_s is None
        limit_s = config.deadline_s if given else own.deadline_s
        return replace(own, deadline_s=limit_s, **config.keywords("options"))

    def session(self, agent: Agent, options: Options) -> Session:
        """A session of an agent with the given options, fitted out.

        Raises:
            BusyError, ConfigError, EdgeAgentError: As ``Session``; or the audit or the JSON Schema can't be opened.
        """
        config = self._config
        keywords: dict[str, Any] = {"resolve_model": self._model, **self._session, **config.keywords("history")}
        if self._fallbacks or config.fallback_models:
            keywords["fallback_models"] = tuple(self._fallbacks)
        if config.response_schema is not None:
            schema = keywords["response_schema"] = _schema(config.response_schema)
            if self.made(agent.llm):
                _check_grammar(config.response_schema, schema)
        if config.session is not None:
            keywords["path"] = config.session
        hooks = self._hooks(agent)
        session = Session(agent, **{**keywords, "options": options, "pii": self.pii})
        session.context.hooks = [*session.context.hooks, *hooks, *self._served(agent)]
        return session

    @property
    def notes(self) -> list[str]:
        """Sentences about servers of tools that are not there yet."""
        names = [] if self._servers is None else self._servers.starting
        return [f"MCP server {name} is still starting; its tools come when it is ready" for name in names]

    def close(self) -> None:
        """Closes what was made."""
        if self._servers is not None:
            self._servers.close()
        for model in self._models.values():
            model.close()
        for file in (self._audit, self._log):
            if file is not None:
                file.close()

    def _model(self, name: str) -> LLM:
        if name not in self._models:
            self._models[name] = configured_llm(replace(self._config, model=name))
        return self._models[name]

    def _hooks(self, agent: Agent) -> list[Hook]:
        config = self._config
        if self._audit is None and config.audit is not None:
            self._audit = AuditLogHook(config.audit, pii=self.pii, max_mb=config.audit_max_mb, files=config.audit_files)
        hooks: list[Hook] = [] if self._audit is None else [self._audit]
        if self.helps(agent.llm):  # the guard against repetition is in every run anyway
            own: tuple[type, ...] = (LoopDetectorHook, *(type(hook) for hook in agent.hooks))
            hooks += [hook for hook in default_slm_hooks() if not isinstance(hook, own)]
        return hooks

    def _served(self, agent: Agent) -> list[Hook]:
        """Gives an agent the tools of the servers. The first agent waits for those that start."""
        if self._servers is None and self._mcp:
            from edgeagent.mcp_tools.tool_servers import ToolServers

            self._servers = ToolServers(self._mcp)
            self._servers.wait()
        return [] if self._servers is None else [self._servers.follow(agent.tools)]


def _check_distinct(**files: object) -> None:
    """Refuses one file for two purposes: the lines of one would end the other. Devices and pipes take anything.

    Raises:
        ConfigError: Two of them are the same file.
    """
    purposes: dict[str, str] = {}
    for purpose, file in files.items():
        if isinstance(file, str | os.PathLike) and (os.path.isfile(file) or not os.path.exists(file)):  # noqa: PTH110, PTH113
            other = purposes.setdefault(os.path.realpath(file), purpose)
            if other != purpose:
                raise ConfigError(f"{other} and {purpose} are one file, {file}; give each a file of its own")


def _check_grammar(path: Path, schema: dict[str, Any]) -> None:
    """Refuses a schema that the engine could not have a reply obey, before the first request does.

    Raises:
        ConfigError: No grammar can say it.
    """
    try:
        expression(Rules(), schema)
    except SchemaError as error:
        raise ConfigError(f"{path}: response_schema cannot be used: {error}") from None


def _schema(path: Path) -> dict[str, Any]:
    """A JSON Schema from a file.

    Raises:
        ConfigError: It can't be read, is not JSON, or no object.
    """
    try:
        schema = json.loads(expanded(path).read_text(encoding="utf-8-sig"))
    except json.JSONDecodeError as error:
        raise ConfigError(f"{path}:{error.lineno}: response_schema is not JSON: {error.msg}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: response_schema cannot be read: {error}") from None
    if not isinstance(schema, dict):
        raise ConfigError(f"{path}: response_schema should be a JSON object, not {json.dumps(schema)[:40]}")
    return schema
