"""What people and synthetic voices say, as one file: recordings of Debian's packages, kal and espeak-ng.

    .venv/bin/python scripts/train_enhancer/voices.py --packages runs/enhancer/packages --out runs/enhancer/voices.npz

Runs in the product's environment. The voices that the benchmarks measure with (slt, rms, awb) are not among them.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Final

import av
import numpy as np

HERE: Final = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))

from edgeagent.app.phrases import house_phrases  # noqa: E402
from edgeagent.testing import synthesised  # noqa: E402

RATE_HZ: Final = 16_000
LEAST_S: Final = 0.25
RECORDINGS: Final = {
    "asterisk": ("asterisk/sounds", "*.g722"),
    "tuxpaint": ("tuxpaint/stamps", "*_desc*.ogg"),
    "ktuberling": ("ktuberling/sounds", "*.wav"),
}
"""Folder and files of a package. The first has a speaker in each of its own folders, and prompts in five languages."""
ACCENTS: Final = ("en-us", "en-gb", "en-gb-scotland", "en-029", "en-gb-x-rp")
VARIANTS: Final = ("m1", "m3", "m5", "m7", "f1", "f2", "f4", "f5", "croak", "klatt2", "klatt4")
OTHERS: Final = ("de", "fr", "es", "it", "pl", "fi", "tr", "sv", "nl", "pt", "cs", "hu")
SAID: Final = {"kal": 500, "espeak": 1_000, "others": 300}
"""Sentences."""
LICENCES: Final = ("GPL-3", "MPL-2.0", "Apache-2.0", "Artistic")
"""Texts that lie on every Debian."""

Clip = np.ndarray[Any, Any]
"""16-bit samples at 16 kHz."""


def recordings(packages: Path) -> Iterator[tuple[str, list[Clip]]]:
    """A name and clips of each speaker, or of each package of many speakers."""
    for name, (folder, pattern) in RECORDINGS.items():
        root = packages / "usr/share" / folder
        files: dict[str, list[Path]] = {}
        for file in sorted(root.rglob(pattern)):
            speaker = file.relative_to(root).parts[0] if name == "asterisk" else ""
            if "silence" not in file.parts:
                files.setdefault(f"{name}-{speaker}" if speaker else name, []).append(file)
        for speaker, its in files.items():
            with ThreadPoolExecutor(2) as pool:
                yield speaker, list(pool.map(decoded, its))


def decoded(file: Path) -> Clip:
    """The sound of a file."""
    resampler = av.AudioResampler(format="s16", layout="mono", rate=RATE_HZ)
    with av.open(str(file)) as container:
        frames = [part for frame in container.decode(audio=0) for part in resampler.resample(frame)]
        frames += resampler.resample(None)
    return np.concatenate([frame.to_ndarray()[0] for frame in frames]) if frames else np.zeros(0, np.int16)


def sentences(random: np.random.Generator) -> list[str]:
    """Commands, and pieces of licences."""
    lines = list(house_phrases())
    for licence in LICENCES:
        words = re.sub(r"[^A-Za-z' ]", " ", Path("/usr/share/common-licenses", licence).read_text()).lower().split()
        while words:
            count = int(random.integers(3, 11))
            lines.append(" ".join(words[:count]))
            words = words[count:]
    return lines


def spoken(random: np.random.Generator) -> Iterator[tuple[str, list[Clip]]]:
    """A name and clips of each kind of synthetic voice."""
    lines = sentences(random)
    voices = {
        "kal": ["kal"],
        "espeak": [f"{accent}+{variant}" for accent in ACCENTS for variant in VARIANTS],
        "others": OTHERS,
    }
    for kind, count in SAID.items():
        said = [(str(random.choice(lines)), str(random.choice(voices[kind]))) for _ in range(count)]
        with ThreadPoolExecutor(2) as pool:
            yield kind, list(pool.map(lambda one: synthetic(*one), said))


def synthetic(text: str, voice: str) -> Clip:
    """That text by one of the product's voices."""
    return (np.clip(synthesised(text, voice, RATE_HZ), -1, 1) * 32_767).astype(np.int16)


def main() -> None:
    """Write all of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    made: dict[str, Clip] = {}
    for each in (partial(recordings, given.packages), partial(spoken, np.random.default_rng(1))):
        for name, clips in each():
            long = [clip for clip in clips if len(clip) >= LEAST_S * RATE_HZ and np.abs(clip.astype(int)).max() > 1_000]
            made[f"{name}/sound"] = np.concatenate(long)
            made[f"{name}/ends"] = np.cumsum([len(clip) for clip in long])
            print(f"{name}: {len(long)} clips, {sum(map(len, long)) / RATE_HZ / 60:.0f} minutes", flush=True)
    np.savez(given.out, **made)


if __name__ == "__main__":
    main()
