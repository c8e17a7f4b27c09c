"""The table of all settings: a row tells the kind, default, flag, variable and meaning of one.

``Config`` is the table as a dataclass: a field is a setting, or a table ``[name]`` of settings. The reader, the page
docs/reference/config.md and their tests are derived from the rows. Does not know what is done with a setting.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final, Literal

Kind = Literal["boolean", "text", "texts", "phrases", "sounds", "variables", "path", "number", "integer"]
Owner = Literal["options", "history", "llm"]

_ROW: Final = "row"
_ROWS: Final = "rows"
_ITEM_ROWS: Final = "item rows"
_WHAT: Final = "what"
_WHOLE: Final = "whole"
PREFIX: Final = "EDGEAGENT_"
"""Beginning of the names of settings' variables."""
_OPEN_END: Final = 1_000_000
"""Ranges that end above this number are told as "or more"."""
EXPERT: Final = "expert"
"""The table of the settings that only a developer turns. None of them has a variable or a flag."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A row of the table."""

    name: str
    """As written in a settings file: NAME, or TABLE.NAME."""
    kind: Kind
    what: str
    """Its meaning, in a few words."""
    default: str
    """The value where nobody set one, in words."""
    flag: str | None = None
    variable: str | None = None
    low: float = -math.inf
    """Lowest number allowed."""
    high: float = math.inf
    """Highest number allowed."""
    unit: str = ""
    choices: tuple[str, ...] = ()
    """Texts allowed; empty: any."""
    names_file: bool = False
    """True for a text that may be a path: one with a slash, or a model's file."""
    of: Owner | None = None
    """The keyword's owner: ``Options``, ``Session`` or ``LlamaLLM``."""
    kept: str = ""
    """Where ``Config`` has the value: NAME, or TABLE.NAME."""

    @property
    def range(self) -> str:
        """The numbers allowed, in words."""
        unit = f" {self.unit}" if self.unit else ""
        if self.open_ended:
            return f"{self.low:.10g} or more{unit}"
        return f"from {self.low:.10g} to {self.high:.10g}{unit}"

    @property
    def open_ended(self) -> bool:
        """True if the highest number is told to nobody who has not passed it."""
        return self.high > _OPEN_END


def _row(kind: Kind, default: object, what: str, told: str = "", **traits: Any) -> Any:
    """A setting at the top of a file. ``told`` is the default in words, where the value does not say it."""
    if not told:
        told = f"{default:g}" if isinstance(default, float) else str(default).lower()
    return field(default=default, metadata={_ROW: Setting(name="", kind=kind, what=what, default=told, **traits)})


def _table(what: str, *rows: Setting, whole: bool = False) -> Any:
    """A table of settings; the value of the field has those that somebody set. ``whole``: a text in the place of the
    table is the value of each of them."""
    return field(default_factory=dict, metadata={_WHAT: what, _ROWS: rows, _WHOLE: whole})


def _list(what: str, *rows: Setting) -> Any:
    """A list of tables ``[[name]]``; each item of the field has the settings that somebody set in one of them."""
    return field(default=(), metadata={_WHAT: what, _ITEM_ROWS: rows})


def _in(name: str, kind: Kind, default: str, what: str, **traits: Any) -> Setting:
    """A setting of the table that it stands in."""
    return Setting(name=name, kind=kind, default=default, what=what, **traits)


def _expert(kept: str, kind: Kind, default: str, what: str, name: str = "", **traits: Any) -> Setting:
    """A setting of ``[expert]``. ``kept`` is TABLE.NAME of the field of ``Config`` that has its value."""
    name = f"{EXPERT}.{name or kept.partition('.')[2]}"
    return Setting(name=name, kind=kind, default=default, what=what, kept=kept, **traits)


