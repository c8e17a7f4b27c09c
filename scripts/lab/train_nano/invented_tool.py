"""What every invented tool is made of: its declaration, its sentences, and the words that its makers draw."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from results import Call
from tools import ToolSpec
from utterances import Utterance
from values import Given, Parameter

from edgeagent.train import dressing

ASKS: Final = ("{}", "{}", "{}", "{}", "{}", "{} now", "i want you to {}", "time to {}", "let's {}", "we need to {}", "i need you to {}", "go and {}",
    "could we {}", "i'd like you to {}", "would you kindly {}", "be so good and {}", "next, {}", "your task is to {}", "first thing, {}",
    "you should {}", "see that you {}", "how about you {}", "may i ask you to {}", "just {}", "i would like to {}", "let us {} please",
    "could somebody {}", "can we {}", "it would be nice if you could {}", "do me a favour and {}", "as soon as you can, {}", "right, {}", "ok so {}",
)  # fmt: skip
_CORRECTED: Final = 0.03
"""Share of values that correct another one."""
SORRY: Final = (", no, ", ", sorry, ", ", I mean ", " no ", ", wait, ", ", rather ", ", or no, ", ", correction, ", ", oh no, ", ", no no, ", ", make that ")  # fmt: skip
WHICH: Final = ("Which {}?", "What {}?", "Which {} do you mean?", "Please tell me the {}.")


def words_of(file: str) -> tuple[tuple[str, ...], ...]:
    """Rows of a file of ``words``: what means the same stands in a row."""
    text = (Path(__file__).parent / "words" / f"{file}.txt").read_text(encoding="utf-8")
    return tuple(tuple(line.split("|")) for line in text.splitlines())


@dataclass(frozen=True, slots=True)
class InventedTool:
    """A tool and what is said to it.

    Attributes:
        words: Those of its act and its thing, by which tools are told apart.
        say: Draws a sentence with its call.
        order: Draws the same as a plain order.
        astray: Draws a sentence that comes close to a call, and that has none; None where the tool has none.
        twice: Draws a sentence with two calls of it, which says the verb once; None where it takes nothing.
    """

    spec: ToolSpec
    words: tuple[tuple[str, ...], tuple[str, ...]]
    say: Callable[[random.Random], Utterance]
    order: Callable[[random.Random], str]
    astray: Callable[[random.Random], Utterance | None]
    twice: Callable[[random.Random], Utterance | None] = lambda rng: None


def snake(text: str) -> str:
    """Words as a name."""
    return text.replace(" ", "_")


def spec_of(name: str, description: str, parameters: tuple[Parameter, ...]) -> ToolSpec:
    """The declaration of a tool."""
    schema: dict[str, Any] = {"type": "object", "properties": {one.name: one.schema for one in parameters}}
    schema["required"] = [one.name for one in parameters if not one.optional]
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


def spoken(text: str, names: tuple[str, ...], calls: tuple[Call, ...], rng: random.Random) -> Utterance:
    """A sentence as it is typed or heard, in which names that are to be copied stay as they are."""
    text = " ".join(text.split())
    polite = dressing.polite(text, rng)
    dressed = dressing.dress(polite, rng, slips=0.04)
    if any(one not in dressed for one in names):
        dressed = rng.choice((polite, text, text[:1].upper() + text[1:] + "."))
    return Utterance(dressed, calls, tag="as said", bare=False)


def corrected(rng: random.Random, parameter: Parameter, first: Given) -> Given | None:
    """Another value, and the words at the end of a sentence by which it takes the place of the first one."""
    if parameter.role == "flag" or isinstance(first.value, list):
        return None
    other = parameter.give(rng)
    return None if other.value == first.value else Given(other.value, f"{rng.choice(SORRY)}{other.text}", other.names)


def given_words(rng: random.Random, parameter: Parameter) -> Given:
    """A value in its words, at times after another one that is taken back."""
    one = parameter.give(rng)
    if parameter.role == "flag" or isinstance(one.value, list) or rng.random() >= _CORRECTED:
        return one
    wrong = parameter.give(rng)
    if wrong.value == one.value:
        return one
    return Given(one.value, f"{wrong.text}{rng.choice(SORRY)}{one.text}", one.names + wrong.names)
