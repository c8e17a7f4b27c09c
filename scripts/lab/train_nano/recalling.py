"""Later turns that refer to more than the call before: to several turns, to what is held, to a thing that was spoken of.

Rows of phrases; {w} and the like are filled in. Each function returns None where nothing of its kind can be said.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Final

import lexicon
import referring
from corrections import contrary
from referring import Past, said, told
from results import Call
from slots import KINDS
from utterances import Utterance

from edgeagent.train import cardinal, number, wording

_ALL: Final = ("do {all} again", "{all} again", "now {all} again", "do {all} of them again", "again {all}", "{all} once more", "repeat {all}", "and {all} again please", "do {all} of these again", "okay, {all} again", "all of that again",
    "everything again", "do all that once more", "the whole thing from the beginning")  # fmt: skip
_ALL_LIGHTS: Final = ("{all} {w} again", "{all} {w}", "turn {all} {w} again", "now {all} {w}", "switch {all} {w}", "{all} of them {w} again", "turn {all} of them {w}", "and now {all} {w} again", "{w} again, {all}", "turn them {all} {w} again",
    "all those lights {w} again", "put {all} {w} again", "make {all} of them {w}", "all lights {w} that I told you", "turn those lights {w} again", "you can turn {all} {w} now")  # fmt: skip
_ONE_LIGHT: Final = ("turn the {n} one {w}", "the {n} one {w}", "the {n} one {w} again", "turn the {n} one {w} again", "switch the {n} one {w}", "now the {n} one {w}", "turn the {n} light {w}", "{w} with the {n} one", "and the {n} one {w} please",
    "only the {n} one {w}", "turn the {n} of them {w}", "put the {n} one back {w}")  # fmt: skip
_ONE: Final = ("the {n} one again", "do the {n} one again", "the {n} thing again", "repeat the {n} one", "just the {n} one again", "do the {n} thing once more", "again, but only the {n} one", "what I said {n}, do it again", "do again what I told you {n}")  # fmt: skip
_OTHER_ORDER: Final = ("the other way round", "now the other way around", "in the other order", "now in reverse order", "and the other way round", "in the opposite order", "same thing in the other order", "now swap them", "the same, the other way around")  # fmt: skip
_UNDO: Final = ("undo that", "sorry, undo that", "not that way, undo it", "that was the wrong side, reverse it", "undo it", "oops, undo it", "reverse that", "take that back", "that was wrong, undo it", "no, undo that", "please undo that", "oh no, reverse that",
    "that was a mistake, undo it", "undo the last one", "that's wrong, take it back")  # fmt: skip
_TURN_BACK: Final = ("now turn back", "and turn back", "turn back again", "turn back please", "turn back to where you looked", "and now turn back the same", "turn the same back", "okay turn back", "turn back by the same", "turn back to how you were facing before", "face the way you did before", "back to the direction you had before", "turn back to your old heading", "and face the old way again", "turn so that you face as before")  # fmt: skip
_DRIVE_BACK: Final = ("back away the same", "too far, back the same", "you are too near, back up the same", "come back the same", "drive back the same distance", "back up as much", "now the same distance back", "and back as far", "return the same distance",
    "too close, go back the same way", "back off as far", "oops, too far, come back the same")  # fmt: skip
_DRIVE_ON: Final = ("the same distance forward", "now forward the same", "and forward as far", "come forward the same distance", "forward the same again", "drive forward as much")  # fmt: skip
_BACK_BY: Final = ("too far, {m} back", "that's too far, back up {m}", "too close, {m} back", "that's too close, back off {m}", "hm, {m} back", "a bit too far, come back {m}", "no, {m} back again")  # fmt: skip
_ON_BY: Final = ("not far enough, {m} more", "that's not enough, another {m}", "not quite, {m} more", "too short, {m} more", "go on for {m}", "{m} further", "keep going for {m}", "{m} on", "still too far away, {m} more")  # fmt: skip
_PART: Final = (
    (("half of that", "half that", "half of it", "half as much", "only half of that", "just half"), 0.5),
    (("double that", "twice that", "twice as much", "double", "the double of that", "two times that"), 2),
)  # fmt: skip
_OTHER_WAY: Final = ("{x} the other way", "now {x} the other way", "{x} in the other direction", "{x} in the opposite direction", "and {x} the other way", "{x}, but the other way", "{x} back", "{x} the other way round", "the other way, {x}")  # fmt: skip
_OF_ONE: Final = {
    "drive": ("drive {x} again", "drive {x}", "now drive {x}", "go {x} again", "and drive {x} again", "{x} of the distance again", "drive {x} once more"),
    "turn": ("turn {x} again", "turn {x}", "now turn {x}", "and turn {x} again", "turn {x} once more", "rotate {x} again"),
}  # fmt: skip
_SAME_OF: Final = {
    "drive": ("drive that far again", "the same distance again", "drive the same again", "and the same distance once more", "go that far again", "drive again"),
    "turn": ("turn that much again", "the same turn again", "turn the same again", "turn again", "and the same turn once more", "rotate that much again"),
}  # fmt: skip
_TIMES: Final = (
    ("{n} more", "{n} again", "{n} more please", "again, {n}", "do that {n} more", "and {n} more", "and {n} again", "do that {n} again"),
    ("twice", "three times", "four times"),
)  # fmt: skip
_ELSEWHERE: Final = ("do it in {p} as well", "the same in {p}", "now the same in {p}", "and in {p} too", "do the same in {p}", "now in {p}", "same for {p}", "and then {p}", "{p} as well", "do that again in {p}", "repeat that in {p}", "{p} too",
    "the same for {p} please", "all of that in {p} too", "you can do likewise for {p}", "likewise in {p}", "same procedure in {p}", "{p} next, same thing", "the very same in {p}", "do {p} the same way", "same again for {p}", "and {p} likewise")  # fmt: skip
_FETCH_AWAY: Final = ("get it from there and put it {p}", "get it again and take it {p}", "that was the wrong place, bring it {p}", "bring it {p} instead", "take it {p}", "now take it {p}", "no, take it {p}", "move it {p}", "it has to be {p}, bring it there", "fetch it and bring it {p}",
    "better bring it {p}", "take it from there {p}", "and now bring it {p}", "pick it up again and put it {p}", "it can't stay there, bring it {p}", "now carry it {p}", "it belongs {p}, bring it there", "actually, take it {p}", "then bring it back {p}", "okay, and now {p} with it")  # fmt: skip
_FETCH: Final = ("get it back", "pick it up again", "fetch it again", "take it again", "bring it back", "now get it again", "go and get it back", "I need it after all, get it", "bring it back to me", "pick it back up", "grab it again", "no, keep it, pick it up again")  # fmt: skip
_AND_TOO: Final = ("{o} too", "and {o}", "now {o}", "and {o} too", "the same with {o}", "do the same with {o}", "and {o} as well", "now the same with {o}", "{o} goes there too", "bring {o} there too", "take {o} there too", "put {o} there as well", "and now {o}")  # fmt: skip
_HELD_TO: Final = ("{p}", "and {p}", "now {p}", "it goes {p}", "bring it {p}", "leave it {p}", "carry it {p}", "it belongs {p}", "and now bring it {p}", "now take it {p}", "take that {p}", "then {p} with it", "okay, {p}", "it should go {p}",
    "bring that {p} please", "{p} with it", "deliver it {p}")  # fmt: skip
_HELD_FIRST: Final = ("carry it to the place where you began", "bring it to where you were first", "take it to the place you went to first", "bring it back to where you were before", "take it to the place that came first", "bring it to the first place")  # fmt: skip
_HELD_THERE: Final = ("put it down there", "leave it there", "now put it down", "put it down here", "and put it down", "drop it there", "you can put it down now", "put it there", "set it down", "let go of it here", "leave it here")  # fmt: skip
_LIGHT_OFF: Final = ("no more light, I am going", "lights out, we're leaving", "light off again", "and the light off again", "done, light off", "turn the light off again", "switch the light off when you leave", "that's enough, light off", "you can turn the light off now",
    "we don't need the light any more, turn it off", "off with the light", "kill the light", "okay, light out")  # fmt: skip
_NO_MORE: Final = ("go nowhere else now", "and nothing else", "nothing more", "that's all for now", "leave it there", "and leave it like that", "don't do that again", "never do that again", "not again", "please don't do it again", "that was the last one", "no more of that",
    "don't touch anything else", "and don't come back yet", "just leave it", "enough of that, thanks", "that's enough for today", "don't do anything else", "no need to do more", "leave everything as it is")  # fmt: skip
_THEN: Final = ("then {c}", "fair enough, {c}", "okay, then {c}", "ok then, {c}", "let me see you do it: {c}", "so {c}", "well, {c} then", "all right, {c}", "good, {c}", "{c} then", "it's up to you, {c}", "let's see, {c}", "prove it: {c}", "then please {c}", "okay so {c}", "instead {c}", "great, {c}",
    "then go ahead and {c}", "I see. {c}", "then I want you to {c}", "in that case {c}", "never mind. {c}", "at least {c}", "but you can {c}", "do this instead: {c}")  # fmt: skip
_AFTER_FAULT: Final = ("then {c}", "no way through? then {c}", "really? then {c}", "in that case {c}", "okay, {c} instead", "well, then {c}", "hm, {c} then", "too bad, {c}", "never mind, {c}", "oh. {c}", "all right, {c} instead", "what a pity. {c}", "then try this: {c}", "doesn't matter, {c}")  # fmt: skip
_OF_THING: Final = ("the {o} is dirty", "the {o} is empty", "the {o} is wet", "the {o} is broken", "the {o} is in the way", "there is a {o} on the floor", "somebody left the {o} out", "I forgot the {o}", "the {o} fell down", "my {o} is somewhere", "I left my {o} somewhere",
    "I can't find my {o}", "where is the {o}?", "where did I leave my {o}", "do you know where the {o} is", "that {o} is mine", "the {o} was expensive", "I like this {o}", "look, a {o}", "the {o} is new", "is that my {o}?", "I was looking for the {o}", "this {o} again",
    "the {o} is cold", "I think the {o} is ready")  # fmt: skip
_THING_AWAY: Final = ("take it {p}", "bring it {p}", "put it {p}", "carry it {p}", "please take it {p}", "then bring it {p}", "get it and bring it {p}", "it belongs {p}, take it there", "could you bring it {p}", "move it {p}", "okay, take it {p}")  # fmt: skip
_THING_HERE: Final = ("get it", "fetch it", "pick it up", "bring it to me", "bring it here", "go and get it", "can you get it for me", "then fetch it please", "pick it up please", "please bring it", "grab it", "okay, get it for me")  # fmt: skip
_OF_ROOM: Final = ("the {r} is dark", "it's dark in the {r}", "somebody is in the {r}", "I heard something in the {r}", "the {r} is a mess", "I was in the {r}", "we have guests in the {r}", "the {r} is nice", "my wife is in the {r}", "it's cold in the {r}")  # fmt: skip
_ROOM_GO: Final = ("go there", "then go there", "go and have a look there", "drive there", "go there please", "head over there", "okay, go there", "well, go there")  # fmt: skip
_ROOM_LIGHT: Final = ("turn the light {w} there", "then turn the light {w}", "light {w} there", "switch the light {w} there", "turn the light {w} in there please", "put the light {w}", "so turn the light {w}")  # fmt: skip
_NOT_KNOWN: Final = "I don't know where that is."
_ORDINALS: Final = ("first", "second", "third", "fourth")
_EVERY: Final = {2: ("both", "both", "the two"), 3: ("all three", "all three", "all"), 4: ("all four", "all")}
_KEYS: Final = {"drive": "distance_m", "turn": "angle_deg"}


def _every(rng: random.Random, count: int) -> str:
    return rng.choice(_EVERY.get(count, ("all",)))


def _turns(rng: random.Random, past: Past) -> Utterance | None:
    """Refers to several turns of one call each."""
    turns = past.turns[-rng.randint(2, 4) :]
    calls = tuple(call for turn in turns for call in turn)
    if not 2 <= len(turns) == len(calls) or (len(turns) < len(past.turns) and rng.random() < 0.8):
        return None
    is_whole = len(turns) == len(past.turns)
    at = rng.randrange(len(calls))
    if all(call.name == "set_light" for call in calls):
        places = [call.arguments["place"] for call in calls]
        if len(set(places)) < len(places):
            return None
        if rng.random() < 0.6 or not is_whole:
            on = not calls[-1].arguments["on"] if len({c.arguments["on"] for c in calls}) == 1 else rng.random() < 0.5
            text = rng.choice(_ALL_LIGHTS).format(all=_every(rng, len(calls)), w="on" if on else "off")
            return said(text, *(replace(call, arguments={**call.arguments, "on": on}) for call in calls))
        on = not calls[at].arguments["on"]
        text = rng.choice(_ONE_LIGHT).format(n=_ORDINALS[at], w="on" if on else "off")
        return said(text, replace(calls[at], arguments={**calls[at].arguments, "on": on}))
    if any(call.name in ("pick_up", "put_down", "stop") for call in calls):
        return None
    if rng.random() < 0.65 or not is_whole:
        rows = _ALL if len(calls) > 2 else _ALL[:10]
        return said(rng.choice(rows).format(all=_every(rng, len(calls))), *calls)
    return said(rng.choice(_ONE).format(n=_ORDINALS[at]), calls[at])


def _other_order(rng: random.Random, past: Past) -> Utterance | None:
    calls = past.calls
    if len(calls) != 2 or not past.ok or calls[0] == calls[1] or {"pick_up", "put_down"} & {c.name for c in calls}:
        return None
    return said(rng.choice(_OTHER_ORDER), *reversed(calls))


def _undone(rng: random.Random, past: Past) -> Utterance | None:
    """Takes back the last call."""
    if len(past.calls) != 1 or not past.ok:
        return None
    call = past.calls[0]
    if call.name == "set_light":
        return said(rng.choice(_UNDO), replace(call, arguments={**call.arguments, "on": not call.arguments["on"]}))
    if call.name not in _KEYS:
        return None
    other, kind, value = contrary(call), rng.random(), call.arguments[_KEYS[call.name]]
    rows = _UNDO
    if kind < 0.6:
        rows = _TURN_BACK if call.name == "turn" else _DRIVE_BACK if value > 0 else _DRIVE_ON
    elif call.name == "drive" and kind < 0.85 and value > 0:
        drawn = KINDS["dist"](rng)
        by = number(float(drawn.value))
        if kind < 0.72:
            return said(rng.choice(_BACK_BY).format(m=drawn.surface), Call("drive", {"distance_m": number(-by)}))
        return said(rng.choice(_ON_BY).format(m=drawn.surface), Call("drive", {"distance_m": by}))
    return said(rng.choice(rows), *([other] if other else []))


def _part(rng: random.Random, past: Past) -> Utterance | None:
    """A part or a multiple of one of the last moves: the one that is named, where there were several."""
    moves = [call for call in past.recent if call.name in _KEYS]
    if not moves or not past.ok:
        return None
    call = moves[-1]
    alone = len(past.calls) == 1 and past.calls[0] is call
    if sum(each.name == call.name for each in past.recent) > 1 and not alone:
        return None
    key = _KEYS[call.name]
    value = call.arguments[key]
    if alone and rng.random() < 0.35:
        rows, counts = _TIMES
        n = rng.choices((2, 3, 4), (4, 2, 1))[0]
        count = counts[n - 2] if rng.random() < 0.6 else rng.choice((f"{n} times", f"{cardinal(n)} times"))
        return said(rng.choice(rows).format(n=count), *[call] * n)
    words, share = rng.choice(_PART)
    new = value * share
    if abs(new * 1000 - round(new * 1000)) > 1e-6:
        return None
    if alone and rng.random() < 0.6:
        return said(rng.choice(_OTHER_WAY).format(x=rng.choice(words)), Call(call.name, {key: number(-new)}))
    if alone or rng.random() < 0.7:
        return said(rng.choice(_OF_ONE[call.name]).format(x=rng.choice(words)), Call(call.name, {key: number(new)}))
    return said(rng.choice(_SAME_OF[call.name]), call)


def _elsewhere(rng: random.Random, past: Past) -> Utterance | None:
    """The same at another place, or with another thing."""
    calls = past.calls
    if not past.ok or len(calls) < 2:
        return None
    if calls[0].name == "go_to" and not {"go_to", "pick_up", "put_down", "stop", "dock", "follow"} & {
        c.name for c in calls[1:]
    }:
        room = KINDS["room"](rng)
        if room.value == calls[0].arguments["place"]:
            return None
        rest = [
            replace(c, arguments={**c.arguments, "place": room.value}) if c.name == "set_light" else c
            for c in calls[1:]
        ]
        if any(c.name == "set_light" and c.arguments["place"] != calls[0].arguments["place"] for c in calls[1:]):
            return None
        return said(rng.choice(_ELSEWHERE).format(p=room.surface), Call("go_to", {"place": room.value}), *rest)
    if tuple(c.name for c in calls) == ("pick_up", "put_down"):
        thing = KINDS["object"](rng)
        if thing.value == calls[0].arguments["object"]:
            return None
        return said(rng.choice(_AND_TOO).format(o=thing.surface), Call("pick_up", {"object": thing.value}), calls[1])
    return None


def _to(rng: random.Random) -> tuple[str, str]:
    """A place to put a thing down, and how it is said."""
    place = KINDS["dropplace"](rng)
    before = rng.choice(("to", "to", "in" if place.value in lexicon.ROOMS else "on"))
    return place.value, f"{before} {place.surface}"


def _thing(rng: random.Random, past: Past) -> Utterance | None:
    """What becomes of the thing that is held, or was put down."""
    last = past.calls[-1]
    if past.held:
        kind = rng.random()
        if last.name == "go_to" and past.ok and kind < 0.6:
            return said(rng.choice(_HELD_THERE), Call("put_down", {"place": last.arguments["place"]}))
        if kind < 0.12 and len(past.places) > 1 and past.places[0] != past.places[-1]:
            return said(rng.choice(_HELD_FIRST), Call("put_down", {"place": past.places[0]}))
        place, text = _to(rng)
        return said(rng.choice(_HELD_TO).format(p=text), Call("put_down", {"place": place}))
    if last.name != "put_down" or not past.ok or not past.left:
        return None
    fetch = Call("pick_up", {"object": past.left})
    if rng.random() < 0.3:
        return said(rng.choice(_FETCH), fetch)
    place, text = _to(rng)
    if place == last.arguments["place"]:
        return None
    return said(rng.choice(_FETCH_AWAY).format(p=text), fetch, Call("put_down", {"place": place}))


def _light_off(rng: random.Random, past: Past) -> Utterance | None:
    """The light that was switched on some turns ago, where the robot still is."""
    lit = [call for turn in past.turns for call in turn if call.name in ("set_light", "go_to")]
    if not lit or lit[-1].name != "set_light" or not lit[-1].arguments["on"] or past.calls[-1].name == "set_light":
        return None
    return said(rng.choice(_LIGHT_OFF), Call("set_light", {"place": lit[-1].arguments["place"], "on": False}))


def _no_more(rng: random.Random, past: Past) -> Utterance:
    return told(rng.choice(_NO_MORE), rng.choice(("Okay, I won't.", "Okay.", "All right.")))


_KINDS: Final[referring.Kinds] = (
    (0.28, _turns), (0.05, _other_order), (0.13, _undone), (0.16, _part), (0.12, _elsewhere), (0.18, _thing), (0.05, _light_off), (0.04, _no_more),
)  # fmt: skip


def draw(rng: random.Random, past: Past) -> Utterance | None:
    """A turn that refers to more than the call before, or None where none comes to mind."""
    return referring.draw(rng, past, _KINDS)


def then(rng: random.Random, command: Utterance, *, failed: bool) -> Utterance:
    """A command behind a word that ties it to the robot's last answer: "then turn around"."""
    rows = _AFTER_FAULT if failed else _THEN
    return replace(command, text=rng.choice(rows).format(c=command.text), tag="followup", bare=False)


