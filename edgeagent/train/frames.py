"""Frames: a builder's phrases with the values taken out, so that others can be put in.

A value of a call that the sentence says (a number in digits or words, an ordinal, an amount with a unit, a word of an
enum, a name) becomes a slot; a value that the sentence does not say stays as it is. Pure functions, any thread.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from edgeagent.english import number_words
from edgeagent.english.amounts import Amount, Dimension, amounts_of, unit_of
from edgeagent.tools import Tool
from edgeagent.tools.signature import ArgumentError
from edgeagent.train.dressing import cardinal, decimal_words, digits, number
from edgeagent.train.phrases_file import Phrase, TaughtCall

_WORD: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:st|nd|rd|th)?|[^\W\d_]+(?:'[^\W\d_]+)*|%|°")
_SIGNS: Final = {"%": "percent", "°": "degrees"}
_ORDINALS: Final = {word: value for value, word in enumerate(number_words.ORDINALS[1:11], 1)}
_SWITCHES: Final = (("on", "off"), ("open", "close"), ("open", "shut"), ("enable", "disable"), ("start", "stop"))
"""Words for true and for false."""
_SMALL: Final = 12
_EXACT: Final = 1e-9
_TRIES: Final = 6
"""Draws before a phrase is taken as it was written."""
_LARGEST: Final = 20
"""Numbers without a range of their own are drawn up to here, or twice the largest that a phrase has."""
_UNITS: Final[dict[Dimension, tuple[tuple[float, str, tuple[str, ...]], ...]]] = {
    "time": ((1, "second", ("s", "sec")), (60, "minute", ("min",)), (3600, "hour", ("h",))),
    "length": ((0.01, "centimeter", ("cm",)), (1, "meter", ("m",))),
    "angle": ((1, "degree", ("deg", "°")),),
    "percent": ((1, "percent", ("%",)),),
    "volume": ((0.001, "milliliter", ("ml",)), (1, "liter", ("l",))),
    "mass": ((0.001, "gram", ("g",)), (1, "kilogram", ("kg",))),
}
_PARTS: Final = ((0.5, "half a {}"), (0.25, "a quarter of a {}"), (1.5, "one and a half {}s"), (1, "a {}"))
_ONSETS: Final = "b br c ch d dr f fl g gr h k l m n p pl r s st t tr v w z".split()
_RIMES: Final = "a an ar e el en er i in ish o on or u um us y".split()
_ENDS: Final = ("", "", "n", "t", "k", "x", "l")

Key = tuple[int, str]
"""A call of a phrase and the name of an argument."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A place in a sentence for a value."""

    key: Key
    kind: str
    """number, amount, switch, choice or name."""
    said: str
    """The words that stood there."""
    whole: str
    """The same with the thing that is counted: "the third pallet"."""
    noun: str = ""
    """The thing that is counted, where it stands beside a number: "pallet" of "pallet three" and "the third pallet"."""


@dataclass(frozen=True, slots=True)
class FrameText:
    """A sentence with the calls that are right."""

    text: str
    calls: tuple[TaughtCall, ...]
    names: tuple[str, ...] = ()
    """Values that must stand in the sentence letter by letter."""


@dataclass(frozen=True, slots=True)
class SentenceFrame:
    """A phrase in pieces."""

    phrase: Phrase
    pieces: tuple[str | Slot, ...]

    @property
    def slots(self) -> tuple[Slot, ...]:
        return tuple(piece for piece in self.pieces if isinstance(piece, Slot))


