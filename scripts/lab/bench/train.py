"""``scripts/bench train``: what `edgeagent train` makes of nano, on two apps whose tools no generator of ours knows.

For each app nano learns its phrases, for 15 minutes unless told otherwise, and is asked others that were written by
hand before. Then the new model is asked the house robot's sentences, to see what it has forgotten. Needs the extra
`train`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parents[2]
APPS: Final = ("warehouse", "garden")
EVALUATE: Final = ROOT / "scripts" / "lab" / "train_nano" / "evaluate.py"


def trained(name: str, out: Path, options: list[str]) -> float:
    """Trains for one app; returns the seconds that it took.

    Raises:
        subprocess.CalledProcessError: It failed, and has told why.
    """
    apps = HERE / "train_apps"
    command = [sys.executable, "-m", "edgeagent", "train", "--app", str(apps / f"{name}.py"), "--force"]
    command += ["--phrases", str(apps / f"{name}.txt"), "--held-out", str(apps / f"{name}_held_out.txt")]
    begun = time.monotonic()
    subprocess.run([*command, "--out", str(out), *options], check=True)
    return time.monotonic() - begun


def remembered(model: str) -> None:
    """Asks a model the sentences of the house robot."""
    print(f"\nthe house robot's sentences, asked of {model}", flush=True)
    subprocess.run([sys.executable, str(EVALUATE), "--no-frames", "--model", model], check=True)


def main() -> None:
    """Measures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--app", choices=APPS, action="append", help="only this one")
    parser.add_argument("--minutes", type=float, default=15.0, help="time for each training")
    parser.add_argument("--steps", type=int, help="steps of each training, instead")
    parser.add_argument("--dir", type=Path, default=ROOT / "runs" / "train", help="where the models go")
    args = parser.parse_args()
    args.dir.mkdir(parents=True, exist_ok=True)
    budget = ["--minutes", str(args.minutes)] if args.steps is None else ["--steps", str(args.steps)]
    for name in args.app or APPS:
        out = args.dir / f"{name}-nano.gguf"
        print(f"\n{name}", flush=True)
        seconds = trained(name, out, budget)
        load = os.getloadavg()[0]
        print(f"{seconds / 60:.1f} minutes with both scores, load {load:.1f} on {os.cpu_count()} cores", flush=True)
        remembered(str(out))
    remembered("nano")


if __name__ == "__main__":
    main()
