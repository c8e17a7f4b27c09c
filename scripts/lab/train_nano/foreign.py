"""Other robots: tools with invented names, and what people say to them, so that a builder's own tools have a chance.

Combines verbs and nouns into tools of a few shapes; nothing here is a tool of the house robot.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import fleet
import invented
import lexicon
from results import Call
from slots import KINDS, Drawn, pseudo_word
from tools import HOUSE_TOOLS, ToolSpec, declare, name_of
from utterances import Utterance

_NOUNS: Final = tuple(
    """gripper arm hatch door lid pump fan motor camera laser siren alarm lamp led screen speaker microphone antenna wheel brush
sprayer tank valve heater cooler drone conveyor magnet claw drawer tray winch crane bucket shovel blade saw drill printer
scanner sensor tail head neck hand finger leg wing eye horn bell flag light projector curtain blinds gate window oven kettle
toaster mixer radio television vacuum mower sprinkler feeder humidifier thermostat lock garage elevator turret mast sail
rudder thruster propeller gimbal shutter filter battery printer plotter torch beacon display""".split()
)
_ACTS: Final = tuple(
    """open close start stop lift lower raise reset activate deactivate enable disable lock unlock calibrate clean empty fill
check test extend retract inflate deflate eject release engage fold unfold charge park tilt shake wash deploy stow pause
resume arm disarm cool warm rinse drain polish spin flip rotate""".split()
)
_GESTURES: Final = tuple(
    "wave dance nod bow jump sing beep blink wink clap kick crawl hop whistle bark roar laugh yawn stretch sit stand curtsy salute shrug honk".split()
)
_LEVELS: Final = (
    "speed",
    "volume",
    "brightness",
    "temperature",
    "power",
    "height",
    "zoom",
    "pressure",
    "level",
    "intensity",
    "pitch",
    "depth",
    "width",
)
_TIMES: Final = {1: ("once",), 2: ("twice", "two times"), 3: ("three times",)}


@dataclass(frozen=True, slots=True)
class ForeignTool:
    """A tool and a way to draw what is said to it."""

    spec: ToolSpec
    say: Callable[[random.Random], Utterance]
    astray: Callable[[random.Random], Utterance | None] = lambda rng: None
    """Draws a sentence that comes close to a call and has none; None where there is none."""
    invented: invented.InventedTool | None = None
    fleet: fleet.FleetOffer | None = None

    def order(self, rng: random.Random) -> str | None:
        """Draws a plain order, without politeness; None where there is none."""
        if self.fleet is not None:
            return self.fleet.order(rng)
        return self.say(rng).text if self.invented is None else self.invented.order(rng)


def _article(rng: random.Random) -> str:
    return rng.choice(("the", "the", "the", "your", "my", ""))


def _plain(rng: random.Random, name: str, texts: tuple[str, ...], arguments: dict[str, Any]) -> Utterance:
    return Utterance(" ".join(rng.choice(texts).split()), (Call(name, arguments),), tag="foreign")


def _act_tool(rng: random.Random) -> ForeignTool:
    act, noun = rng.choice(_ACTS), rng.choice(_NOUNS)
    noun = pseudo_word(rng) if rng.random() < 0.1 else noun
    name = rng.choice((f"{act}_{noun}", f"{act}_{noun}", f"{noun}_{act}"))

    def say(rng: random.Random) -> Utterance:
        the = _article(rng)
        return _plain(
            rng,
            name,
            (
                f"{act} {the} {noun}",
                f"{act} {the} {noun}",
                f"{act} {the} {noun} now",
                f"{noun} {act}",
                f"i want you to {act} {the} {noun}",
            ),
            {},
        )

    return ForeignTool(declare(f"{name}()"), say)


def _gesture_tool(rng: random.Random) -> ForeignTool:
    verb = pseudo_word(rng) if rng.random() < 0.15 else rng.choice(_GESTURES)
    if rng.random() < 0.5:
        return ForeignTool(
            declare(f"{verb}()"),
            lambda rng: _plain(rng, verb, (verb, f"{verb} now", f"{verb} for me", f"do a {verb}"), {}),
        )
    arg = rng.choice(("times", "count", "repeat", "n"))

    def say(rng: random.Random) -> Utterance:
        drawn = KINDS["int"](rng) if rng.random() < 0.6 else KINDS["count"](rng)
        said = (
            drawn.surface
            if "t" in drawn.surface[-5:]
            and not drawn.surface.isdigit()
            and drawn.surface.split()[-1] in ("twice", "thrice", "times")
            else f"{drawn.surface} times"
        )
        return _plain(rng, verb, (f"{verb} {said}",), {arg: drawn.value})

    return ForeignTool(declare(f"{verb}({arg}: integer)"), say)


def _level_tool(rng: random.Random) -> ForeignTool:
    what, noun = rng.choice(_LEVELS), rng.choice(_NOUNS)
    name, said = rng.choice(
        (
            (f"set_{what}", what),
            (f"set_{noun}_{what}", f"{noun} {what}"),
            (f"{noun}_{what}", f"{noun} {what}"),
            (f"set_{noun}", noun),
        )
    )
    arg, kind = rng.choice((what, "value", "level", "percent")), rng.choice(("integer", "number"))

    def say(rng: random.Random) -> Utterance:
        drawn = KINDS["int"](rng)
        the = _article(rng)
        texts = (
            f"set {the} {said} to {drawn.surface}",
            f"{said} {drawn.surface}",
            f"put {the} {said} at {drawn.surface}",
            f"change {the} {said} to {drawn.surface}",
            f"{said} to {drawn.surface} please",
            f"turn {the} {said} to {drawn.surface}",
        )
        return _plain(rng, name, texts, {arg: drawn.value})

    return ForeignTool(declare(f"{name}({arg}: {kind})"), say)


def _word_tool(rng: random.Random) -> ForeignTool:
    options: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
        ("play_sound", "name", "song", ("play {}", "play the sound {}", "make the {} sound")),
        ("play_song", "title", "song", ("play {}", "play the song {}", "i want to hear {}")),
        ("say", "text", "song", ("say {}", "say the words {}", "speak {}")),
        ("greet", "name", "name", ("greet {}", "say hello to {}", "say hi to {}")),
        ("call", "person", "name", ("call {}", "phone {}", "give {} a call", "ring {}")),
        ("set_color", "color", "color", ("make it {}", "set the color to {}", "turn {}", "glow {}", "change to {}")),
        ("set_led", "color", "color", ("make the led {}", "set the led to {}", "led {}")),
        ("find", "item", "thing_bare", ("find the {}", "search for the {}", "look for the {}")),
        ("clean", "room", "room_bare", ("clean the {}", "vacuum the {}", "clean up the {}")),
        ("vacuum", "area", "room_bare", ("vacuum the {}", "clean the {}")),
        ("deliver", "item", "thing_bare", ("deliver the {}", "bring the {}")),
        ("wash", "thing", "thing_bare", ("wash the {}", "clean the {}")),
        ("open", "item", "thing_bare", ("open the {}", "open up the {}")),
        (
            "photograph",
            "subject",
            "thing_bare",
            ("take a picture of the {}", "photograph the {}", "take a photo of the {}"),
        ),
        ("water", "plant", "thing_bare", ("water the {}", "give the {} some water")),
        ("order", "item", "thing_bare", ("order a {}", "buy a {}", "order the {}")),
        ("move_to", "station", "name", ("move to station {}", "go to {}", "drive to {}")),
        ("draw", "shape", "thing_bare", ("draw a {}", "paint a {}", "sketch a {}")),
    )
    name, arg, kind, texts = rng.choice(options)
    if rng.random() < 0.3:
        name = f"{name}_{rng.choice(('it', 'now', 'item', 'one', 'task', pseudo_word(rng)))}"

    def say(rng: random.Random) -> Utterance:
        if kind == "thing_bare":
            word = rng.choice((*lexicon.UNKNOWN_OBJECTS, *lexicon.OBJECTS)) if rng.random() < 0.9 else pseudo_word(rng)
            drawn = Drawn(word, word)
        else:
            word = KINDS[kind](rng).surface.lower()
            drawn = Drawn(word, word)
        return _plain(rng, name, tuple(t.format(drawn.surface) for t in texts), {arg: drawn.value})

    return ForeignTool(declare(f"{name}({arg}: string)"), say)


def _switch_tool(rng: random.Random) -> ForeignTool:
    noun, arg = rng.choice(_NOUNS), rng.choice(("on", "enabled", "active"))
    name = rng.choice((f"set_{noun}", f"{noun}", f"switch_{noun}"))

    def say(rng: random.Random) -> Utterance:
        on, the = rng.random() < 0.5, _article(rng)
        word = "on" if on else "off"
        return _plain(
            rng,
            name,
            (f"turn {word} {the} {noun}", f"switch {word} {the} {noun}", f"{noun} {word}", f"turn {the} {noun} {word}"),
            {arg: on},
        )

    return ForeignTool(declare(f"{name}({arg}: boolean)"), say)


def _enum_tool(rng: random.Random) -> ForeignTool:
    sets = (
        ("left", "right"),
        ("up", "down"),
        ("red", "green", "blue"),
        ("slow", "normal", "fast"),
        ("low", "medium", "high"),
        ("eco", "normal", "boost"),
        ("happy", "sad", "angry"),
        ("north", "south", "east", "west"),
        ("day", "night"),
        ("auto", "manual"),
    )
    values, noun = rng.choice(sets), rng.choice(_NOUNS)
    verb = rng.choice(("move", "set", "turn", "switch", "put"))
    name, arg = f"{verb}_{noun}", rng.choice(("mode", "direction", "state", "setting", "value"))

    def say(rng: random.Random) -> Utterance:
        value, the = rng.choice(values), _article(rng)
        return _plain(
            rng,
            name,
            (
                f"{verb} {the} {noun} {value}",
                f"{verb} {the} {noun} to {value}",
                f"{noun} {value}",
                f"{verb} {the} {noun} to the {value} {arg}",
            ),
            {arg: value},
        )

    return ForeignTool(declare(f"{name}({arg}: {'|'.join(values)})"), say)


def _reading_tool(rng: random.Random) -> ForeignTool:
    what = rng.choice(
        (
            "temperature",
            "humidity",
            "speed",
            "weather",
            "weight",
            "altitude",
            "pressure",
            "status",
            "signal",
            "version",
            "mood",
            "air_quality",
            "fuel",
            "oil_level",
            "noise_level",
        )
    )
    name = rng.choice((f"get_{what}", f"read_{what}", f"{what}"))
    said = what.replace("_", " ")
    texts = (
        f"what is the {said}",
        f"what's the {said}",
        f"how is the {said}",
        f"tell me the {said}",
        f"check the {said}",
        f"read the {said}",
        f"what {said} do you have",
    )
    return ForeignTool(declare(f"{name}()"), lambda rng: _plain(rng, name, texts, {}))


_SHAPES: Final = (
    _act_tool,
    _act_tool,
    _gesture_tool,
    _level_tool,
    _word_tool,
    _word_tool,
    _switch_tool,
    _enum_tool,
    _reading_tool,
)
_HOUSE_NAMES: Final = frozenset(name_of(t) for t in HOUSE_TOOLS)


_OF_FLEET: Final = 0.5
_INVENTED: Final = 0.37
"""Shares of robots whose tools and phrases stand in files, and of those whose tools have several parameters and descriptions."""


def draw(rng: random.Random, n: int, *, beside_house: bool = False) -> list[ForeignTool]:
    """n tools with different names, none a house tool's, that a person can tell apart, also from the house's if so."""
    kind = rng.random()
    if kind < _OF_FLEET and not beside_house:
        offers = fleet.draw(rng, n, _HOUSE_NAMES)
        return [ForeignTool(one.spec, one.say, one.astray, fleet=one) for one in offers]
    if kind < _OF_FLEET + _INVENTED:
        made = invented.draw(rng, n, _HOUSE_NAMES, beside_house=beside_house)
        return [ForeignTool(one.spec, one.say, one.astray, one) for one in made]
    tools: dict[str, ForeignTool] = {}
    while len(tools) < n:
        tool = rng.choice(_SHAPES)(rng)
        name = name_of(tool.spec)
        if name not in _HOUSE_NAMES and all(not (set(name.split("_")) & set(other.split("_"))) for other in tools):
            tools[name] = tool
    return list(tools.values())