@dataclass(slots=True)
class Values:
    """Draws values of parameters: from the schemas, from the builder's phrases, and names from elsewhere."""

    rng: random.Random
    tools: dict[str, Tool]
    schemas: dict[tuple[str, str], dict[str, Any]]
    """Schema of a parameter by tool and name."""
    seen: dict[tuple[str, str], list[Any]] = field(default_factory=dict)
    names: Sequence[str] = ()
    """Names of things, to be copied."""

    @classmethod
    def of(cls, tools: Sequence[Tool], phrases: Iterable[Phrase], names: Sequence[str], rng: random.Random) -> Values:
        """Collects the parameters of tools and the values that phrases give them."""
        schemas = {(tool.name, name): _plain(schema, tool.parameters) for tool in tools for name, schema in _of(tool)}
        seen: dict[tuple[str, str], list[Any]] = {}
        for phrase in phrases:
            for call in phrase.calls:
                for name, value in call.arguments.items():
                    seen.setdefault((call.name, name), []).append(value)
        return cls(rng, {tool.name: tool for tool in tools}, schemas, seen, names)

    def draw(self, slot: Slot, call: TaughtCall) -> tuple[str, Any]:
        """The words and the value for a slot."""
        place = (call.name, slot.key[1])
        old = call.arguments[slot.key[1]]
        match slot.kind:
            case "switch":
                return self._switched(slot.said)
            case "choice":
                value = self.rng.choice(self.schemas[place]["enum"])
                return _spelled(value), value
            case "name":
                value = self._name(place)
                return value, value
            case "amount":
                return self._amount(place, old)
            case _:
                return self._number(slot, place, old)

    def _switched(self, said: str) -> tuple[str, Any]:
        pairs = [pair for pair in _SWITCHES if said in pair]
        value = self.rng.random() < 0.5
        return self.rng.choice(pairs)[0 if value else 1], value

    def _name(self, place: tuple[str, str]) -> str:
        rng = self.rng
        seen = [str(value) for value in self.seen.get(place, ())]
        kind = rng.random()
        if any(char.isdigit() for value in seen for char in value):
            return rng.choice(seen) if kind < 0.15 else self._code(rng.choice(seen))
        if kind < 0.3:
            return rng.choice(seen)
        return rng.choice(self.names) if kind < 0.75 and self.names else pseudo_word(rng)

    def _code(self, like: str) -> str:
        """Draws a code of another's shape: letters for letters, digits for digits, mostly as many."""
        rng = self.rng
        made = ""
        for char in like:
            if char.isdigit():
                made += "".join(rng.choice("0123456789") for _ in range(rng.choice((0, 1, 1, 1, 2)) or 1))
            elif char.isalpha() and len(re.findall(r"[A-Za-z]", like)) <= 3:
                letter = rng.choice("abcdefghijklmnopqrstuvwxyz")
                made += letter.upper() if char.isupper() or rng.random() < 0.3 else letter
            else:
                made += char
        return made

    def _range(self, place: tuple[str, str], old: float) -> tuple[float, float]:
        """The least and the largest magnitude."""
        schema = self.schemas[place]
        seen = [abs(value) for value in self.seen.get(place, ()) if isinstance(value, int | float)] or [abs(old)]
        low = schema.get("minimum", schema.get("exclusiveMinimum", 1))
        high = schema.get("maximum", schema.get("exclusiveMaximum", max(_LARGEST, 2 * max(seen))))
        if old < 0:
            low, high = 1, -low if low < 0 else high
        return max(0, low), max(low, high)

    def _number(self, slot: Slot, place: tuple[str, str], old: float) -> tuple[str, Any]:
        rng = self.rng
        if known := self.schemas[place].get("enum"):
            value = rng.choice(known)
            return _figure(rng, abs(value)), value
        low, high = self._range(place, old)
        near = min(high, max(low, _SMALL))
        whole = rng.randint(int(low), int(near if rng.random() < 0.55 else high))
        value = float(whole)
        if self.schemas[place].get("type") == "number" and rng.random() < 0.25:
            value = round(whole + rng.choice((0.5, 0.5, 0.25, rng.randint(1, 9) / 10)), 2)
            if value > high:
                value = whole
        said = _figure(rng, value)
        if slot.noun and value == int(value) and value > 0:
            said = self._counted(slot.noun, int(value))
        return said, number(-value if old < 0 else value)

    def _counted(self, noun: str, value: int) -> str:
        rng = self.rng
        figure = _figure(rng, value)
        forms = [f"{noun} {figure}"] * 4 + [f"{noun} number {figure}", f"{noun} {value}"]
        if value <= _LARGEST:
            forms += [f"the {ordinal(value)} {noun}"] * 3
        return rng.choice(forms)

    def _amount(self, place: tuple[str, str], old: float) -> tuple[str, Any]:
        rng = self.rng
        told = unit_of(place[1])
        low, high = self._range(place, old)
        dimension, factor = told or ("", 1.0)
        integer = self.schemas[place].get("type") == "integer"
        for _ in range(20):
            scale, unit, short = rng.choice(_UNITS.get(dimension) or ((factor, place[1], ()),))
            ratio = scale / factor
            if rng.random() < 0.2:
                part, shape = rng.choice(_PARTS)
                said = shape.format(unit).replace("a hour", "an hour")
            else:
                top = max(1, min(int(high / ratio), 500 if ratio < 1 else 100))
                part = rng.choice((rng.randint(1, min(_SMALL, top)), rng.randint(1, top), rng.randint(1, top) // 5 * 5))
                if rng.random() < 0.15 and ratio >= 1 and not integer:
                    part = round(part + rng.choice((0.5, 0.5, 0.2, 0.25)), 2)
                said = self._measured(part, unit, short)
            value = round(part * ratio, 2)  # a third of a minute has no end
            exact = abs(value - part * ratio) < _EXACT and (not integer or value == int(value))
            if part and exact and low * min(1, ratio) <= value <= high:
                return said, number(-value if old < 0 else value)
        return "", old

    def _measured(self, part: float, unit: str, short: Sequence[str]) -> str:
        rng = self.rng
        if short and rng.random() < 0.25:
            return f"{digits(part)}{rng.choice((' ', ''))}{rng.choice(short)}"
        plural = "" if part == 1 or unit == "percent" else "s"
        return f"{_figure(rng, part)} {unit}{plural}"


def pseudo_word(rng: random.Random) -> str:
    """A word that does not exist, to be copied."""
    return "".join(rng.choice(_ONSETS) + rng.choice(_RIMES) for _ in range(rng.choice((1, 2, 2)))) + rng.choice(_ENDS)


def ordinal(value: int) -> str:
    """Writes a rank as people do: third, 13th."""
    return next((word for word, rank in _ORDINALS.items() if rank == value), "") or number_words.suffixed(value)


def frame_of(phrase: Phrase, tools: dict[str, Tool]) -> SentenceFrame:
    """Finds the values of a phrase's calls in its sentence."""
    words = list(_WORD.finditer(phrase.say))
    lower = [_SIGNS.get(word[0], word[0].lower()) for word in words]
    amounts = amounts_of(lower)
    taken: dict[int, tuple[int, Slot]] = {}
    used: set[int] = set()
    for index, call in enumerate(phrase.calls):
        for name, value in call.arguments.items():
            schema = _plain(dict(_of(tools[call.name]))[name], tools[call.name].parameters)
            found = _find(value, name, schema, lower, amounts, used)
            if found is None:
                continue
            start, end, kind = found
            said = phrase.say[words[start].start() : words[end - 1].end()]
            noun = ""
            if kind == "number" and isinstance(value, int):
                start, end, noun = _with_noun(lower, start, end, name, call.name)
            used.update(range(start, end))
            whole = phrase.say[words[start].start() : words[end - 1].end()]
            taken[start] = (end, Slot((index, name), kind, said, whole, noun))
    pieces: list[str | Slot] = []
    at = 0
    for start, (end, slot) in sorted(taken.items()):
        pieces += [phrase.say[at : words[start].start()], slot]
        at = words[end - 1].end()
    pieces.append(phrase.say[at:])
    return SentenceFrame(phrase, tuple(piece for piece in pieces if piece != ""))


def fill(frame: SentenceFrame, values: Values) -> tuple[list[str], FrameText]:
    """Draws a sentence of a frame. The calls fit their tools; the builder's own do where no others are found.

    Returns:
        The pieces of the sentence, one for each piece of the frame, and the whole.
    """
    for _ in range(_TRIES):
        pieces, said = _filled(frame, values)
        if all(_fits(call, values.tools[call.name]) for call in said.calls):
            return pieces, said
    names = tuple(slot.said for slot in frame.slots if slot.kind == "name")
    written = FrameText(frame.phrase.say, frame.phrase.calls, names)
    return [piece if isinstance(piece, str) else piece.whole for piece in frame.pieces], written


def _fits(call: TaughtCall, tool: Tool) -> bool:
    try:
        tool.signature.validate(dict(call.arguments))
    except ArgumentError:
        return False
    return True


def _filled(frame: SentenceFrame, values: Values) -> tuple[list[str], FrameText]:
    pieces: list[str] = []
    arguments = [dict(call.arguments) for call in frame.phrase.calls]
    names: list[str] = []
    for piece in frame.pieces:
        if isinstance(piece, str):
            pieces.append(piece)
            continue
        index, name = piece.key
        said, value = values.draw(piece, frame.phrase.calls[index])
        pieces.append(said or piece.whole)
        arguments[index][name] = value
        if piece.kind == "name":
            names.append(said)
    calls = tuple(TaughtCall(call.name, given) for call, given in zip(frame.phrase.calls, arguments, strict=True))
    return pieces, FrameText("".join(pieces), calls, tuple(names))


def _of(tool: Tool) -> Iterable[tuple[str, dict[str, Any]]]:
    properties: dict[str, dict[str, Any]] = tool.parameters.get("properties", {})
    return properties.items()


def _plain(schema: dict[str, Any], whole: dict[str, Any]) -> dict[str, Any]:
    """Follows a reference, and takes the first real type of an optional one."""
    if "$ref" in schema:
        return _plain(whole.get("$defs", {}).get(schema["$ref"].rsplit("/", 1)[-1], {}), whole)
    for one in schema.get("anyOf", ()):
        if one.get("type") != "null":
            return _plain(one, whole)
    return schema


def _find(
    value: Any,
    name: str,
    schema: dict[str, Any],
    words: Sequence[str],
    amounts: Sequence[Amount],
    used: set[int],
) -> tuple[int, int, str] | None:
    """The words that say a value: where they begin and end, and the kind of slot."""
    if isinstance(value, bool):
        column = 0 if value else 1
        spoken = {pair[column] for pair in _SWITCHES}
        at = next((at for at, word in enumerate(words) if word in spoken and at not in used), None)
        return None if at is None else (at, at + 1, "switch")
    if isinstance(value, int | float):
        return _number_said(value, name, words, amounts, used)
    if isinstance(value, str) and value:
        wanted = _words(value)
        for at in range(len(words) - len(wanted) + 1):
            if wanted and list(words[at : at + len(wanted)]) == wanted and used.isdisjoint(range(at, at + len(wanted))):
                if not schema.get("enum"):
                    return at, at + len(wanted), "name"
                # a first word is a verb more often than a value: "slow down"
                return (at, at + len(wanted), "choice") if at else None
    return None


def _number_said(
    value: float, name: str, words: Sequence[str], amounts: Sequence[Amount], used: set[int]
) -> tuple[int, int, str] | None:
    told = unit_of(name)
    for one in amounts:
        if not used.isdisjoint(range(one.start, one.end)):
            continue
        if told is not None and one.dimension == told[0] and one.is_about(value * told[1]):
            return one.start, one.end, "amount"
        if one.is_about(value) and (not one.dimension or one.bare == one.value):
            return one.start, one.end, "number"
    for at in range(len(words)):
        read = number_words.number(words[at:])
        if read is not None and float(read.digits) == abs(value) and used.isdisjoint(range(at, at + read.taken)):
            return at, at + read.taken, "number"
    for at, word in enumerate(words):
        rank = _ORDINALS.get(word) or (int(word[:-2]) if re.fullmatch(r"[0-9]+(?:st|nd|rd|th)", word) else None)
        if rank == value and at not in used:
            return at, at + 1, "number"
    return None


def _with_noun(words: Sequence[str], start: int, end: int, name: str, tool: str) -> tuple[int, int, str]:
    """Widens a number to the thing that it counts, if the tool's names tell that thing."""
    known = {*name.split("_"), *tool.split("_")}
    is_rank = words[start] in _ORDINALS or words[start][-2:] in ("st", "nd", "rd", "th")
    if is_rank:
        if words[end : end + 1] and words[end] in known and words[max(0, start - 1)] == "the" and start:
            return start - 1, end + 1, words[end]
        return start, end, ""
    before = start - 2 if start > 1 and words[start - 1] == "number" else start - 1
    if before >= 0 and words[before] in known and words[before] != "number":
        return before, end, words[before]
    return start, end, ""


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text.replace("_", " "))]


def _spelled(value: Any) -> str:
    return str(value).replace("_", " ")


def _figure(rng: random.Random, value: float) -> str:
    if rng.random() < 0.5 or value > 99_999:
        return digits(value)
    return cardinal(int(value), hyphen=rng.random() < 0.3) if value == int(value) else decimal_words(value)
