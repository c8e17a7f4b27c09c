"""Spoken examples for the keyword network: stop words in many mouths, words that sound like them, other talk, people.

Writes an array of 16 bits for each voice, at 16 kHz, and what is in it: ``examples.json``.
"""

from __future__ import annotations

import argparse
import json
import pydoc_data.topics
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from edgeagent.app import house_phrases
from edgeagent.errors import EdgeAgentError
from edgeagent.stt import general_model
from edgeagent.testing import NATURAL_VOICES, synthesised

RATE_HZ: Final = 16_000
WORDS: Final = ("stop", "halt", "freeze")
WAITS: Final = ("wait", "hold on", "cancel that")
"""Phrases that make motion wait for a moment."""
HELD_OUT: Final = ("en-gb-x-gbclan", "en-us+f3", "en-gb-x-gbclan+m3")
"""Voices by which nothing is trained, for measuring."""
FLITE: Final = ("kal", "slt", "awb", "rms")
_ACCENTS: Final = ("en-us", "en-gb", "en-gb-scotland", "en-gb-x-rp", "en-gb-x-gbcwmd", "en-029", "en-us-nyc")
_VARIANTS: Final = ("", "+f1", "+f2", "+f4", "+f5", "+m1", "+m2", "+m3", "+m5", "+m7", "+klatt", "+klatt4", "+Annie",
                    "+Andrea", "+Alex", "+Michael", "+Linda")  # fmt: skip
_ESPEAK: Final = 40
TEMPI: Final = (0.8, 1.0, 1.25)
ENDING: Final = ("{}", "{}!", "please {}", "no, {}", "robot {}", "okay {}", "now {}", "wait, {}", "hey {}", "{}, {}",
                 "{}, {}, {}", "robi, {}", "just {}", "oh no, {}", "and {}", "come on, {}")  # fmt: skip
