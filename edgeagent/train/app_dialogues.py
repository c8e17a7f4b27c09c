"""Dialogues with a builder's robot, drawn from his tools and phrases: commands, talk, results and their retelling.

Results are read from the ``return`` statements in a tool's source, because a model that has seen them tells them
better; nothing is run. Knows nothing of models. Every draw comes from one random generator. Any thread.
"""

from __future__ import annotations

import ast
import inspect
import random
import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from edgeagent.messages import Message, ToolCall
from edgeagent.tools import Tool
from edgeagent.train import dressing, wording
from edgeagent.train.frames import FrameText, SentenceFrame, Values, fill, frame_of
from edgeagent.train.phrases_file import Phrase, TaughtCall
from edgeagent.train.reminders import Reminder

_KINDS: Final = {
    "single": 0.46,
    "several": 0.17,
    "forbidden": 0.05,
    "not asked": 0.05,
    "about": 0.05,
    "broken off": 0.02,
    "correction": 0.03,
    "own talk": 0.05,
    "talk": 0.12,
}
"""Shares of what is said in a turn."""
_TURNS: Final = (0.75, 0.18, 0.07)
"""Shares of dialogues of one, two and three turns."""
_CUT_SHORT: Final = 0.65
"""Share of dialogues that end with the last calls: their tokens teach more than those of replies."""
_FAILS: Final = 0.12
_AS_WRITTEN: Final = 0.25
"""Share of phrases that are said with the words that the builder wrote."""
_NAME_WEIGHT: Final = 0.3
"""Weight of a sentence made of a tool's name, beside a builder's phrase of weight 1."""
_SHORT_WORDS: Final = 3
_EMPTY: Final = frozenset("get set the and for with number value name code level mode state open".split())
_PLAIN: Final = ("done", "ok", "finished")
_FAULTS: Final = (
    "blocked",
    "timed out",
    "the sensor does not answer",
    "motor fault",
    "not available",
    "something is in the way",
    "the battery is empty",
)
_LONGEST: Final = 120
"""Characters of a result that is learnt."""

_Template = tuple[str | ast.expr, ...]


@dataclass(frozen=True, slots=True)
class TaughtApp:
    """One agent of a builder's app."""

    system: str | None
    tools: tuple[Tool, ...]
    """As they are offered to the model."""
    phrases: tuple[Phrase, ...]
    """Those all of whose calls this agent can make."""


