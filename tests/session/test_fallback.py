"""Several models in order: the next one takes over when one can't answer, before anything was said, and it stays."""

import threading

import pytest

from edgeagent import Agent, ConfigError, LlamaLLM, ModelError, Options, Session
from edgeagent.llm import End, Error, TextDelta, TextEnd
from edgeagent.session import fallback
from edgeagent.testing import ScriptedLLM

from .kit import LIMIT_S, exchange, first, notices, texts


class Broken(ScriptedLLM):
    """Raises when it is asked."""

    def __init__(self, error, name="broken"):
        super().__init__(name=name)
        self.error = error
        self.asked = 0

    def stream(self, request, stop_event):
        self.asked += 1
        raise self.error
        yield


class Streaming(ScriptedLLM):
    """Streams these events."""

    def __init__(self, *events, name="streaming"):
        super().__init__(name=name)
        self.events = events

    def stream(self, request, stop_event):
        for event in self.events:
            if isinstance(event, BaseException):
                raise event
            yield event


class Silent(ScriptedLLM):
    """Says nothing until it is stopped; ``chunks`` are its signs of life, if it gives any."""

    def __init__(self, name="silent"):
        super().__init__(name=name)
        self.began = threading.Event()

    def stream(self, request, stop_event):
        self.began.set()
        assert stop_event.wait(LIMIT_S)
        yield End("aborted")


def session_of(llm, *fallback_models, **keywords):
    return Session(Agent("a", llm=llm), fallback_models=fallback_models, **keywords)


def run(session, task="go"):
    handle = session.start(task)
    return handle.result(LIMIT_S), notices(handle)


# --- when a model is given up ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "llm",
    [
        Broken(ModelError("it does not load")),
        Broken(ModelError("5000 tokens do not fit into 4096")),
        Broken(ConnectionError("unreachable")),
        Streaming(Error("overloaded"), name="broken"),
    ],
    ids=["not loaded", "too long", "unreachable", "overloaded"],
)
def test_a_model_that_cannot_answer_gives_way_to_the_next_and_people_are_told(llm):
    result, told = run(session_of(llm, ScriptedLLM("B", name="spare")))
    assert (result.reply, result.reason) == ("B", "completed")
    assert len(told) == 1
    assert "broken cannot answer" in told[0]
    assert "spare takes over" in told[0]


def test_a_model_that_is_silent_too_long_gives_way():
    session = session_of(Silent(), ScriptedLLM("B"), options=Options(llm_timeout_s=0.1))
    result, told = run(session)
    assert result.reply == "B"
    assert "no sign of life for 0.1 s" in told[0]


def test_a_first_word_that_comes_too_late_is_no_reply():
    class Late(Silent):
        def stream(self, request, stop_event):
            assert stop_event.wait(LIMIT_S)
            yield TextDelta("late ")
            yield End("aborted")

    result, told = run(session_of(Late(), ScriptedLLM("B"), options=Options(llm_timeout_s=0.05)))
    assert (result.reason, result.reply) == ("completed", "B")
    assert len(told) == 1


def test_any_iterator_is_a_stream():
    class Plain(ScriptedLLM):
        def stream(self, request, stop_event):
            return iter([TextDelta("A"), TextEnd("A"), End("stop")])

    result, told = run(session_of(Plain(), ScriptedLLM("B")))
    assert (result.reply, told) == ("A", [])


def test_a_model_that_tells_of_no_chunks_has_ten_seconds(monkeypatch):
    assert fallback._SILENT_S == 10
    monkeypatch.setattr(fallback, "_SILENT_S", 0.1)
    assert run(session_of(Silent(), ScriptedLLM("B")))[0].reply == "B"


def test_a_local_model_is_alive_as_long_as_it_finishes_chunks(monkeypatch):
    assert fallback._STUCK_S == 30
    monkeypatch.setattr(fallback, "_STUCK_S", 0.1)

    class Reading(ScriptedLLM):
        chunks_done = 0

        def stream(self, request, stop_event):
            for _ in range(8):
                assert not stop_event.wait(0.05)
                self.chunks_done += 1
            yield from super().stream(request, stop_event)

    result, told = run(session_of(Reading("A"), ScriptedLLM("B")))
    assert (result.reply, told) == ("A", [])

    class Stuck(Silent):
        chunks_done = 7

    assert run(session_of(Stuck(), ScriptedLLM("B")))[0].reply == "B"


