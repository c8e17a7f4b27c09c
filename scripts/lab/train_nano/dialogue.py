"""Whole dialogues: a setting (system prompt and tools) and turns with calls, results and replies.

A row of training shares one setting; Author writes any number of dialogues into it.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import Any, Final

import answers
import changing
import corrections
import fingers
import followup
import foreign
import inflection
import invented
import lists
import orders
import reasons
import recalling
import renaming
import results
import scenes
from nothing import CANNOT, Nothing
from referring import Past
from results import Call, Outcome
from tools import HOUSE_SYSTEM, HOUSE_TOOLS, ToolSpec, name_of
from utterances import Speaker, Utterance

from edgeagent.train import dressing as noise
from edgeagent.train import wording

Message = dict[str, Any]

_SYSTEMS: Final = (
    "", "", "You are a helpful robot.", "You are a robot. Act with the tools.", "You control a robot. Answer in one short sentence.",
    "You are a voice assistant on a robot. Keep it short.", "You are the house robot.", "You are a friendly robot; use the tools when asked.",
    "You are Robo, a small mobile robot. Answer briefly.", "You are an assistant.", "Be brief.", "You are a robot arm on wheels. Reply in one sentence.",
    "You are the agent of a mobile robot. Call tools for commands, otherwise answer shortly.", "You help around the house.",
)  # fmt: skip
_NOT_HOUSE_MIX: Final = 0.3
_RENAMED: Final = 0.75
"""Share of parts of the house robot that have other names."""
_CUT_SHORT: Final = 0.5
"""Dialogues that end with the last turn's calls: telling results is easy, and their tokens are better spent on calls."""


_TURNS: Final = (0.5, 0.22, 0.16, 0.12)
"""Shares of dialogues of one to four turns."""
_FOLLOWING: Final = 0.72
"""Share of later turns that follow up."""
_TIED: Final = 0.3
"""Share of commands after an answer without a call, or after a failure, that a word ties to it."""
_SCENES: Final = 0.5
"""Share of the house robot's dialogues that stand in files."""
_WITH_MORE: Final = 0.14
"""Share of later turns with a command behind or before them."""
_MORE: Final = (
    "{}, then {}", "{}, then {}", "{} and then {}", "{} and {}", "{}, and {}", "{}, and then {}", "{}. then {}", "{}, after that {}", "{}, followed by this: {}", "{}, and afterwards {}", "{}, then please {}", "{}. and {}", "{}; then {}",
    "{}, and when you are done {}", "{} and after that {}",
)  # fmt: skip
_LESS: Final = (
    "{}, and then {}",
    "{} and {}",
    "{}, then {}",
    "first {}, then {}",
    "{}. then {}",
    "{} and after that {}",
)
"""A later turn and a command behind it; a command and a later turn behind that."""
_ANSWERED: Final = 0.8
"""Share of the robot's questions that are answered."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What stays the same over a row: the system prompt and the tools."""

    system: str
    tools: tuple[ToolSpec, ...]
    house: frozenset[str]
    """Names of the house robot's tools on offer."""

    foreign: tuple[foreign.ForeignTool, ...]
    renaming: renaming.Renaming | None = None
    """Of the house robot's tools, where they have other names."""

    @property
    def whole(self) -> bool:
        """Whether all tools of the house robot are here, as they are."""
        return len(self.house) == len(HOUSE_TOOLS) and self.renaming is None


def draw_setting(rng: random.Random) -> Setting:
    """Mostly the house robot as it ships; also subsets, other orders, other robots."""
    kind = rng.random()
    if kind < 0.4:
        return Setting(HOUSE_SYSTEM, HOUSE_TOOLS, frozenset(map(name_of, HOUSE_TOOLS)), ())
    system = HOUSE_SYSTEM if rng.random() < 0.4 else rng.choice(_SYSTEMS)
    tools = list(HOUSE_TOOLS)
    others: list[foreign.ForeignTool] = []
    if kind < 0.43:
        if rng.random() < 0.7:
            rng.shuffle(tools)
    elif kind < 0.54:
        tools = rng.sample(tools, rng.randint(1, 13))
        if rng.random() < 0.5:
            tools.sort(key=HOUSE_TOOLS.index)
    else:
        tools = rng.sample(tools, rng.randint(0, 6)) if rng.random() < _NOT_HOUSE_MIX else []
        others = foreign.draw(rng, rng.randint(1, 9), beside_house=bool(tools))
    house = frozenset(map(name_of, tools))
    renamed: renaming.Renaming | None = None
    if kind >= 0.43 and rng.random() < _RENAMED:
        renamed, specs = renaming.draw(rng, tools, [name_of(t.spec) for t in others])
        tools = list(specs)
    tools += [t.spec for t in others]
    if others:
        rng.shuffle(tools)
    return Setting(system, tuple(tools), house, tuple(others), renamed)