_SECONDS: Final[dict[str, Any]] = {"low": 0.001, "high": 1e6, "unit": "seconds"}
_COUNT: Final[dict[str, Any]] = {"low": 1, "high": 10_000_000}
_CORES: Final[dict[str, Any]] = {"low": 1, "high": 1024}
_MEGABYTES: Final[dict[str, Any]] = {"low": 0.01, "high": 1e6, "unit": "MB"}
_PERCENT: Final[dict[str, Any]] = {"low": 1, "high": 100, "unit": "percent"}
_PERSONAL: Final[dict[str, Any]] = {"choices": ("off", "warn", "redact")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The settings that somebody made. None, or what a table lacks, leaves the choice to the app file and its parts."""

    # --- who answers
    model: str = _row(
        "text", "nano", "a name of the catalogue, or the path of a .gguf file", flag="--model", names_file=True
    )
    fallback_models: tuple[str, ...] = _row(
        "texts", (), "models that take over when the one before cannot answer", "none", of="history", names_file=True
    )
    tool_format: str | None = _row(
        "text", None, "how the model writes calls, where its template does not tell", "found out", of="llm"
    )
    constrain_tools: bool | None = _row(
        "boolean", None, "true: a tool that no grammar can say is an error", "where a grammar can", of="llm"
    )
    call_gate: float | None = _row(
        "number",
        None,
        "least probability, by the model's first token, of a call without its template's tags; 0 lets every reply call",
        "as fitted for the model",
        of="llm",
        low=0,
        high=1,
    )
    force_arguments: bool | None = _row(
        "boolean",
        None,
        "true: calls without the template's tags obey their tools' schemas, but for tools that move something",
        "false",
        of="llm",
    )
    small_model_hooks: bool = _row("boolean", True, "default_slm_hooks for a model of less than 4 billion weights")
    app: Path | None = _row("path", None, "your own robot, a Python file", "the house robot", flag="--app")
    name: str | None = _row("text", None, "name of the house robot", "robi")
    instructions: str | None = _row("text", None, "system prompt of the house robot", "those nano was trained with")
    speed: float = _row("number", 1.0, "simulated seconds per second in the house", flag="--speed", low=0.1, high=1000)
    seed: int = _row("integer", 0, "where the things in the house lie", flag="--seed", low=0, high=2**63 - 1)

    # --- a run
    deadline_s: float = _row(
        "number",
        120.0,
        "a run is aborted after so long, in the time of the robot",
        flag="--deadline",
        variable="EDGEAGENT_DEADLINE",
        **_SECONDS,
    )
    max_turns: int | None = _row("integer", None, "model calls of a run", "15", of="options", **_COUNT)
    max_tool_hops: int | None = _row(
        "integer", None, "turns of a run whose tools run", "no limit; 6 for the house robot", of="options", **_COUNT
    )
    max_tokens: int | None = _row("integer", None, "tokens of one reply", "256", of="options", **_COUNT)
    temperature: float | None = _row(
        "number", None, "0 always takes the likeliest token", "0", of="options", low=0, high=5
    )
    thinking_level: str | None = _row(
        "text", None, "how much a model reasons that can, such as low or high", "off", of="options"
    )
    tool_choice: str | None = _row(
        "text",
        None,
        "required_first: the first model call of a run calls a tool; none: no model call does",
        "auto",
        of="options",
        choices=("auto", "required_first", "none"),
    )
    response_schema: Path | None = _row(
        "path", None, "a JSON file with the JSON Schema that every reply obeys", "none", of="history"
    )
    tool_timeout_s: float | None = _row(
        "number", None, "for a tool that names no limit", "30", of="options", **_SECONDS
    )
    confirm_timeout_s: float | None = _row(
        "number", None, "for a person's answer to a question", "30", of="options", **_SECONDS
    )
    llm_timeout_s: float | None = _row(
        "number", None, "to the first token, before a fallback model takes over", "10 or 30", of="options", **_SECONDS
    )

    # --- what is kept
    session: Path | None = _row("path", None, "a journal: the conversation goes on there", "none", flag="--session")
    durability: str | None = _row(
        "text",
        None,
        "power: every record of the journal is on the disk before the robot goes on",
        "process",
        of="history",
        choices=("process", "power"),
    )
    max_context_tokens: int | None = _row(
        "integer", None, "tokens of prompt and reply together", "the model's window", of="history", **_COUNT
    )
    compaction_threshold: int | None = _row(
        "integer", None, "of the context: from here on the history is compacted", "80", of="history", **_PERCENT
    )
    compaction_target: int | None = _row(
        "integer", None, "of the context: what it is compacted to", "50", of="history", **_PERCENT
    )
    log: Path | None = _row("path", None, "every event as a line of JSON", "none", flag="--log")
    log_max_mb: float = _row("number", 10.0, "of one file of the log, then a new one is begun", **_MEGABYTES)
    log_files: int = _row("integer", 5, "files of the log; the oldest goes", low=1, high=1000)
    audit: Path | None = _row("path", None, "what every run did, for edgeagent replay", "none", flag="--audit")
    audit_max_mb: float = _row("number", 10.0, "of one file of the audit, then a new one is begun", **_MEGABYTES)
    audit_files: int = _row("integer", 5, "files of the audit; the oldest goes", low=1, high=1000)

    # --- tables
    pii: Mapping[str, Any] = _table(
        'personal data: off leaves it, warn tells of it, redact puts placeholders there; pii = "redact" is all three',
        _in("user", "text", "off", "in what people say", variable="EDGEAGENT_PII_USER", **_PERSONAL),
        _in("tools", "text", "off", "in what tools return", variable="EDGEAGENT_PII_TOOLS", **_PERSONAL),
        _in("log", "text", "redact", "in log and audit", variable="EDGEAGENT_PII_LOG", **_PERSONAL),
        whole=True,
    )
    engine: Mapping[str, Any] = _table(
        "how the model uses the machine; `edgeagent doctor` shows what was chosen, and why",
        _in(
            "context_window",
            "integer",
            "4096, or what the model was trained for",
            "tokens of conversation and reply together",
            low=512,
            high=10_000_000,
        ),
        _in("threads", "integer", "cores, less one", "cores for writing", **_CORES),
        _in("gpu_layers", "integer", "-1", "layers on a GPU; -1 is all", low=-1, high=10_000),
    )
    audio: Mapping[str, Any] = _table(
        "microphone and loudspeaker: sound.md",
        _in(
            "input",
            "text",
            "the system's",
            "a number, a part of a name, or a WAV file",
            flag="--input",
            names_file=True,
        ),
        _in(
            "output",
            "text",
            "the system's",
            "a number, a part of a name, or a WAV file",
            flag="--output",
            names_file=True,
        ),
        _in("channel", "integer", "the mean of all", "of the microphone", low=0, high=63),
        _in("latency_ms", "integer", "60", "asked of the sound system", low=5, high=2000),
        _in(
            "echo",
            "text",
            "webrtc",
            "hardware: the microphone cancels the echo itself",
            choices=("webrtc", "hardware", "off"),
        ),
    )
    speech: Mapping[str, Any] = _table(
        "the voice",
        _in(
            "voice",
            "text",
            "heart",
            "of the catalogue (heart, joe), of espeak-ng (en, de), or the path of a Piper voice (.onnx)",
            flag="--voice",
            names_file=True,
        ),
        _in("rate_wpm", "integer", "175", "words in a minute", flag="--rate", low=80, high=450),
        _in("pitch", "integer", "50", "of espeak-ng's voices", flag="--pitch", low=0, high=100),
        _in("volume", "integer", "100", "100 is as the voice was made", flag="--volume", low=0, high=200),
    )
    ears: Mapping[str, Any] = _table(
        "how people are heard: sound.md",
        _in(
            "engine",
            "text",
            "the best that is here",
            "what hears",
            flag="--engine",
            variable="EDGEAGENT_EARS",
            choices=("fused", "sphinx", "whisper"),
        ),
        _in(
            "model",
            "text",
            "tiny.en",
            "of whisper: a name, or the folder of a model",
            variable="EDGEAGENT_EARS_MODEL",
            names_file=True,
        ),
        _in("language", "text", "en", "of whisper; auto finds it out for each utterance", flag="--language"),
        _in(
            "stop_words", "phrases", "stop, halt, freeze", "with commas; others may have a threshold: whoa there/1e-20"
        ),
        _in("wake_words", "phrases", "none", "likewise, such as hey robi", flag="--wake-word"),
        _in("hot_words", "phrases", "none", "likewise: names that whisper would not expect"),
        _in("said", "sounds", "none", "how words sound that are said in another way: sound.md"),
    )
    conversation: Mapping[str, Any] = _table(
        "how turns are taken: conversation.md",
        _in(
            "barge_in",
            "text",
            "balanced",
            "how easily the robot is interrupted",
            flag="--barge-in",
            choices=("eager", "balanced", "strict", "off"),
        ),
        _in("push_to_talk", "boolean", "false", "hear only while the button is pressed", flag="--push-to-talk"),
        _in(
            "follow_up_s",
            "number",
            "8",
            "listen on after an answer, with a wake word",
            low=0,
            high=3600,
            unit="seconds",
        ),
        _in("turn_end", "path", "none", "a turn-end model: voice-words.md"),
        _in("chimes", "boolean", "true", "a tone when it listens, sleeps, or fails"),
    )
    mcp: tuple[Mapping[str, Any], ...] = _list(
        "servers of tools, one table each: tools.md",
        _in("name", "text", "must be set", "what the names of its tools begin with: NAME_TOOL"),
        _in("command", "texts", "none", "starts the server, which talks over its stdin and stdout: program, arguments"),
        _in("env", "variables", "none", "variables for the command, beside a few of your own such as PATH and HOME"),
        _in("cwd", "path", "the current folder", "the folder in which the command runs"),
        _in("url", "text", "none", "a server that runs already, of streamable HTTP; instead of a command"),
        _in("token_file", "path", "none", "a file with the token that a url asks for"),
        _in("remote", "boolean", "false", "true: a url may be another machine's, so that calls leave the robot"),
        _in("timeout_s", "number", "as tool_timeout_s", "for a call of its tools", **_SECONDS),
        _in("motion", "boolean", "false", "true: its tools that change something obey the safety latch"),
        _in(
            "message_values",
            "integer",
            "50000",
            "values in one message of the server, counted by commas, colons and brackets; one with more ends it",
            low=1000,
            high=1_000_000,
        ),
    )
    web: Mapping[str, Any] = _table(
        "the page of chat and talk: cli.md",
        _in("serve", "boolean", "false", "serve it", flag="--web", variable="EDGEAGENT_WEB"),
        _in(
            "host",
            "text",
            "127.0.0.1",
            "address that it listens to; 0.0.0.0 is every one of the machine",
            flag="--web-host",
            variable="EDGEAGENT_WEB_HOST",
        ),
        _in(
            "port",
            "integer",
            "8765",
            "0 is any that is free",
            flag="--web-port",
            variable="EDGEAGENT_WEB_PORT",
            low=0,
            high=65535,
        ),
        _in(
            "token",
            "boolean",
            "except on loopback",
            "whoever opens it has to know a token",
            variable="EDGEAGENT_WEB_TOKEN",
        ),
    )
    options: Mapping[str, Any] = field(default_factory=dict)
    """Fields of ``Options`` that were set in the table [expert]."""
    given: frozenset[str] = frozenset()
    """Names of the settings that somebody set."""

    def has(self, name: str) -> bool:
        """True if somebody set a setting at the top of the file, whatever it was set to."""
        default = next(one.default for one in fields(self) if one.name == name)
        return name in self.given or getattr(self, name) != default

    def keywords(self, of: Owner) -> dict[str, Any]:
        """Returns what somebody set of the keywords of ``Options``, of a ``Session`` ("history"), or of
        ``LlamaLLM``."""
        names = [setting.name for setting in SETTINGS.values() if setting.of == of]
        top = {name: getattr(self, name) for name in names if self.has(name)}
        return {**top, **self.options} if of == "options" else top


_EXPERT: Final = (
    _expert("engine.batch_threads", "integer", "as threads", "cores for reading a prompt", **_CORES),
    _expert("engine.chunk_tokens", "integer", "64", "read between two looks at the stop", low=1, high=65536),
    _expert("engine.kv_type", "text", "f16", "q8_0 takes half the memory", choices=("f16", "q8_0")),
    _expert("engine.flash_attention", "text", "auto", "of llama.cpp", choices=("auto", "on", "off")),
    _expert("engine.mmap", "boolean", "true", "map the model's file, instead of reading it"),
    _expert("engine.mlock", "boolean", "false", "keep the weights in memory"),
    _expert(
        "engine.prefix_memory_mb",
        "integer",
        "a tenth of the free memory, 512 at most",
        "for what other agents' prompts need",
        low=0,
        high=1_000_000,
    ),
    _expert("engine.prefix_file", "boolean", "true", "keep system prompt and tools, once read, in a file"),
    _expert("ears.soft_end_ms", "integer", "that of barge_in", "silence until the decode begins", low=50, high=5000),
    _expert("ears.hard_end_ms", "integer", "700", "silence until an utterance has ended", low=50, high=10_000),
    _expert("ears.pre_roll_ms", "integer", "500", "sound kept from before speech was noticed", low=0, high=2000),
    _expert("ears.max_s", "number", "20", "longest utterance", low=5, high=60, unit="seconds"),
    _expert("ears.noise_suppression", "boolean", "true", "on what the ears hear"),
    _expert("ears.speculative", "boolean", "true", "decode at the soft end, before the end is certain"),
    _expert("ears.beam_size", "integer", "5", "of whisper", low=1, high=20),
    _expert("ears.window_s", "number", "12", "of whisper: what it sees at least", low=10, high=30, unit="seconds"),
    _expert(
        "ears.threads",
        "integer",
        "up to 4",
        "cores for a decode of whisper; where PocketSphinx hears too, the number that is fastest here",
        "ears_threads",
        **_CORES,
    ),
    _expert(
        "conversation.filler_s",
        "number",
        "2.5",
        'silence of a run until "One moment."',
        low=0.5,
        high=3600,
        unit="seconds",
    ),
    _expert(
        "options.tool_execution_mode",
        "text",
        "batch",
        "which calls of a reply run at once",
        choices=("sequential", "parallel", "batch"),
    ),
    _expert("options.max_concurrent_tools", "integer", "8", "calls of a reply at once", **_COUNT),
    _expert(
        "options.steering_mode",
        "text",
        "one_at_a_time",
        "how many messages one look takes",
        choices=("one_at_a_time", "all"),
    ),
    _expert(
        "options.followup_mode",
        "text",
        "one_at_a_time",
        "how many messages one look takes",
        choices=("one_at_a_time", "all"),
    ),
    _expert(
        "options.steering_check",
        "text",
        "after_batch",
        "when a message may interrupt",
        choices=("after_batch", "after_each_tool"),
    ),
    _expert(
        "options.on_budget",
        "text",
        "last_content",
        "the reply of a run whose budget is spent",
        choices=("last_content", "final_answer"),
    ),
    _expert("options.max_continuations", "integer", "1", "how often a reply that was cut goes on", low=0, high=100),
    _expert("options.max_tool_errors", "integer", "3", "turns in a row in which one tool may fail", **_COUNT),
    _expert("options.tool_output_limit", "integer", "8192", "characters of a result", **_COUNT),
    _expert("options.max_abandoned_tools", "integer", "16", "bodies that never came back", **_COUNT),
    _expert("options.abort_grace_s", "number", "0.5", "for a stopped body to return", low=0, high=60, unit="seconds"),
)


def _settings() -> dict[str, Setting]:
    """All rows by their names, each with the name, the variable and the place that its declaration left out."""
    rows = []
    for one in fields(Config):
        if _ROW in one.metadata:
            rows.append(replace(one.metadata[_ROW], name=one.name))
        rows += [replace(row, name=f"{one.name}.{row.name}") for row in one.metadata.get(_ROWS, ())]
    named = [
        replace(row, variable=row.variable or PREFIX + row.name.rpartition(".")[2].upper(), kept=row.name)
        for row in rows
    ]
    return {row.name: row for row in (*named, *_EXPERT)}


SETTINGS: Final[dict[str, Setting]] = _settings()
"""All settings by their names, in the order in which they are told."""
LISTS: Final[dict[str, dict[str, Setting]]] = {
    one.name: {row.name: replace(row, name=f"{one.name}.{row.name}") for row in one.metadata[_ITEM_ROWS]}
    for one in fields(Config)
    if _ITEM_ROWS in one.metadata
}
"""The lists of tables of a file: the settings of an item by their names in it. They have no variables and no flags."""
TABLES: Final[dict[str, str]] = {
    **{one.name: one.metadata[_WHAT] for one in fields(Config) if _ROWS in one.metadata},
    EXPERT: "for developers: nothing that a robot needs",
}
"""The tables of a file, with what they are about."""
LIST_TOLD: Final = {one.name: one.metadata[_WHAT] for one in fields(Config) if _ITEM_ROWS in one.metadata}
"""The lists of tables, with what they are about."""
WHOLE: Final = frozenset(one.name for one in fields(Config) if one.metadata.get(_WHOLE))
"""The tables in whose place a text may stand, which is then the value of each of their settings."""