class AppAuthor:
    """Writes dialogues for one agent.

    Args:
        bodies: The tools with their functions, for their results.
        replay: Dialogues of other robots, for talk and for names of things.
    """

    def __init__(self, app: TaughtApp, bodies: Iterable[Tool], replay: Sequence[Reminder], rng: random.Random) -> None:
        self.app = app
        self._rng = rng
        self._tools = {tool.name: tool for tool in app.tools}
        self._results = {tool.name: templates_of(tool) for tool in bodies}
        phrases = [*app.phrases, *self._named()]
        weights = [1.0] * len(app.phrases) + [_NAME_WEIGHT] * (len(phrases) - len(app.phrases))
        self._values = Values.of(app.tools, phrases, names_in(replay), rng)
        self._frames = [frame_of(phrase, self._tools) for phrase in phrases if phrase.calls]
        self._weights = self._balanced([w for w, phrase in zip(weights, phrases, strict=True) if phrase.calls])
        self._own_talk = [phrase for phrase in app.phrases if not phrase.calls]
        self._nouns = nouns_of(app.tools)
        said = {word for phrase in phrases for word in phrase.say.lower().split()}
        self._talk = list(_talk(replay, said - _EMPTY, set(self._tools)))

    def dialogue(self) -> list[Message]:
        """Draws the messages after the system prompt."""
        rng = self._rng
        messages: list[Message] = []
        turns = rng.choices(range(1, len(_TURNS) + 1), _TURNS)[0]
        for turn in range(turns):
            asked, said, reply = self._turn()
            messages.append(Message("user", asked))
            if not said.calls:
                messages.append(Message("assistant", reply))
                continue
            messages.append(calling(said.calls))
            if turn == turns - 1 and rng.random() < _CUT_SHORT:
                break
            messages += self._told(said.calls)
        return messages

    def _turn(self) -> tuple[str, FrameText, str]:
        """Draws what is said, as it is written and with its calls, and the reply where there is no call."""
        rng = self._rng
        while True:
            kind = rng.choices(list(_KINDS), list(_KINDS.values()))[0]
            drawn = self._drawn(kind)
            if drawn is not None:
                said, reply = drawn
                return self._dressed(said, polite=bool(said.calls)), said, reply

    def _drawn(self, kind: str) -> tuple[FrameText, str] | None:
        """A turn of a kind; None where the app or the draw has none."""
        rng = self._rng
        match kind:
            case "single":
                return self._said(self._frame()), ""
            case "several":
                return self._several(), ""
            case "correction":
                corrected = self._corrected()
                return None if corrected is None else (corrected, "")
            case "forbidden" | "not asked":
                text = self._said(self._frame()).text
                made = wording.negated(text, rng) if kind == "forbidden" else wording.not_asked(text, rng)
                reply = rng.choice(wording.WONT if kind == "forbidden" else wording.HEARD)
                return None if made is None else (FrameText(made, ()), reply)
            case "about":
                if not self._nouns:
                    return None
                noun = rng.choice(self._nouns)
                return FrameText(rng.choice(wording.ABOUT).format(noun), ()), rng.choice(wording.HEARD)
            case "broken off":
                return self._broken_off()
            case "own talk":
                if not self._own_talk:
                    return None
                phrase = rng.choice(self._own_talk)
                return FrameText(phrase.say, ()), phrase.reply or rng.choice(wording.HEARD)
            case _:
                if not self._talk:
                    return None
                text, reply = rng.choice(self._talk)
                return FrameText(text, ()), reply

    def _frame(self) -> SentenceFrame:
        return self._rng.choices(self._frames, self._weights)[0]

    def _said(self, frame: SentenceFrame) -> FrameText:
        """A sentence of a frame, mostly in other words."""
        rng = self._rng
        pieces, said = fill(frame, self._values)
        if rng.random() < _AS_WRITTEN:
            return said
        mine = {call.name for call in frame.phrase.calls}
        apart = {
            word
            for other in self._frames
            if mine.isdisjoint(call.name for call in other.phrase.calls)
            for word in other.phrase.say.lower().split()[:_SHORT_WORDS]
        } - wording.KEPT
        kept: list[str | None] = [p if isinstance(p, str) else None for p in frame.pieces]
        changed = wording.reworded(kept, rng, apart)
        text = "".join(new if new is not None else old for new, old in zip(changed, pieces, strict=True))
        return FrameText(text, said.calls, said.names)

    def _several(self) -> FrameText:
        rng = self._rng
        parts = [self._said(self._frame())]
        wanted = rng.choices((2, 3), (0.8, 0.2))[0]
        for _ in range(8):
            one = self._said(self._frame())
            if len(parts) < wanted and dressing.is_imperative(one.text) and one.calls != parts[-1].calls:
                parts.append(one)
        text = parts[0].text
        for one in parts[1:]:
            text += rng.choice(wording.JOINTS) + one.text
        calls = tuple(call for one in parts for call in one.calls)
        return FrameText(text, calls, tuple(name for one in parts for name in one.names))

    def _corrected(self) -> FrameText | None:
        """A command whose speaker takes one value back."""
        frame = self._frame()
        slots = frame.slots
        if len(slots) != 1 or len(frame.phrase.calls) != 1:
            return None
        wrong_pieces, wrong = fill(frame, self._values)
        pieces, said = fill(frame, self._values)
        if said.calls == wrong.calls:
            return None
        right = next(piece for piece, of in zip(pieces, frame.pieces, strict=True) if not isinstance(of, str))
        text = f"{''.join(wrong_pieces)}{self._rng.choice(wording.CORRECTIONS)}{right}"
        return FrameText(text, said.calls, (*wrong.names, *said.names))

    def _broken_off(self) -> tuple[FrameText, str] | None:
        """A command that ends where its value should stand."""
        frame = self._frame()
        first = frame.pieces[0]
        if len(frame.pieces) != 2 or not isinstance(first, str) or len(first.split()) < 2:
            return None
        return FrameText(first.strip(), ()), self._rng.choice(wording.AGAIN)

    def _dressed(self, said: FrameText, *, polite: bool) -> str:
        """The sentence as it is typed or heard; names that are to be copied stay as they are."""
        text = dressing.polite(said.text, self._rng) if polite else said.text
        dressed = dressing.dress(text, self._rng, slips=0.06)
        return dressed if all(name in dressed for name in said.names) else text

    def _told(self, calls: Sequence[TaughtCall]) -> list[Message]:
        """Results of calls, and the reply to them."""
        rng = self._rng
        messages: list[Message] = []
        sentences: list[str] = []
        failed = rng.randrange(len(calls)) if rng.random() < _FAILS else None
        for index, call in enumerate(calls):
            if failed is None or index < failed:
                text = _result(self._results.get(call.name, []), call.arguments, rng)
                messages.append(Message("tool", text, status="ok", name=call.name))
                sentences.append(_as_sentence(text))
            elif index == failed:
                text = rng.choice(_FAULTS)
                messages.append(Message("tool", text, status="error", name=call.name))
                sentences.insert(0, f"I could not {_aim(call)}: {text}.")
            else:
                messages.append(Message("tool", "an earlier call failed", status="not_run", name=call.name))
                sentences.append(f"I did not {_aim(call)}.")
        return [*messages, Message("assistant", " ".join(dict.fromkeys(sentences)))]

    def _named(self) -> list[Phrase]:
        """Sentences made of the names and phrases of tools that need no argument, or a single number."""
        made: list[Phrase] = []
        known = {phrase.say.lower() for phrase in self.app.phrases}
        for tool in self.app.tools:
            needed = tool.parameters.get("required", [])
            texts = [tool.name.replace("_", " "), *tool.traits.phrases]
            schema = tool.parameters.get("properties", {}).get(needed[0], {}) if len(needed) == 1 else {}
            if not needed:
                made += [Phrase(text, (TaughtCall(tool.name, {}),)) for text in texts]
            if schema.get("type") == "integer" and "enum" not in schema:
                low = int(schema.get("minimum", 1))
                made.append(Phrase(f"{texts[0]} {low}", (TaughtCall(tool.name, {needed[0]: low}),)))
        return [phrase for phrase in made if phrase.say.lower() not in known]

    def _balanced(self, weights: list[float]) -> list[float]:
        """Gives tools with many phrases less for each, so that all tools are drawn about as often."""
        totals: dict[tuple[str, ...], float] = {}
        for frame, weight in zip(self._frames, weights, strict=True):
            totals[_names(frame)] = totals.get(_names(frame), 0.0) + weight
        slots = {name: 1 + max(len(f.slots) for f in self._frames if _names(f) == name) for name in totals}
        return [
            weight * slots[_names(frame)] / totals[_names(frame)] * (0.5 if len(frame.phrase.calls) > 1 else 1.0)
            for frame, weight in zip(self._frames, weights, strict=True)
        ]


