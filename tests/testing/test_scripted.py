"""The scripted model is a true stand-in for the real one."""

import inspect
import threading

import pytest

from edgeagent import BusyError, LlamaLLM, Message, Usage
from edgeagent.llm import LLM, End, LLMRequest, TextDelta
from edgeagent.testing import ScriptedLLM

METHODS = ("stream", "complete", "tokenize", "count_tokens", "close")


@pytest.mark.parametrize("name", METHODS)
def test_its_methods_have_the_signatures_of_the_real_one(name):
    def parameters(owner):
        return [(p.name, p.kind, p.default) for p in inspect.signature(getattr(owner, name)).parameters.values()]

    assert parameters(ScriptedLLM) == parameters(LlamaLLM) == parameters(LLM)


def test_it_is_an_llm():
    assert isinstance(ScriptedLLM(), LLM)


@pytest.mark.parametrize(("text", "count"), [("  one two\n three ", 3), ("hello world\n", 2), (" \n", 1), ("", 0)])
def test_a_token_is_a_word_and_joined_they_are_the_text(text, count):
    llm = ScriptedLLM(text)
    events = list(llm.stream(LLMRequest(messages=[Message.user("a b")]), threading.Event()))
    deltas = [e.text for e in events if isinstance(e, TextDelta)]
    assert "".join(deltas) == text
    assert len(deltas) == llm.emitted == count
    assert events[-1] == End("stop", Usage(2, count))


def test_a_call_from_inside_its_own_stream_is_refused():
    llm = ScriptedLLM("one two", "never")
    stream = llm.stream(LLMRequest(), threading.Event())
    next(stream)
    with pytest.raises(BusyError):
        next(llm.stream(LLMRequest(), threading.Event()))
    stream.close()
    assert llm.complete(LLMRequest(), threading.Event()).text == "never"


def test_a_function_of_the_request_may_answer():
    llm = ScriptedLLM(lambda request: {"text": request.messages[-1].text.upper(), "thinking": "hm"})
    message = llm.complete(LLMRequest(messages=[Message.user("loud")]), threading.Event())
    assert (message.text, message.thinking, message.stop_reason) == ("LOUD", "hm", "stop")
