"""What people say, as one file: recordings of Debian's packages, in five languages.

    .venv/bin/python scripts/lab/train_keywords/people.py --packages runs/packages --out runs/recordings.npz

Runs in the product's environment.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import av
import numpy as np

RATE_HZ: Final = 16_000
LEAST_S: Final = 0.25
RECORDINGS: Final = {
    "asterisk": ("asterisk/sounds", "*.g722"),
    "tuxpaint": ("tuxpaint/stamps", "*_desc*.ogg"),
    "ktuberling": ("ktuberling/sounds", "*.wav"),
}
"""Folder and files of a package. The first has a speaker in each of its own folders, and prompts in five languages."""
_WAITS: Final = ("wait", "hold")
"""In the names of files in which a person says one of ``speak.WAITS``."""
Clip = np.ndarray[Any, Any]
"""16-bit samples at 16 kHz."""


def recordings(packages: Path) -> Iterator[tuple[str, list[Clip]]]:
    """A name and clips of each speaker, or of each package of many speakers."""
    for name, (folder, pattern) in RECORDINGS.items():
        root = packages / "usr/share" / folder
        files: dict[str, list[Path]] = {}
        for file in sorted(root.rglob(pattern)):
            speaker = file.relative_to(root).parts[0] if name == "asterisk" else ""
            if "silence" not in file.parts and not any(word in file.name for word in _WAITS):
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


def main() -> None:
    """Write all of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    made: dict[str, Clip] = {}
    for name, clips in recordings(given.packages):
        long = [clip for clip in clips if len(clip) >= LEAST_S * RATE_HZ and np.abs(clip.astype(int)).max() > 1_000]
        if not long:
            continue
        made[name] = np.concatenate(long)
        print(f"{name}: {len(long)} clips, {len(made[name]) / RATE_HZ / 60:.0f} minutes", flush=True)
    np.savez(given.out, **made)


if __name__ == "__main__":
    main()