BEGINNING: Final = (
    "{} now",
    "{} it",
    "{} please",
    "{} right there",
    "{} moving",
    "{} the robot",
    "{} that",
    "{} there",
)
WAITING: Final = ("{} please", "{} now", "{} a second", "{} a moment")
"""What stands behind one of ``WAITS``; before it may stand what ends in a stop word."""
ALIKE: Final = (
    "top shop step stock stuff star start stomp stoop stab spot stamp staff store stall hop drop prop crop chop swap "
    "stopped stopping stopper storm stand steps stick stack stub soft scott strap strip spark stalk stark hot hall "
    "hold hole fault salt vault bolt haunt hurt heart hat hunt half haul holt hollow halter help hello alt old cold "
    "wall all hard halo free breeze trees please cheese fries freed frozen phrase fruit sneeze squeeze fleas "
    "priest three frame fridge freezer freezing friend fresh freedom breathe reef reeves knees these fee feeds first"
).split()
ALIKE_WAITS: Final = tuple(
    " ".join(words.split())
    for words in """
    weight, way, white, what, wet, where, eight, late, rate, gate, great, bait, date, wade, wake, wave, away, quite,
    we, with it, the weight, a way, that way, this way, by the way, which way, what a day, eight o'clock, they ate,
    the gate, too late, it's great, hold, hold it, hold the door, hold my cup, hold that, hold her, old one, an old
    one, the whole one, hole in, hello, hello on, told on, called on, home, going on, go on, come on, carry on, turn on,
    turn it on, put it on, what's on, go home, all gone, from now on, later on, and so on, move on, drive on, call
    mom, golden, olden, can, can't, can so, candle, the candle, cancer, council, counsel, castle, camel, channel,
    handle, handle that, can sell that, can tell that, can spell that, can see that, cans of that, do that, like that,
    what's that, take that, drop that, call that, catch that, paint that, count that, can add,
    can set it, how about that, after that
    """.split(",")
)
"""What sounds like one of ``WAITS``."""
SHORT: Final = tuple(
    " ".join(words.split())
    for words in """
    turn left, turn right, turn around, turn back, turn it on, turn it off, lights on, lights off, light on, light
    off, all lights off, lamp on, lamp off, go home, go left, go right, go back, go ahead, go on, go out, go to bed,
    go slow, come here, come back, come along, come with me, follow me, look around, look left, look right, look at
    me, look up, pick it up, pick that up, put it down, put it back, drop it, take it, bring it, grab the cup, give
    it to me, drive forward, drive back, back up, move on, move left, move over, one meter, two meters, half a
    meter, ninety degrees, where are you, what is that, what time is it, who are you, how are you, how full are you,
    how far, how much, why not, battery level, set a timer, ten minutes, an alarm at eight, good morning, good
    evening, good job, well done, hello, hello robot, hi there, hey robot, thank you, thanks a lot, thank you so
    much, all right, alright then, okay, yes please, yes, yes do it, no, no thank you, not now, never mind, maybe
    later, of course, sure, right, left, up, down, again, do it again, once more, more, a little more, faster,
    slower, louder, quiet, be quiet, tell me, tell me more, tell me a joke, say it again, sorry, excuse me, i
    thought so, i told you, he told me, she called, call me, hold it up, hall light, in the hall, in the hallway, at
    the top, on top, on the sofa, the sofa, the phone, my phone, old phone, the hot water, a cold one, half of it,
    the other half, one half, a lot, not a lot, that's it, what's that, what for, what about you, how about that,
    all of it, all done, all night, oh no, oh well, uh huh, goodbye, good night robot, see you, please, please do,
    three, three times, free, feel free, four, five, for you, read it, leave it, leave me alone, please turn, please
    go, please follow me, flip it, fold it, fetch it, find it, find my keys, close it, wake up, clean up, dock,
    charge, start, start over, sleep, go to sleep, explore, scan, photo, take a photo, map the house
    """.split(",")
)
"""What is often said by itself. In talk that is cut from sentences such words have others around them, and a network
that was trained without these took one of twenty for a stop word."""
ORDERS: Final = tuple(
    " ".join(words.split())
    for words in """
    turn left ninety degrees, turn right ninety degrees, turn forty five degrees to the left, turn around, turn round,
    thirty degrees to the right, a hundred and eighty degrees, turn left thirty degrees, turn right sixty degrees,
    ten degrees, ninety degrees, forty five degrees, five degrees more, is it twenty degrees, how many degrees,
    turn around please, now turn around, turn all the way around, look around, drive around the table,
    drive forward two meters, drive back one meter, where are you, how full is your battery, is the battery full,
    how full is the battery, how full are you, how is your battery, battery level please, your battery is half full,
    how far is it, you can move again, continue, go on, go to the kitchen, come to the living room,
    take it to the sofa, set a timer for ten minutes, switch the lights off in the hall, follow me please,
    what can you see, pick up the red cup, look to the left
    """.split(",")
)
"""What a robot is told most, said by every voice: "degrees" ends like "freeze", and "how full" begins like "halt"."""
_ORDERED: Final = 4.0
"""How often an order is drawn, beside other talk."""
FRAMES: Final = ("{}", "{}!", "please {}", "no, {}", "robot {}", "{} now", "{} it", "{} there", "the {}", "{}, {}")
_KEYWORD: Final = re.compile(r"\b((stop|halt|freeze|frees|frieze)s?|a?wait\w*|hold on|cancel\w*)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Spoken:
    """Description of a clip.

    Attributes:
        kind: The word's number in ``WORDS`` and ``WAITS``, from 1; 0 where there is none.
        at: "end" or "begin": where the word stands.
        word_s: Length of the word by itself.
        weight: How often it is drawn, beside others of its voice.
    """

    text: str
    kind: int = 0
    at: str = ""
    word_s: float = 0.0
    weight: float = 1.0


def voices() -> list[str]:
    """Those of training."""
    crossed = [accent + variant for accent in _ACCENTS for variant in _VARIANTS if accent + variant not in HELD_OUT]
    random.Random(5).shuffle(crossed)
    return [*NATURAL_VOICES, *FLITE, *crossed[:_ESPEAK]]


def sentences() -> list[str]:
    """Talk without a keyword: commands of the house, prose of Python's manual, words of the dictionary at random."""
    prose = " ".join(re.sub(r"[^A-Za-z',. ]", " ", text) for text in pydoc_data.topics.topics.values())
    rng = random.Random(7)
    known = (line.split() for line in Path(general_model().dictionary).read_text(encoding="utf-8").splitlines())
    words = sorted(entry[0] for entry in known if entry[0].isalpha() and 4 <= len(entry) <= 9)
    salad = [" ".join(rng.sample(words, rng.randint(2, 6))) for _ in range(3_000)]
    cut = [" ".join(piece.split()[:14]) for piece in prose.split(".")]
    lines = {text for text in (*house_phrases(), *cut, *salad) if len(text.split()) >= 2 and not _KEYWORD.search(text)}
    return sorted(lines)


def scraps() -> list[str]:
    """One to three common words at random, without a keyword, up to two thousand times."""
    prose = " ".join((*house_phrases(), *pydoc_data.topics.topics.values(), *SHORT)).lower()
    counts = Counter(re.findall(r"\b[a-z]{2,9}\b", prose))
    known = {line.split()[0] for line in Path(general_model().dictionary).read_text(encoding="utf-8").splitlines()}
    common = sorted(word for word, count in counts.items() if count > 1 and word in known and not _KEYWORD.search(word))
    rng = random.Random(11)
    weights = [counts[word] ** 0.4 for word in common]
    return sorted({" ".join(rng.choices(common, weights, k=rng.choice((1, 2, 2, 3)))) for _ in range(2_000)})


def clips(voice: str, talk: Sequence[str]) -> Iterator[tuple[Spoken, np.ndarray[Any, Any]]]:
    """All clips of a voice."""
    rng, short = random.Random(voice), scraps()
    natural = voice in NATURAL_VOICES
    many = 3.0 if natural else 1.5 if voice in FLITE else 0.25
    for tempo in TEMPI:
        for kind, word in enumerate((*WORDS, *WAITS), start=1):
            alone = synthesised(word, voice, RATE_HZ, tempo=tempo)
            behind = BEGINNING if word in WORDS else WAITING
            forms = [(form, "end") for form in ENDING] + [(form, "begin") for form in behind]
            for form, at in forms if many > 1 else rng.sample(forms, 10):
                text = form.replace("{}", word)
                yield Spoken(text, kind, at, len(alone) / RATE_HZ), synthesised(text, voice, RATE_HZ, tempo=tempo)
        for word in ALIKE if many > 1 else rng.sample(ALIKE, 30):
            text = rng.choice(FRAMES).replace("{}", word)
            yield Spoken(text), synthesised(text, voice, RATE_HZ, tempo=tempo)
        for text in ALIKE_WAITS if many > 1 else rng.sample(ALIKE_WAITS, 30):
            yield Spoken(text), synthesised(text, voice, RATE_HZ, tempo=tempo)
        for text in ORDERS:
            yield Spoken(text, weight=_ORDERED), synthesised(text, voice, RATE_HZ, tempo=tempo)
        for text in (*rng.sample(SHORT, round(45 * many)), *rng.sample(short, round(60 * many))):
            yield Spoken(text), synthesised(text, voice, RATE_HZ, tempo=tempo)
        for text in rng.sample(talk, min(len(talk), round(100 * many))):
            yield Spoken(text), synthesised(text, voice, RATE_HZ, tempo=tempo)


def write_voice(voice: str, talk: Sequence[str], out: Path) -> list[dict[str, Any]]:
    """Writes a voice's file, and returns what is in it."""
    listed: list[dict[str, Any]] = []
    sounds: list[np.ndarray[Any, Any]] = []
    at = 0
    name = re.sub(r"\W", "-", voice)
    try:
        for spoken, sound in clips(voice, talk):
            scaled = sound * (0.5 / max(float(np.abs(sound).max()), 1e-6))
            sounds += [scaled, np.zeros(RATE_HZ // 10, np.float32)]
            where = {"file": name, "voice": voice, "start": at, "end": at + len(sound)}
            listed.append(where | asdict(spoken))
            at += len(sound) + RATE_HZ // 10
    except EdgeAgentError as error:
        print(f"{voice}: {error}", flush=True)
    _write(out / f"{name}.npy", np.concatenate(sounds))
    print(f"{voice}: {len(listed)} clips, {at / RATE_HZ / 60:.1f} minutes", flush=True)
    return listed


def write_people(file: Path, out: Path) -> list[dict[str, Any]]:
    """People's recordings, none of whom says a keyword.

    Args:
        file: What ``people.py`` writes.
    """
    listed: list[dict[str, Any]] = []
    with np.load(file) as known:
        for name, whole in sorted(known.items()):
            sound = whole[: min(len(whole) * 2 // 3, RATE_HZ * 900)].astype(np.float32)  # the rest is for measuring
            sound = sound / np.abs(sound).max() * 0.5
            _write(out / f"people-{name}.npy", sound)
            step = RATE_HZ * 4
            listed += [
                {"file": f"people-{name}", "voice": "people", "start": at, "end": at + step, **asdict(Spoken(""))}
                for at in range(0, len(sound) - step, step)
            ]
            print(f"{name}: {len(sound) / RATE_HZ / 60:.1f} minutes", flush=True)
    return listed


def _write(path: Path, sound: np.ndarray[Any, Any]) -> None:
    np.save(path, np.round(sound * 32_767).astype(np.int16))


def main() -> None:
    """Speaks all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=Path, help="recordings of people, as people.py writes them")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    talk = sentences()
    print(f"{len(talk)} sentences", flush=True)
    listed: list[dict[str, Any]] = []
    with ProcessPoolExecutor(2) as pool:
        for made in pool.map(write_voice, voices(), [talk] * len(voices()), [arguments.out] * len(voices())):
            listed += made
    if arguments.people:
        listed += write_people(arguments.people, arguments.out)
    (arguments.out / "examples.json").write_text(json.dumps(listed))


if __name__ == "__main__":
    main()
