"""Words that the dictionary lacks sound as espeak-ng says them."""

# ruff: noqa: RUF001 - IPA has signs that look like letters

from threading import Event, Thread
from threading import enumerate as enumerate_threads

import pytest

from edgeagent.errors import ConfigError
from edgeagent.stt import PHONES, app_model, phones_of_ipa, pronunciations
from edgeagent.tts import EspeakSpeaker


def test_names_sound_as_people_say_them() -> None:
    found = pronunciations(["lidar", "robi", "turtlebot", "xylophonist"])
    assert found["lidar"] == ["L AY D AA R"]
    assert "R OW B IY" in found["robi"]
    assert found["turtlebot"] == ["T ER T AH L B AA T"]


def test_stress_and_foreign_signs_make_no_sound() -> None:
    assert phones_of_ipa("ˈtʃɜːtʃ") == "CH ER CH".split()
    assert phones_of_ipa("ʔ|ǃ") == []


def test_only_phones_of_the_acoustic_model_come_out() -> None:
    words = sorted(app_model.known_words())[::400]
    found = pronunciations([word for word in words if word.isalpha()])
    assert {phone for said in found.values() for one in said for phone in one.split()} <= PHONES


def test_espeak_agrees_with_the_dictionary_on_most_phones() -> None:
    known = app_model.known_words()
    words = [word for word in sorted(known)[::400] if word.isalpha()]
    found = pronunciations(words)
    same = sum(len(set(found[word][0].split()) & set(known[word][0].split())) for word in words)
    assert same > 0.8 * sum(len(set(known[word][0].split())) for word in words)


def test_the_builders_pronunciation_goes_first() -> None:
    words, lacking = app_model.pronounced(["robi", "kitchen", "lidar"], {"robi": "R AA B IY"})
    assert words["robi"] == ("R AA B IY",)
    assert lacking == ("lidar",)


@pytest.mark.parametrize("key", ["Robi", "ROBI", " robi "])
def test_the_builders_pronunciation_may_be_written_in_any_case(key: str) -> None:
    words, lacking = app_model.pronounced(["robi"], {key: "r aa  b iy"})
    assert words["robi"] == ("R AA B IY",)
    assert not lacking


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"robi": "R XX"}, "'robi'.*no phone XX"),
        ({"robi": ""}, "'robi' has no sound"),
        ({"robi": " "}, "'robi' has no sound"),
        ({"hey robi": "HH EY R OW"}, "'hey robi' is not one word"),
        ({"r2d2": "AA R"}, "'r2d2' is not one word"),
        ({"": "AA R"}, "'' is not one word"),
        ({"\u2605": "AA R"}, "nobody can say it"),
    ],
)
def test_a_pronunciation_that_would_go_unheard_is_refused_with_its_word(said: dict[str, str], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        app_model.pronounced(["robi"], said)


def test_whoever_spoke_before_changes_nothing() -> None:
    words = ["lidar", "robi", "turtlebot"]
    before = pronunciations(words)
    for voice in ("de", "bg", "ar", "en-gb"):
        speech = EspeakSpeaker(voice).speak("Guten Tag, wie geht es dir. Und noch mehr davon.", Event())
        assert pronunciations(words) == before, f"{voice} was chosen"
        next(speech)
        speech.close()  # in the middle
        for thread in enumerate_threads():
            if thread.name == "espeak":
                thread.join(10)
        assert pronunciations(words) == before, f"{voice} was stopped"


def test_words_sound_alike_while_somebody_speaks() -> None:
    words = ["lidar", "robi"]
    before, found = pronunciations(words), []
    threads = [Thread(target=lambda: found.append(pronunciations(words))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in EspeakSpeaker("de").speak("Guten Tag, wie geht es dir", Event()):
        pass
    for thread in threads:
        thread.join(10)
    assert found == [before] * 4


def test_signs_that_espeak_crashes_on_are_left_out() -> None:
    assert pronunciations(["a,-do", "x-\u0926"])["a,-do"]