class Author:
    """Writes dialogues for a setting."""

    def __init__(self, speaker: Speaker, rng: random.Random) -> None:
        self._speaker = speaker
        self._nothing = Nothing(speaker)
        self._rng = rng

    def dialogue(self, setting: Setting, *, turns: int | None = None) -> list[Message]:
        """The messages after the system prompt."""
        messages = self._written(setting, turns)
        return messages if setting.renaming is None else setting.renaming.over(messages)

    def _written(self, setting: Setting, turns: int | None) -> list[Message]:
        rng = self._rng
        wanted = turns or rng.choices((1, 2, 3, 4), _TURNS)[0]
        messages: list[Message] = []
        past, tied = Past(), False
        answer: Utterance | None = None
        for turn in count():
            if turn >= wanted and answer is None:
                break
            if rng.random() < 0.015 and setting.house & {"set_timer"}:
                messages += self._timer_message()
                continue
            said = answer
            if said is None and turn and rng.random() < _FOLLOWING:
                said = followup.draw(rng, past)
                if said is not None and {c.name for c in said.calls} - setting.house:
                    said = None
                if said is not None and said.calls:
                    said = self._with_more(said, setting)
            if said is None and not turn and setting.whole and rng.random() < _SCENES:
                said = scenes.draw(self._speaker)
            if said is None:
                said = self._utterance(setting)
                if tied and len(said.calls) == 1 and rng.random() < _TIED and noise.is_imperative(said.text):
                    said = recalling.then(rng, said, failed=not past.ok)
            is_scene = said.tag == scenes.TAG
            answer = said.answer if is_scene or turn + 1 < wanted or rng.random() < _ANSWERED else None
            messages.append({"role": "user", "content": self._spoken(said, typed=not setting.foreign)})
            tied = not said.calls
            if not said.calls:
                reply = results.tell(list(past.outcomes)) if said.reply == scenes.TOLD else said.reply
                messages.append({"role": "assistant", "content": reply})
                continue
            messages.append(_calling(said.calls))
            if turn >= wanted - 1 and not (is_scene and answer) and rng.random() < _CUT_SHORT:
                break
            outcomes = _well(rng, said.calls, past.held) if is_scene else self._outcomes(said.calls, past.held)
            messages += [{"role": "tool", "content": o.content} for o in outcomes]
            messages.append({"role": "assistant", "content": results.tell(outcomes)})
            past = past.after(said.calls, outcomes)
            tied = not past.ok
        return messages

    def _with_more(self, said: Utterance, setting: Setting) -> Utterance:
        """A later turn as it is said, at times with a command before or behind it: "off again, then come here"."""
        rng = self._rng
        if rng.random() < _WITH_MORE:
            other = self._speaker.imperative()
            calls, text = other.calls(), other.text()
            if {c.name for c in calls} <= setting.house and not set(map(repr, calls)) & set(map(repr, said.calls)):
                if rng.random() < 0.25:
                    return replace(said, text=rng.choice(_LESS).format(text, said.text), calls=calls + said.calls)
                return replace(said, text=rng.choice(_MORE).format(said.text, text), calls=said.calls + calls)
        return replace(said, text=changing.dressed(rng, said.text))

    def _spoken(self, said: Utterance, *, typed: bool) -> str:
        text = said.text
        if said.tag == "as said":
            return text
        if said.bare and said.calls:
            text = noise.polite(text, self._rng)
        if typed and not said.as_typed and self._rng.random() < fingers.HASTE:
            text = fingers.mistyped(text, self._rng)
        return text if said.as_typed else noise.dress(text, self._rng)

    def _utterance(self, setting: Setting) -> Utterance:
        rng = self._rng
        if setting.foreign:
            return self._foreign_utterance(setting)
        for _ in range(12 if rng.random() < 0.8 else 1):
            said = self.house_utterance()
            if said.tools <= setting.house:
                return said
        return Utterance(said.text, reply=rng.choice(CANNOT), tag="missing", bare=False)

    def house_utterance(self) -> Utterance:
        """One turn to a house robot with all of its tools: commands plain or composed, or nothing to do."""
        rng, speaker = self._rng, self._speaker
        kind = rng.random()
        if kind < 0.26:
            return speaker.single()
        if kind < 0.275:
            return recalling.spoken_of(rng)
        if kind < 0.287:
            return changing.in_units(rng)
        if kind < 0.294:
            return orders.alike(speaker)
        if kind < 0.32:
            return speaker.together()
        if kind < 0.39:
            return lists.listed(speaker)
        if kind < 0.49:
            count = rng.choices((2, 3, 4), (0.45, 0.32, 0.23))[0]
            return orders.chain(speaker, count, speaker.joined if count == 2 else partial(orders.joined, rng))
        if kind < 0.54:
            return orders.turned(speaker)
        if kind < 0.57:
            return answers.asked_about(rng)
        if kind < 0.625:
            return reasons.reasoned(speaker)
        if kind < 0.66:
            return corrections.corrected(speaker)
        if kind < 0.695:
            return speaker.negated_beside()
        return self._nothing.draw()

    def _foreign_utterance(self, setting: Setting) -> Utterance:
        rng = self._rng
        kind = rng.random()
        tools = setting.foreign
        if setting.house and kind < 0.3:
            for _ in range(12):
                said = self.house_utterance()
                if said.tools and said.tools <= setting.house:
                    return said
        mine = [one.invented for one in tools if one.invented is not None]
        if kind < 0.57:
            return rng.choice(tools).say(rng)
        if mine and kind < 0.59:
            twice = rng.choice(mine).twice(rng)
            if twice is not None:
                return twice
        if kind < 0.68:
            one, two = rng.choice(tools).say(rng), rng.choice(tools).say(rng)
            if one.text[-1:] in "?!" or one.calls == two.calls:
                return one
            return _two(rng, one, two)
        if kind < 0.79:
            astray = rng.choice(tools).astray(rng)
            if astray is not None:
                return astray
        if kind < 0.86 and (order := rng.choice(tools).order(rng)) is not None:
            return self._not_asked_for(order)
        if mine and kind < 0.875 and (remark := invented.remark(rng, mine)) is not None:
            return Utterance(remark, reply=rng.choice(wording.HEARD), tag="none", bare=False)
        if kind < 0.92:
            if mine:
                return Utterance(invented.near(rng, mine), reply=rng.choice(CANNOT), tag="missing")
            names = {name_of(t) for t in setting.tools}
            other = next(
                t
                for t in (foreign.draw(rng, 1)[0] for _ in range(99))
                if not any(set(name_of(t.spec).split("_")) & set(n.split("_")) for n in names)
            )
            return Utterance(other.say(rng).text, reply=rng.choice(CANNOT), tag="missing", bare=False)
        if kind < 0.965 or not setting.house:
            return self._nothing.said() if rng.random() < 0.5 else self._nothing.talk()
        said = self.house_utterance()
        if said.tools <= setting.house:
            return said
        return Utterance(said.text, reply=rng.choice(CANNOT), tag="missing", bare=False)

    def _not_asked_for(self, text: str) -> Utterance:
        """A sentence about a command, or its negation."""
        rng = self._rng
        kind = rng.random()
        other = wording.not_asked(text, rng) if kind < 0.4 else wording.negated(text, rng)
        if other is None:
            other = f"I know, {text}" if noise.is_question(text) else f"do not {text}"
        if kind < 0.4 or noise.is_question(text):
            return Utterance(other, reply=rng.choice(wording.HEARD), tag="none", bare=False)
        return Utterance(other, reply="Okay, I won't.", tag="none", bare=False)

    def _outcomes(self, calls: tuple[Call, ...], held: str) -> list[Outcome]:
        """Results of calls; after a failed motion no other motion runs, and after a stop or a refusal nothing does."""
        rng = self._rng
        kind = rng.random()
        if kind < 0.66:
            return _well(rng, calls, held)
        at = rng.randrange(len(calls))
        failed = "error" if kind < 0.92 else "interrupted" if kind < 0.97 else "not run"
        after = calls[at]
        none = failed != "error" or rng.random() < 0.15
        outcomes = _well(rng, calls[:at], held)
        outcomes.append(results.outcome(rng, after, failed=failed))
        for call in calls[at + 1 :]:
            left = none or (results.moves(after) and results.moves(call))
            outcomes.append(results.outcome(rng, call, failed="not run" if left else "", after=after.name))
        return outcomes

    def _timer_message(self) -> list[Message]:
        n = self._rng.choice((self._rng.randint(1, 120), self._rng.randint(1, 60) * 60))
        over = f"{n} second is over" if n == 1 else f"{n} seconds are over"
        return [{"role": "user", "content": f"[timer] {over}"}, {"role": "assistant", "content": f"Your {over}."}]