def test_a_slow_reply_is_no_stuck_one():
    slow = ScriptedLLM("one two three four", token_delay_s=0.06)
    result, told = run(session_of(slow, ScriptedLLM("B"), options=Options(llm_timeout_s=0.15)))
    assert (result.reply, told) == ("one two three four", [])


# --- when it is not -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [ModelError("broke"), OSError("broke")])
def test_once_something_was_said_no_other_model_takes_over(error):
    spare = ScriptedLLM("B")
    session = session_of(Streaming(TextDelta("I am "), error), spare)
    with pytest.raises(type(error), match="broke"):
        session.step("go")
    assert spare.requests == []
    assert texts(session.messages()) == ["go", "I am "]


def test_an_error_event_after_something_was_said_is_the_end():
    spare = ScriptedLLM("B")
    result, told = run(session_of(Streaming(TextDelta("I am "), Error("broke")), spare))
    assert (result.reason, result.error, told) == ("error", "broke", [])
    assert spare.requests == []


def test_an_exception_of_another_kind_is_the_callers():
    with pytest.raises(ZeroDivisionError):
        session_of(Broken(ZeroDivisionError("bug")), ScriptedLLM("B")).step("go")


def test_an_abort_while_the_model_is_silent_is_an_abort():
    silent, spare = Silent(), ScriptedLLM("B")
    session = session_of(silent, spare, options=Options(llm_timeout_s=LIMIT_S))
    handle = session.start("go")
    assert silent.began.wait(LIMIT_S)
    session.abort()
    result = handle.result(5)
    assert result.reason == "aborted"
    assert notices(handle) == []
    assert session.model == "silent"


# --- the last one ---------------------------------------------------------------------------------------------------


def test_the_last_models_error_is_the_answer():
    session = session_of(Broken(ModelError("first")), Broken(ModelError("second")), Broken(ModelError("last")))
    with pytest.raises(ModelError, match=r"^last$"):
        session.step("go")


def test_the_last_models_error_event_is_the_answer():
    result, told = run(session_of(Broken(ModelError("first")), Streaming(Error("overloaded"))))
    assert (result.reason, result.error) == ("error", "overloaded")
    assert len(told) == 1


def test_a_last_model_that_is_silent_is_an_error_that_says_so():
    session = session_of(Silent(name="a"), Silent(name="b"), options=Options(llm_timeout_s=0.05))
    with pytest.raises(ModelError, match=r"b: it gave no sign of life for 0\.05 s; there is no further model"):
        session.step("go")


# --- the switch stays -----------------------------------------------------------------------------------------------


def test_the_switch_sticks():
    broken, spare = Broken(ModelError("no")), ScriptedLLM("B", "C", name="spare")
    session = session_of(broken, spare)
    assert session.model == "broken"
    run(session)
    result, told = run(session)
    assert (result.reply, told) == ("C", [])
    assert broken.asked == 1
    assert session.model == "spare"
    assert [m.text for m in spare.requests[1].messages] == ["go", "B", "go"]


def test_a_model_that_was_set_is_asked_first_again():
    session = session_of(Broken(ModelError("no")), ScriptedLLM("B", "D", name="spare"))
    run(session)
    session.set_model(Broken(ModelError("neither"), name="other"))
    assert session.model == "other"
    result, told = run(session)
    assert result.reply == "D"
    assert "other cannot answer (neither); spare takes over" in told[0]


def test_two_sessions_of_one_agent_have_their_own_models():
    agent = Agent("a", llm=Broken(ModelError("no")))
    first_one = Session(agent, fallback_models=[ScriptedLLM("A", "C", name="one")])
    second = Session(agent, fallback_models=[ScriptedLLM("B", "D", name="two")])
    for session, reply in ((first_one, "A"), (second, "B"), (first_one, "C"), (second, "D")):
        assert run(session)[0].reply == reply


def test_a_closed_session_gives_the_agent_its_model_back():
    broken = Broken(ModelError("no"))
    agent = Agent("a", llm=broken)
    with Session(agent, fallback_models=[ScriptedLLM("A")]) as session:
        session.step("go")
    assert agent.llm is broken


# --- names ----------------------------------------------------------------------------------------------------------


def test_a_name_is_resolved_when_it_is_reached_and_once():
    resolved = []

    def resolve(name):
        resolved.append(name)
        return ScriptedLLM("B", "C", name=name)

    session = session_of(ScriptedLLM("A"), "small", "tiny", resolve_model=resolve)
    session.step("one")
    assert resolved == []
    session.set_model(Broken(ModelError("no")))
    session.step("two")
    session.step("three")
    assert resolved == ["small"]
    assert session.model == "small"