def names_in(replay: Iterable[Reminder]) -> list[str]:
    """Collects names of things and places, and other words, that are to be copied where a tool takes any name."""
    found: set[str] = set()
    for setting in replay:
        for message in (message for dialogue in setting.dialogues for message in dialogue):
            if message.role == "user":
                found.update(word for word in re.findall(r"[a-z]+", message.text) if len(word) > _SHORT_WORDS)
            given = [value for call in message.tool_calls for value in call.arguments.values()]
            found.update(value for value in given if isinstance(value, str) and re.fullmatch(r"[a-z ]+", value))
    return sorted(found)


def nouns_of(tools: Iterable[Tool]) -> list[str]:
    """Collects words of the names and values of tools that sentences may be about."""
    words: set[str] = set()
    for tool in tools:
        words.update(tool.name.split("_")[1:])
        for name, schema in tool.parameters.get("properties", {}).items():
            words.update(name.split("_")[:1] if schema.get("type") == "integer" else ())
            words.update(
                str(value).replace("_", " ") for value in schema.get("enum", ()) if len(str(value)) > _SHORT_WORDS
            )
    return sorted(word for word in words if len(word) > _SHORT_WORDS - 1 and word not in _EMPTY)


def _talk(replay: Iterable[Reminder], said: set[str], tools: set[str]) -> Iterable[tuple[str, str]]:
    """Sentences of other robots' dialogues that no tool of this app serves, with their replies."""
    first_words = {word for word in said if word.isalpha()}
    for setting in replay:
        for dialogue in setting.dialogues:
            user, answer = dialogue[0], dialogue[1]
            words = re.findall(r"[a-z']+", user.text.lower())
            if user.role != "user" or not words:
                continue
            if not answer.tool_calls:
                yield user.text, answer.text
            elif len(answer.tool_calls) == 1 and answer.tool_calls[0].name not in tools:
                verbs = set(answer.tool_calls[0].name.split("_"))
                if len(first_words & set(words)) <= 1 and verbs.isdisjoint(first_words):
                    yield user.text, wording.CANNOT[len(words) % len(wording.CANNOT)]


