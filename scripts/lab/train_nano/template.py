"""The chat template: the one place where messages become text, in training and in the product alike.

The Jinja text is chat.jinja; export.py stores it in the GGUF unchanged. The environment here has the settings of
llama-cpp-python's Jinja2ChatFormatter and of transformers (trim_blocks, lstrip_blocks), and a tojson that keeps key
order and does not escape for HTML.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from jinja2.sandbox import ImmutableSandboxedEnvironment

TEMPLATE: Final = (Path(__file__).parent / "chat.jinja").read_text(encoding="utf-8").rstrip("\n")
"""The template's source."""

IM_START: Final = "<|im_start|>"
IM_END: Final = "<|im_end|>"
END_OF_TEXT: Final = "<|endoftext|>"
CALL_START: Final = "<tool_call>"
CALL_END: Final = "</tool_call>"
SPECIALS: Final = (END_OF_TEXT, IM_START, IM_END, CALL_START, CALL_END)
"""Control tokens in the order of their ids."""


def _tojson(value: Any, **_: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def environment() -> ImmutableSandboxedEnvironment:
    """The Jinja environment the template is written for."""
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    env.filters["tojson"] = _tojson
    return env


_COMPILED: Final = environment().from_string(TEMPLATE)


def render(messages: list[dict[str, Any]], tools: list[dict[str, Any]], *, generation_prompt: bool = False) -> str:
    """The text of a conversation as the model sees it."""
    return _COMPILED.render(
        messages=messages,
        tools=tools,
        add_generation_prompt=generation_prompt,
        bos_token="",
        eos_token=IM_END,
    )


def call_text(name: str, arguments: dict[str, Any]) -> str:
    """One call as the assistant writes it."""
    return f'{CALL_START}{{"name": "{name}", "arguments": {_tojson(arguments)}}}{CALL_END}'