def test_an_async_resolve_model_is_refused():
    async def late(name):
        raise AssertionError

    with pytest.raises(ConfigError, match=r"Session\(resolve_model=\.\.\.\): it is async"):
        session_of(ScriptedLLM("A"), resolve_model=late)


def test_without_resolve_model_a_name_is_an_error_only_when_it_is_reached():
    session = session_of(ScriptedLLM("A"), "small")
    assert session.step("one").reply == "A"
    session.set_model(Broken(ModelError("no")))
    with pytest.raises(ConfigError, match="'small': resolve_model is needed"):
        session.step("two")


def test_a_name_that_cannot_be_resolved_is_passed_over():
    def resolve(name):
        raise ModelError(f"there is no {name}")

    result, told = run(session_of(Broken(ModelError("no")), "x", ScriptedLLM("B"), resolve_model=resolve))
    assert result.reply == "B"
    assert "x cannot answer (there is no x)" in told[1]


def test_an_agent_without_a_model_has_the_first_of_them():
    session = session_of(None, ScriptedLLM("A", name="first"))
    assert session.step("go").reply == "A"
    assert session.model == "first"


# --- real models ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [None, b"", b"GGUF" + bytes(100), b"no model at all"])
def test_a_file_that_is_missing_or_damaged_gives_way_to_the_model_that_is_shipped(nano, tmp_path, content):
    path = tmp_path / "model.gguf"
    if content is not None:
        path.write_bytes(content)

    def resolve(name):
        return nano if name == "nano" else LlamaLLM(name)

    session = session_of(None, str(path), "nano", resolve_model=resolve, options=Options(max_tokens=8))
    handle = session.start("hello")
    assert handle.result(LIMIT_S).reason == "completed"
    assert session.model == "nano"
    assert "nano takes over" in notices(handle)[0] if notices(handle) else session.model == "nano"


def test_a_prompt_that_does_not_fit_the_small_model_is_answered_by_the_large_one(nano):
    small = LlamaLLM("nano", context_window=512)
    try:
        session = session_of(small, nano, options=Options(max_tokens=8))
        handle = session.start("word " * 700)
        assert handle.result(LIMIT_S).reason in ("completed", "budget")
        assert "does not fit" in first(handle, "notice").text
        session.step("hello")
    finally:
        small.close()


def test_weights_that_are_gone_when_they_should_load_give_way(nano, tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes(nano.path.read_bytes())
    gone = LlamaLLM(path)
    path.unlink()
    session = session_of(gone, nano, options=Options(max_tokens=8))
    handle = session.start("hello")
    assert handle.result(LIMIT_S).reason == "completed"
    assert session.model == "nano"
    assert len(notices(handle)) == 1


def test_a_model_with_a_smaller_window_gets_a_request_that_fits_it(nano, tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes(nano.path.read_bytes())
    gone = LlamaLLM(path)
    path.unlink()
    small = LlamaLLM("nano", context_window=512)
    try:
        session = session_of(gone, small, options=Options(max_tokens=16))
        session.restore([m for i in range(20) for m in exchange(f"task {i} " + "word " * 20, "done " * 20)])
        handle = session.start("hello")
        assert handle.result(LIMIT_S).reason in ("completed", "budget")
        assert len(notices(handle)) >= 1
        assert session.messages()[-2].text == "hello"
        assert session.step("again").reason in ("completed", "budget")
    finally:
        small.close()


def test_a_prompt_over_the_window_of_any_model_is_answered_by_one_with_room():
    small, large = ScriptedLLM("never", context_window=400, name="small"), ScriptedLLM("yes", name="large")
    with session_of(small, large) as session:
        assert session.step("word " * 200).reply == "yes"
        assert session.model == "large"
    assert small.requests == []


@pytest.mark.parametrize("resolve", [{}.__getitem__, lambda name: None])
def test_a_name_of_which_no_model_can_be_made_is_passed_over(resolve):
    models = [Broken(ModelError("gone")), "unknown", ScriptedLLM("here I am", name="third")]
    agent = Agent("a", llm=models[0])
    with Session(agent, fallback_models=models[1:], resolve_model=resolve) as session:
        assert session.step("hello").reply == "here I am"
        assert session.model == "third"


def test_the_models_of_one_session_are_not_anothers():
    agent = Agent("a", llm=Broken(ModelError("no model here")))
    with (
        Session(agent, fallback_models=[ScriptedLLM("good")]),
        Session(agent) as other,
        pytest.raises(ModelError, match="no model here"),
    ):
        other.step("hello")
