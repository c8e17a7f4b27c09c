"""What works without the model, and what only looks like it; a yes that is clear."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeagent.english import Control, Controlled, control_of, yes_or_no

WORDINGS = {
    Control.LOUDER: "louder; Louder, please!; speak up; speak up a bit; please speak a little louder; turn it up; "
    "turn the volume up; turn up the volume a bit; volume up; a bit louder; can you speak louder; raise your voice; "
    "robot, be louder; much louder; I can't hear you; you're too quiet; increase the volume; a lot louder",
    Control.QUIETER: "quieter; be quieter please; softer; speak more quietly; turn it down; turn down the volume; "
    "volume down; you are too loud; not so loud; lower your voice; keep it down; could you talk a bit quieter; "
    "reduce the volume; that's too loud",
    Control.REPEAT: "repeat; repeat that; repeat that please; say that again; say it once more; what did you say?; "
    "sorry, what did you say; what was that; pardon; come again; I didn't catch that; can you repeat that, please?; "
    "could you repeat what you said; I didn't hear you; please repeat the last sentence",
    Control.CANCEL: "cancel; cancel that; cancel it; cancel everything; please cancel that; never mind; nevermind; "
    "forget it; forget about it; abort; scratch that; oh never mind; robot, cancel that; call it off; no, cancel that",
    Control.CONTINUE: "continue; please continue; OK continue; you can continue; you can move; you may move again; "
    "you can move now; resume; carry on; go on; keep going; all clear; rearm; re-arm; proceed; you can drive again; "
    "you're free to move; continue moving; the way is clear",
    Control.HUSH: "be quiet; quiet; silence; shut up; hush; stop talking; please be quiet; be silent; keep quiet",
    Control.MUTE: "mute; mute yourself; mute the sound; please mute; turn off your voice; sound off",
    Control.UNMUTE: "unmute; un-mute; you can talk again; you may speak; sound on; unmute yourself",
    Control.SLEEP: "go to sleep; sleep; go back to sleep; you can sleep now; stop listening; that's all; "
    "that will be all; that is all for now, thank you",
    Control.WAIT: "wait; hold on; hang on; wait a moment; just a second; one moment; one moment please; "
    "give me a second; wait wait; hold on a minute; wait, hold on",
}
EVERY = [(control, text) for control, texts in WORDINGS.items() for text in texts.split("; ")]
NONE = """
play it louder in the kitchen than the radio
louder than yesterday
is the radio louder in the kitchen
turn up at the door
turn it up the hill
turn the volume knob on the radio
don't cancel that
do not cancel that
never cancel it
cancel the timer
cancel my appointment and go to the kitchen
forget the milk
never mind the cup
did you cancel that
continue to the kitchen
continue two meters
don't continue
no continue
no you can go
no no you may move
go on to the garage
carry on board
keep going to the door
you can move the chair
you can't move
you cannot move
you can go to the kitchen
can you move
resume the film in the bedroom
repeat after me
repeat the drive to the kitchen
what did you say to anna
say that you are sorry
go to sleep in the bedroom
sleep until seven
the baby sleeps
stop
wait ten seconds
wait for me
wait in the hallway
hold on to the cup
hang on the wall
one minute later turn left
be quiet when you pass the baby
why are you so quiet
is it quiet in the office
mute the television in the bedroom
the volume of the box
volume
what is the volume
set the volume to two hundred percent
that is all you can do
not now
""".strip().split("\n")


@pytest.mark.parametrize(("control", "text"), EVERY)
def test_a_control_is_understood_in_many_wordings(control: Control, text: str) -> None:
    assert control_of(text) == Controlled(control)


@pytest.mark.parametrize("text", NONE)
def test_what_means_something_else_is_no_control(text: str) -> None:
    assert control_of(text) is None


@pytest.mark.parametrize("text", [text for _, text in EVERY])
def test_what_is_forbidden_or_goes_on_is_no_control(text: str) -> None:
    plain = text.rstrip("!?.").lower()
    for longer in (f"don't {plain}", f"never {plain}", f"{plain} in the kitchen", f"{plain} when i call you"):
        assert control_of(longer) is None, longer


@pytest.mark.parametrize(
    ("text", "percent"),
    [
        ("volume fifty percent", 50),
        ("Set the volume to 30%.", 30),
        ("set the volume to five", 50),
        ("volume ten", 100),
        ("volume eighty", 80),
        ("turn the volume down to twenty percent", 20),
        ("volume five percent", 5),
        ("please set your volume to zero", 0),
        ("volume one hundred percent", 100),
        ("full volume", 100),
        ("volume to maximum", 100),
        ("half volume", 50),
        ("volume at 7.5", 75),
    ],
)
def test_a_volume_is_set_in_percent(text: str, percent: float) -> None:
    assert control_of(text) == Controlled(Control.VOLUME, percent)


@pytest.mark.parametrize(
    "text",
    "yes; Yes.; yes please; yeah; yep; sure; of course; okay; OK, do it; go ahead; yes go ahead; do it; please do; "
    "absolutely; certainly; yes yes; that's right; yes, you may; yes that is correct; yes I'm sure; robot yes; "
    "all right; alright, go ahead; well, yes; yes thank you".split("; "),
)
def test_a_clear_yes_allows(text: str) -> None:
    assert yes_or_no(text) is True


@pytest.mark.parametrize(
    "text",
    "no; nope; no thanks; no, thank you; don't; do not do it; please don't; never; certainly not; of course not; "
    "not now; better not; yes no; yes but not there; no yes; stop; cancel; no no no; okay don't; rather not; "
    "yes wait no; why not; don't you dare; I can't allow that; no the bedroom".split("; "),
)
def test_any_no_in_it_is_a_no(text: str) -> None:
    assert yes_or_no(text) is False


@pytest.mark.parametrize(
    "text",
    "; uh-huh; mhm; right; what; what do you mean; go to the kitchen; yes go to the kitchen; maybe; I guess; "
    "yes I guess; I think so; if you want; hmm; the yes box; is that right; do it later; who said yes; okay then what; "
    "sure about that; [music]; ask me later; yesterday".split("; "),
)
def test_what_is_uncertain_is_no_yes(text: str) -> None:
    assert yes_or_no(text) is None


@pytest.mark.timeout(20)
@pytest.mark.parametrize("text", ["can you please just ", "do it please ", "wait ", "yes ", "okay please now "])
def test_a_recogniser_that_repeats_itself_keeps_nobody_waiting(text: str) -> None:
    for times in (4, 40, 400):
        control_of(text * times + "kitchen")
        yes_or_no(text * times + "kitchen")


def test_the_page_has_every_control(checkout: Path) -> None:
    page = (checkout / "docs" / "reference" / "voice-words.md").read_text(encoding="utf-8")
    table = page[page.index("| control |") :]
    assert all(f"`{control}`" in table for control in Control)


@given(st.text(max_size=60))
def test_any_text_can_be_asked_about(text: str) -> None:
    control_of(text)
    yes_or_no(text)


@given(st.sampled_from([text for _, text in EVERY]), st.sampled_from(["not", "don't", "never", "no don't"]))
def test_a_yes_needs_that_nothing_forbids(text: str, negation: str) -> None:
    assert yes_or_no(f"yes {negation} {text}") is False
    assert yes_or_no(f"yes {text}") is not True or control_of(text) is not None
