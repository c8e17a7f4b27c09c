"""From an utterance's sound to what PocketSphinx decodes, as it comes: without noise, and with a mean of nothing.

PocketSphinx itself begins an utterance with the cepstral mean of those before it. Here decoding waits until some speech
is known; the mean is that of the speech so far. Pauses don't count: how silent they are says nothing about the voice.
It is known by then, too, whether there is noise or late reverberation to be taken out; a voice that has neither is left
as it is. Knows no words. One thread.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from edgeagent.audio.types import Samples
from edgeagent.stt.enhancer import SpeechEnhancer, load
from edgeagent.stt.mel import COUNT, FILTERS, STEP, Energies, Spectra, cepstra, in_mel_bands, white
from edgeagent.stt.reverberation import LateReverberation, reverberant

Cepstra = NDArray[np.float32]

KNOWN: Final = 50
"""Frames of speech that are known before decoding begins."""
MOST: Final = 200
"""Frames after which it begins anyway."""

_SPEECH_DB: Final = 20.0
_SPEECH_SHARE: Final = 2 / 3
"""Speech goes down to so far under the loudest frames; in noise to this share of the way to the quietest at most."""
_LOUDEST_SHARE: Final = 0.95
_CONTRAST_DB: Final = 15.0
"""Before the loudest frames are so far over the quietest, nobody has spoken: an utterance begins with a pause."""
_QUIETEST_SHARE: Final = 0.1
_QUIET_ROOM_DB: Final = 38.0
"""The loudest frames are so far over the quietest where nothing is taken out: in a quiet room 40 to 55, with noise at
20 dB under the voice 20 to 37. In babble at 20 dB 7 % of the words of kal's commands are wrong with it, 33 without; in
a quiet room it costs slt 4 of 18 commands that are understood."""
_MARGIN: Final = 15
"""Frames before and after the speech that belong to its mean, as in what the acoustic model learnt from."""
_PIECE: Final = 5 * STEP
"""Samples that are taken at a time until the front end has decided, however the sound comes."""
_HUSH: Final = white(-85.0)
"""Less than any room and microphone have. The acoustic model has never heard the nothing that a noise gate makes, and
its cepstra would spoil the mean: with it 28 of 57 commands of flite's people in the simulated room were right, 23
without."""


class FrontEnd:
    """Makes cepstra of one utterance after the other.

    Raises:
        RecognitionError: The network that takes noise out is missing.
    """

    def __init__(self) -> None:
        load()  # now: an utterance is no time for it
        self.begin()

    def begin(self) -> None:
        """Forget the utterance before."""
        self._sound: list[Samples] = []
        """Until it is known whether there is noise."""
        self._decided = False
        self._enhancer: SpeechEnhancer | None = None
        self._room: LateReverberation | None = None
        self._clear()
        self._cepstra = np.zeros((0, COUNT))
        self._passed = 0

    def feed(self, samples: Samples) -> Cepstra:
        """Returns the cepstra that can be decoded now; at first none."""
        while not self._decided and len(samples):
            piece, samples = samples[:_PIECE], samples[_PIECE:]
            self._sound.append(piece)
            self._take(piece)
            if self._enough():
                self._decide()
        if not self._decided:
            return np.zeros((0, COUNT), np.float32)
        self._take(samples)
        return self._pass()

    def finish(self) -> Cepstra:
        """The rest of the utterance."""
        if not self._decided:
            self._decide()
        if self._enhancer is not None:
            self._keep(self._enhancer.finish())
        return self._pass()

    def _clear(self) -> None:
        self._spectra = Spectra()
        self._levels = np.zeros(0)
        self._energies: Energies = np.zeros((0, FILTERS))
        """Whose cepstra are still to be made."""

    def _decide(self) -> None:
        """Decides whether noise and reverberation are taken out, and begins again with all of the utterance."""
        self._decided = True
        sound, self._sound = self._sound, []
        if self._contrast_db() < _QUIET_ROOM_DB:
            self._enhancer = SpeechEnhancer()
            self._clear()
            for each in sound:
                self._take(each)
        elif reverberant(self._energies):
            self._room = LateReverberation()

    def _contrast_db(self) -> float:
        """The loudest frames over the quietest."""
        if not len(self._levels):
            return 0.0
        quiet, loud = np.quantile(self._levels, (_QUIETEST_SHARE, _LOUDEST_SHARE))
        return float(loud - quiet)

    def _take(self, sound: Samples) -> None:
        if self._enhancer is not None:
            self._keep(self._enhancer.process(sound))
        else:
            self._keep(in_mel_bands(self._spectra.process(sound)))

    def _keep(self, energies: Energies) -> None:
        self._levels = np.concatenate((self._levels, 10 * np.log10(energies.sum(axis=1) + 1)))
        self._energies = np.concatenate((self._energies, energies))

    def _enough(self) -> bool:
        """True if there is enough sound for a mean."""
        if len(self._levels) < KNOWN:
            return False
        spoken = self._contrast_db() >= _CONTRAST_DB and np.count_nonzero(self._speech()) >= KNOWN
        return bool(spoken or len(self._levels) >= MOST)

    def _speech(self) -> NDArray[np.bool_]:
        """For each frame whether it is loud enough."""
        if not len(self._levels):
            return np.zeros(0, np.bool_)
        quiet, loud = np.quantile(self._levels, (_QUIETEST_SHARE, _LOUDEST_SHARE))
        return np.asarray(self._levels >= loud - min(_SPEECH_DB, _SPEECH_SHARE * (loud - quiet)))

    def _pass(self) -> Cepstra:
        energies, self._energies = self._energies, self._energies[:0]
        if not len(energies):
            return np.zeros((0, COUNT), np.float32)
        if self._room is not None:
            energies = self._room.process(energies)
        self._cepstra = np.concatenate((self._cepstra, cepstra(energies + _HUSH)))
        made = self._cepstra[self._passed :] - self._mean()
        self._passed = len(self._cepstra)
        return made.astype(np.float32)

    def _mean(self) -> NDArray[np.float64]:
        spoken = np.flatnonzero(self._speech())
        made: NDArray[np.float64] = self._cepstra[max(0, spoken[0] - _MARGIN) : spoken[-1] + 1 + _MARGIN].mean(axis=0)
        return made
