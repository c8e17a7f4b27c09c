"""Second turns: what people say after a command, and what it means given the command before."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Final

import changing
import lexicon
import recalling
import referring
from referring import Past
from results import Call
from slots import KINDS
from utterances import Utterance

from edgeagent.train import number

_AGAIN: Final = (
    "again",
    "once more",
    "do it again",
    "one more time",
    "do that again",
    "repeat that",
    "and again",
    "same again",
    "again please",
    "another time",
)
_BACK: Final = (
    "and back",
    "and back again",
    "back again",
    "now back",
    "and now the other way",
    "the other way",
    "now the same back",
    "undo that",
    "other direction",
    "in the other direction",
    "now in the opposite direction",
    "and the same back",
)
_NO: Final = (
    "no, {}",
    "no, i meant {}",
    "i meant {}",
    "sorry, {}",
    "no not there, {}",
    "i said {}",
    "wrong, {}",
    "no no, {}",
)
_NEXT: Final = (
    "now {}",
    "and {}",
    "now {} please",
    "and now {}",
    "and {} too",
    "also {}",
    "what about {}",
    "how about {}",
    "next {}",
    "then {}",
    "and also {}",
)
_THANKS: Final = (
    "thanks",
    "thank you",
    "great",
    "good",
    "well done",
    "nice",
    "ok",
    "okay",
    "perfect",
    "good robot",
    "that's it",
    "that's all",
    "cool",
)


_SHARES: Final = ((0.28, recalling.draw), (0.27, referring.draw), (0.25, changing.draw))
"""Shares of follow-ups that other modules draw."""


def draw(rng: random.Random, past: Past) -> Utterance | None:
    """A follow-up to the last calls, or None where none comes to mind."""
    last, ok = past.calls, past.ok
    if not last:
        return None
    refers = rng.random()
    for share, draws in _SHARES:
        if refers < share and (said := draws(rng, past)) is not None:
            return said
        refers -= share
    kind = rng.random()
    if kind < 0.1:
        return Utterance(
            rng.choice(_THANKS),
            reply=rng.choice(("You're welcome.", "My pleasure.", "Glad to help.")),
            tag="none",
            bare=False,
        )
    if kind < 0.25:
        return Utterance(rng.choice(_AGAIN), last, tag="followup", bare=False)
    if not ok and kind < 0.35:
        return Utterance(
            rng.choice(("oh no", "too bad", "what a pity", "okay then", "oh well", "that is bad")),
            reply=rng.choice(("I am sorry.", "Sorry.")),
            tag="none",
            bare=False,
        )
    if len(last) != 1:
        return None
    return _after(rng, last[0])


def _after(rng: random.Random, call: Call) -> Utterance | None:
    match call.name:
        case "drive":
            return _after_move(rng, call, "distance_m", "dist")
        case "turn":
            return _after_move(rng, call, "angle_deg", "angle")
        case "go_to":
            return _other(rng, call, "place", "place", to=True)
        case "look":
            if rng.random() < 0.4 and call.arguments["direction"] in _OPPOSITE:
                return _follow(
                    rng.choice(("and the other side", "now the other way", "the other way", "and the other way")),
                    "look",
                    direction=_OPPOSITE[call.arguments["direction"]],
                )
            return _other(rng, call, "direction", "direction")
        case "set_light":
            return _after_light(rng, call)
        case "pick_up":
            return _after_pick_up(rng, call)
        case "set_timer":
            return _other(rng, call, "duration_s", "duration")
        case "put_down":
            return _other(rng, call, "place", "dropplace") if rng.random() < 0.3 else None
    return None


_OPPOSITE: Final = {"left": "right", "right": "left", "up": "down", "down": "up"}


def _follow(text: str, name: str, **arguments: object) -> Utterance:
    return Utterance(text, (Call(name, dict(arguments)),), tag="followup", bare=False)


def _after_move(rng: random.Random, call: Call, key: str, kind: str) -> Utterance:
    value = call.arguments[key]
    choice = rng.random()
    if choice < 0.42:
        return _follow(rng.choice(_BACK), call.name, **{key: number(-value)})
    drawn = KINDS[kind](rng)
    if choice < 0.48 and drawn.surface[0].isdigit():
        text = (
            f"{rng.choice(('now', 'and now', 'and', 'then', 'next'))} {rng.choice(('-', '-', 'minus '))}{drawn.surface}"
        )
        return _follow(text, call.name, **{key: number(-abs(float(drawn.value)))})
    new = float(drawn.value) * (1 if value >= 0 else -1)
    shapes = (
        "now {}",
        "another {}",
        "{} more",
        "and another {}",
        "and {} more",
        "no, {}",
        "make it {}",
        "and now {}",
        "and {}",
    )
    text = rng.choice(shapes).format(drawn.surface.removeprefix("a ") if rng.random() < 0.5 else drawn.surface)
    if choice < 0.6:
        text, new = (
            rng.choice((f"now {drawn.surface} back", f"and {drawn.surface} back", f"and then {drawn.surface} back")),
            -new,
        )
        if call.name == "turn":
            side = rng.choice((1, -1))
            text, new = (
                rng.choice((f"now {drawn.surface} {_side(side)}", f"and {drawn.surface} to the {_side(side)}")),
                side * abs(new),
            )
    return _follow(text, call.name, **{key: number(new)})


def _side(sign: int) -> str:
    return "left" if sign > 0 else "right"


def _other(rng: random.Random, call: Call, key: str, kind: str, *, to: bool = False) -> Utterance | None:
    drawn = KINDS[kind](rng)
    if drawn.value == call.arguments[key]:
        return None
    shape = rng.choice((*_NEXT, *_NO))
    said = f"to {drawn.surface}" if to and rng.random() < 0.3 else drawn.surface
    return Utterance(
        shape.format(said), (replace(call, arguments={**call.arguments, key: drawn.value}),), tag="followup", bare=False
    )


def _after_light(rng: random.Random, call: Call) -> Utterance | None:
    place, on = call.arguments["place"], call.arguments["on"]
    word = "off" if on else "on"
    choice = rng.random()
    if choice < 0.45:
        text = rng.choice(
            (
                f"now {word} again",
                f"and {word} again",
                f"turn it {word} again",
                f"turn it {word}",
                f"switch it {word}",
                f"and now turn it {word}",
                f"turn it back {word}",
                f"{word} again",
                f"okay now {word}",
            )
        )
        return _follow(text, "set_light", place=place, on=not on)
    if choice < 0.55:
        room = KINDS["light"](rng)
        return _follow(
            rng.choice((f"and {word} in {room.surface}", f"now {word} in {room.surface}")),
            "set_light",
            place=room.value,
            on=not on,
        )
    return _other(rng, call, "place", "light")


def _after_pick_up(rng: random.Random, call: Call) -> Utterance | None:
    if rng.random() < 0.25:
        return _other(rng, call, "object", "object")
    place = KINDS["dropplace"](rng)
    where = "in" if place.value in lexicon.ROOMS else rng.choice(("on", "at", "next to", "near"))
    text = rng.choice((f"bring it to {place.surface}", f"put it {where} {place.surface}", f"now put it {where} {place.surface}", f"and bring it to {place.surface}", f"take it to {place.surface}",
                       f"drop it {where} {place.surface}", f"now take that to {place.surface}", f"and put it down {where} {place.surface}", f"carry it to {place.surface}"))  # fmt: skip
    return _follow(text, "put_down", place=place.value)
