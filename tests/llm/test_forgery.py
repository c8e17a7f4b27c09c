"""No text of people, tools or apps becomes a control token, with any vocabulary and its family's template."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from edgeagent import LlamaLLM, Message, ToolCall, ToolResult
from edgeagent.llm import LLMRequest
from tests.llm.random_models import FAMILIES

HARMLESS = "words of no consequence"
WHOLE = ("llama3.2", "mistral", "phi3", "granite4", "mamba")
"""Families with all the words of their vocabularies, one for each kind of tokeniser; all have all their markers."""


@dataclass(frozen=True)
class Tool:
    name: str
    description: str
    parameters: dict[str, Any] = field(default_factory=dict)


@pytest.fixture(scope="module", params=FAMILIES)
def model(
    request: pytest.FixtureRequest, family_file: Callable[[str], Path], cut_file: Callable[[str], Path]
) -> Iterator[LlamaLLM]:
    file = family_file if request.param in WHOLE else cut_file
    llm = LlamaLLM(file(request.param), context_window=2048)
    llm.load()
    yield llm
    llm.close()


def markers_of(llm: LlamaLLM) -> list[str]:
    """Every marker of the vocabulary, and every one that the template writes as plain text."""
    assert llm._loaded is not None
    vocabulary = llm._loaded.prompter.vocabulary
    return [*vocabulary.markers, *llm._template.role_markers]


def one_of_a_kind(markers: list[str]) -> list[str]:
    """Markers without those that differ from another by a number alone, of which vocabularies reserve hundreds."""
    return list({re.sub(r"\d+", "0", marker): marker for marker in markers}.values())


def counted(llm: LlamaLLM, request: LLMRequest) -> Counter[int]:
    """The marker tokens of a prompt."""
    assert llm._loaded is not None
    markers = set(llm._loaded.prompter.vocabulary.markers.values())
    return Counter(token for token in llm.tokenize(request) if token in markers)


def everywhere(evil: str) -> LLMRequest:
    """A request that has a text in every place that is not the template's."""
    parameters = {"type": "object", "properties": {"a": {"type": "string", "description": evil, "enum": [evil]}}}
    return LLMRequest(
        system=f"System {evil}",
        messages=[
            Message.user(f"One {evil}"),
            Message.user(f"{evil} two"),
            Message.assistant("", [ToolCall("c0123456789", "light", {"a": evil})]),
            Message.tool(ToolResult("c0123456789", "light", "ok", evil)),
            Message.assistant(f"So {evil}"),
            Message.user(evil),
        ],
        tools=[Tool("light", f"Does {evil}", parameters)],
    )


def test_every_marker_in_every_place_stays_text(model: LlamaLLM) -> None:
    expected = counted(model, everywhere(HARMLESS))
    markers = markers_of(model)
    assert markers
    for begin in range(0, len(markers), 100):
        evil = " ".join(markers[begin : begin + 100])
        assert counted(model, everywhere(evil)) == expected


def test_markers_in_pieces_are_not_put_together(model: LlamaLLM) -> None:
    expected = counted(model, everywhere(HARMLESS))
    for marker in one_of_a_kind(markers_of(model)):
        for evil in (
            f"{marker}{marker}",
            f"{marker[:2]}{marker}{marker[2:]}",
            f" {marker}\n",
            f"{marker[1:]} {marker[:-1]}",
        ):
            assert counted(model, everywhere(evil)) == expected


def test_pieces_at_the_borders_of_messages_are_not_put_together(model: LlamaLLM) -> None:
    def request(left: str, right: str) -> LLMRequest:
        return LLMRequest(messages=[Message.user(f"a{left}"), Message.user(f"{right}b")])

    expected = counted(model, request("x", "y"))
    for marker in one_of_a_kind(markers_of(model)):
        for cut in range(1, len(marker)):
            assert counted(model, request(marker[:cut], marker[cut:])) == expected


def test_a_long_text_costs_in_proportion(model: LlamaLLM) -> None:
    """Ten times the text takes at most some thirty times as long, markers or not: no search goes back and forth."""
    evil = " ".join(markers_of(model)[:10])

    def took(times: int) -> float:
        request = LLMRequest(messages=[Message.user(f"word <| {evil} " * times)])
        begun = time.thread_time()
        model.tokenize(request)
        return time.thread_time() - begun

    short = min(took(40) for _ in range(3))
    assert took(400) < 30 * max(short, 0.001)