def calling(calls: Iterable[TaughtCall]) -> Message:
    """The assistant's message that makes calls."""
    return Message("assistant", tool_calls=tuple(ToolCall("", call.name, dict(call.arguments)) for call in calls))


def _aim(call: TaughtCall) -> str:
    return call.name.replace("_", " ")


def _names(frame: SentenceFrame) -> tuple[str, ...]:
    return tuple(call.name for call in frame.phrase.calls)


# --- results of tools -------------------------------------------------------------------------------------------------


def templates_of(tool: Tool) -> list[_Template]:
    """Collects the texts and f-strings that a tool's function returns; empty where there is no source."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(tool.function))))
    except (OSError, TypeError, SyntaxError, ValueError):
        return []
    return [made for node in ast.walk(tree) if isinstance(node, ast.Return) and (made := _template(node.value))]


def _result(templates: list[_Template], arguments: dict[str, Any], rng: random.Random) -> str:
    """Draws the text of a result that is no failure."""
    if not templates or rng.random() < 0.15:
        return rng.choice(_PLAIN)
    text = "".join(part if isinstance(part, str) else _shown(part, arguments, rng) for part in rng.choice(templates))
    return text if len(text) <= _LONGEST else rng.choice(_PLAIN)


def _as_sentence(text: str) -> str:
    """Writes a result as a sentence."""
    text = text.strip().rstrip(".")
    return f"{text[:1].upper()}{text[1:]}." if text and text not in _PLAIN else "Done."


def _template(node: ast.expr | None) -> _Template:
    match node:
        case ast.Constant(value=str(text)):
            return (text,)
        case ast.JoinedStr(values=parts):
            return tuple(
                part.value if isinstance(part, ast.FormattedValue) else str(ast.literal_eval(part)) for part in parts
            )
    return ()


def _shown(node: ast.expr, arguments: dict[str, Any], rng: random.Random) -> str:
    """The value of an argument, one of two texts, or else a number."""
    names = [each.id for each in ast.walk(node) if isinstance(each, ast.Name) and each.id in arguments]
    match node:
        case ast.IfExp(body=ast.Constant(value=str(one)), orelse=ast.Constant(value=str(other)), test=test):
            if isinstance(test, ast.Name) and test.id in arguments:
                return one if arguments[test.id] else other
            return rng.choice((one, other))
    if names:
        value = arguments[names[0]]
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return dressing.digits(abs(value)) if is_number else str(value)
    return str(rng.randint(0, 100))
