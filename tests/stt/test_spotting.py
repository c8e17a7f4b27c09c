"""The spotter's process, called in this one."""

import numpy as np

from edgeagent.stt import Levelling, Spotter, app_model
from tests.stt.speech import blocks, said


def told(folder, sound, entries):
    """Where in a sound each entry is found."""
    folder.mkdir()
    dictionary, listed = folder / "words.dict", folder / "phrases.list"
    dictionary.write_text("".join(f"{name} {phones}\n" for name, (phones, _) in entries.items()), encoding="utf-8")
    listed.write_text("".join(f"{name} /{least:g}/\n" for name, (_, least) in entries.items()), encoding="utf-8")
    decoder = {"hmm": str(app_model.general_model().acoustic), "dict": str(dictionary), "kws_delay": 3}
    found, level = [], Levelling()
    spotter = Spotter({"decoder": decoder | {"kws": str(listed)}}, found.append)
    for number, block in enumerate(blocks(sound)):
        spotter.handle("feed", {"epoch": 0, "at_s": number / 100}, level.process(block))
    return {name: [one["start_s"] for one in found if one["keyword"].strip() == name] for name in entries}


def test_an_entry_that_is_hardly_sure_of_itself_makes_no_other_so(tmp_path):
    """So those for the robot's first words may stand beside those for all that is said."""
    words = ("the shop is on top of the hill", "stop", "please stop", "what time is it now", "stop")
    sound = np.concatenate([said(text, "rms") for text in words])
    sound = sound + np.random.default_rng(0).normal(0, 0.02, len(sound)).astype(np.float32)
    strict = {
        "k0": ("SIL SIL SIL S T AA P SIL", 1e-28),
        "k1": ("P L IY Z S T AA P SIL", 1e-14),
        "k2": ("S T AA P", 1e-10),
    }
    loose = {"k3": ("SIL SIL SIL S T AA P SIL", 1e-60), "k4": ("S T AA P", 1e-50)}
    alone = told(tmp_path / "alone", sound, strict)
    both = told(tmp_path / "both", sound, {**strict, **loose})
    assert any(alone.values())
    assert len(both["k3"]) > len(both["k0"])
    assert {name: both[name] for name in strict} == alone