def spoken_of(rng: random.Random) -> Utterance:
    """A statement or a question about a thing or a room, to which no tool answers, and a command that takes it up."""
    if rng.random() < 0.25:
        room = rng.choice(list(lexicon.ROOMS))
        on = rng.random() < 0.7
        answer = (
            said(rng.choice(_ROOM_GO), Call("go_to", {"place": room}))
            if rng.random() < 0.5
            else said(
                rng.choice(_ROOM_LIGHT).format(w="on" if on else "off"), Call("set_light", {"place": room, "on": on})
            )
        )
        return replace(told(rng.choice(_OF_ROOM).format(r=room), rng.choice(wording.HEARD)), answer=answer)
    thing = rng.choice(list(lexicon.OBJECTS))
    text = rng.choice(_OF_THING).format(o=thing)
    asks = text.startswith(("where", "do you", "is that", "I can't find"))
    fetch = Call("pick_up", {"object": thing})
    if rng.random() < 0.35:
        answer = said(rng.choice(_THING_HERE), fetch)
    else:
        place, where = _to(rng)
        answer = said(rng.choice(_THING_AWAY).format(p=where), fetch, Call("put_down", {"place": place}))
    return replace(told(text, _NOT_KNOWN if asks else rng.choice(wording.HEARD)), answer=answer)
