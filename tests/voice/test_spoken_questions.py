"""Approvals and questions by voice: asked aloud, answered by the next thing that is said, given up in time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from edgeagent import Agent, Options, Session, tool
from edgeagent.testing import ScriptedLLM, call
from edgeagent.views import Answer, Callbacks, Unanswered
from edgeagent.voice import VoicePerson
from tests.voice.speaking import LIMIT_S, Stage


@pytest.fixture
def stage() -> Iterator[Stage]:
    with Stage() as made:
        made.may_begin = False  # a run is at work
        yield made


class Asked:
    """A question on a thread of a run."""

    def __init__(self, stage: Stage, person: VoicePerson, ask: Callable[[], Any]) -> None:
        self._stage, self._person = stage, person
        self.results: list[Any] = []
        self._thread = threading.Thread(target=lambda: self.results.append(ask()))
        self._thread.start()
        pause = threading.Event()
        for _ in range(LIMIT_S * 1000):
            if person.waiting:
                break
            pause.wait(0.001)
        assert person.waiting

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds / 0.05)):
            self._stage.run(0.05)
            self._person.tick(self._stage.now_s)

    def result(self) -> Any:
        self._thread.join(LIMIT_S)
        assert self.results, "it still waits"
        return self.results[0]


def confirming(stage: Stage, person: VoicePerson) -> Asked:
    return Asked(stage, person, lambda: person.confirm("delete_map", {"name": "kitchen"}))


@pytest.mark.parametrize(
    ("said", "taken", "allowed"),
    [
        ("yes", True, True),
        ("yes please", True, True),
        ("no", True, False),
        ("don't do that", True, False),
        ("uh-huh", False, False),
        ("what time is it", False, False),
    ],
)
def test_only_a_clear_yes_allows(stage: Stage, said: str, taken: bool, allowed: bool) -> None:
    person = VoicePerson(stage.queue)
    asked = confirming(stage, person)
    asked.run(4)
    assert stage.voice.spoken == ["Shall I delete map the kitchen?", "Yes or no?"]
    assert person.hear(said, began_s=stage.now_s) is taken
    assert asked.result() is allowed
    assert not person.waiting
    assert not person.hear("yes", began_s=stage.now_s), "nothing is asked any more"


def test_a_written_answer_is_for_the_question_that_it_names(stage: Stage) -> None:
    person = VoicePerson(stage.queue)
    assert person.asked is None
    asked = confirming(stage, person)
    assert person.asked is not None
    number, text, yes_or_no = person.asked
    assert (text, yes_or_no) == ("Shall I delete map the kitchen? Yes or no?", True)
    assert not person.answer(number + 1, "yes")
    assert not person.answer(number, "perhaps"), "it stays open"
    assert person.answer(number, "yes"), "also before it was said to its end"
    assert asked.result() is True
    assert person.asked is None
    assert not person.answer(number, "yes")


def test_an_answer_into_the_question_counts_and_ends_it(stage: Stage) -> None:
    person = VoicePerson(stage.queue)
    asked = confirming(stage, person)
    asked.run(0.8)
    assert person.hear("yes", began_s=stage.now_s)
    assert asked.result() is True
    stage.run(0.2)
    assert not stage.is_loud(1)


def test_what_is_said_before_the_question_is_no_answer_to_it(stage: Stage) -> None:
    person = VoicePerson(stage.queue)
    stage.queue.hold()
    asked = confirming(stage, person)
    asked.run(0.5)
    assert not person.hear("yes", began_s=stage.now_s), "the person was speaking already"
    assert person.waiting
    began_s = stage.now_s
    stage.queue.resume()
    asked.run(3)
    assert not person.hear("yes sure", began_s=began_s), "and went on until after it"
    assert person.waiting
    assert person.hear("no", began_s=stage.now_s)
    assert asked.result() is False


def test_without_an_answer_in_time_it_is_declined(stage: Stage) -> None:
    person = VoicePerson(stage.queue, answer_s=5)
    asked = confirming(stage, person)
    while stage.queue.last_sound_s < 0 or stage.queue.is_sounding(stage.now_s):
        asked.run(0.1)
    asked.run(4.5)
    assert person.waiting
    asked.run(1)
    assert asked.result() is False


def test_the_end_of_the_run_ends_its_question(stage: Stage) -> None:
    person = VoicePerson(stage.queue)
    asked = confirming(stage, person)
    asked.run(0.5)
    person.give_up()
    assert asked.result() is False
    assert not person.waiting
    stage.run(0.2)
    assert not stage.is_loud(1), "it is not asked to the end"


def test_several_questions_are_asked_one_after_the_other(stage: Stage) -> None:
    person = VoicePerson(stage.queue)
    answer = Answer()
    asked = Asked(stage, person, lambda: person.question(["Which room?", "Which lamp?"], answer))
    asked.run(2)
    assert person.hear("the kitchen", began_s=stage.now_s)
    pause = threading.Event()
    for _ in range(LIMIT_S * 1000):
        if person.waiting:
            break
        pause.wait(0.001)
    asked.run(2)
    assert person.hear("the big one", began_s=stage.now_s)
    asked.result()
    assert answer.get(timeout=LIMIT_S) == "the kitchen\nthe big one"
    assert stage.voice.spoken == ["Which room?", "Which lamp?"]


def test_a_question_without_an_answer_is_told_as_such(stage: Stage) -> None:
    person = VoicePerson(stage.queue, answer_s=1)
    answer = Answer()
    asked = Asked(stage, person, lambda: person.question(["Which room?"], answer))
    asked.run(5)
    asked.result()
    assert isinstance(answer.get_nowait(), Unanswered)
    assert answer.empty()


def test_in_a_run_a_yes_runs_the_tool_and_an_abort_ends_the_question(stage: Stage) -> None:
    deleted: list[str] = []

    @tool(destructive=True)
    def delete_map(name: str) -> str:
        """Deletes a map."""
        deleted.append(name)
        return "deleted"

    @tool(question=True)
    def ask_room(question: str) -> str:
        """Asks for a room."""
        return ""

    person = VoicePerson(stage.queue)
    llm = ScriptedLLM(
        [call("delete_map", name="kitchen")],
        "Done.",
        [call("ask_room", question="Which room?")],
        "The bedroom.",
        [call("delete_map", name="hall")],
    )
    agent = Agent("robi", llm=llm, tools=[delete_map, ask_room], options=Options(confirm=person.confirm))
    with Session(agent) as session:
        session.callbacks = Callbacks(on_question=person.question)
        session.subscribe(person)
        for text, said in (("delete the kitchen", "yes"), ("which?", "the bedroom")):
            handle = session.start(text)
            _wait_for(lambda: person.waiting)
            for _ in range(60):
                stage.run(0.05)
                person.tick(stage.now_s)
            assert person.hear(said, began_s=stage.now_s)
            result = handle.result(LIMIT_S)
        assert deleted == ["kitchen"]
        assert result.tool_calls[0].result is not None
        assert "the bedroom" in result.tool_calls[0].result.text
        handle = session.start("delete the hall")
        _wait_for(lambda: person.waiting)
        handle.abort("barge_in")
        assert handle.result(LIMIT_S).reason == "aborted"
        assert not person.waiting
        assert deleted == ["kitchen"]


def _wait_for(is_true: Callable[[], bool]) -> None:
    pause = threading.Event()
    for _ in range(LIMIT_S * 1000):
        if is_true():
            return
        pause.wait(0.001)
    raise TimeoutError