def _two(rng: random.Random, one: Utterance, two: Utterance) -> Utterance:
    """Two requests in one sentence, or in two."""
    tag = "as said" if "as said" in (one.tag, two.tag) else "foreign"
    first, second = (replace(each, text=each.text[:1].lower() + each.text[1:].rstrip(".!")) for each in (one, two))
    if rng.random() < 0.3 and all(inflection.begins_with_verb(each.text) for each in (first, second)):
        both = orders.in_other_words(rng, first, second)
        return replace(both, text=both.text[:1].upper() + both.text[1:] if rng.random() < 0.4 else both.text, tag=tag)
    joint = rng.choice(
        (
            " and ",
            " and ",
            " then ",
            ", then ",
            " and then ",
            ", and ",
            ". Then ",
            ", and after that ",
            ", and also ",
            ", ",
        )
    )
    begun = one.text.rstrip(".!") if rng.random() < 0.6 else first.text
    return Utterance(begun + joint + second.text, one.calls + two.calls, tag=tag, bare=False)


def _well(rng: random.Random, calls: Iterable[Call], held: str) -> list[Outcome]:
    """Results of calls that go well, which know what is held."""
    outcomes = []
    for call in calls:
        one = results.outcome(rng, call)
        if call.name == "pick_up":
            held = call.arguments["object"]
        elif call.name == "put_down":
            one, held = results.put_down(held, call.arguments["place"]) if held else one, ""
        outcomes.append(one)
    return outcomes


def _calling(calls: tuple[Call, ...]) -> Message:
    return {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"type": "function", "function": {"name": c.name, "arguments": c.arguments}} for c in calls],
    }
