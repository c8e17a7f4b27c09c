"""How many of its sentences the fixture knows, through the product and the real faster-whisper.

    .venv/bin/python scripts/lab/train_whisper_fixture/check.py tests/stt/whisper_fixture

Ends with 1 if a sentence in the first voice is not exactly right. Says nothing about accuracy: a recogniser of 38
sentences, heard in the voices that it was trained on, shows that the way from sound to text is right.
"""

from __future__ import annotations

import sys
from pathlib import Path
from threading import Event

from speak import VOICES, sentences, speak

from edgeagent.stt import WhisperTranscriber


def main() -> int:
    """Transcribe every sentence in every voice."""
    whisper = WhisperTranscriber(Path(sys.argv[1]))
    wrong_in_first = 0
    for place, voice in enumerate(VOICES):
        wrong = []
        for text in sentences():
            whisper.begin()
            whisper.feed(speak(text, *voice)[0])
            heard = whisper.finish(Event())
            if heard.raw != text:
                wrong.append(f"{text!r} heard as {heard.raw!r}")
        print(
            f"{' '.join(map(str, voice))}: {len(sentences()) - len(wrong)} of {len(sentences())}", *wrong, sep="\n    "
        )
        wrong_in_first += len(wrong) if place == 0 else 0
    return 1 if wrong_in_first else 0


if __name__ == "__main__":
    sys.exit(main())
