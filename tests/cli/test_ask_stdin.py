"""``edgeagent ask --stdin``: a line in, a line out, in order, whatever the line is."""

import json
import signal
import subprocess

ECHO = "agent = Agent('toy', llm=ScriptedLLM(*[lambda r: ' '.join(m.text for m in r.messages) + '\\n.'] * 100))"


def objects(done: "subprocess.CompletedProcess[str]") -> list[dict[str, object]]:
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_every_line_is_a_session_of_its_own(edgeagent) -> None:
    done = edgeagent("ask", "--stdin", "--json", "--app", edgeagent.app(ECHO), stdin=b"one\ntwo\r\nthree")
    assert [(one["text"], one["reply"]) for one in objects(done)] == [
        ("one", "one\n."),
        ("two", "two\n."),
        ("three", "three\n."),
    ]
    assert done.stderr == ""


def test_without_json_a_reply_is_a_line(edgeagent) -> None:
    done = edgeagent("ask", "--stdin", "--app", edgeagent.app(ECHO), stdin=b"one\n\ntwo\n")
    assert done.stdout == "one .\n\ntwo .\n"


def test_every_line_is_a_flat_of_its_own(edgeagent) -> None:
    lines = b'drive {"distance_m": 1.5}\nget_location\n' * 2
    done = edgeagent("ask", "--stdin", "--json", "--speed", "1000", stdin=lines, house=True)
    first, where, again, there = objects(done)
    assert first["reply"] == again["reply"] == "drove forward 1.5 m."
    assert where["reply"] == there["reply"]


def test_the_model_is_made_once(edgeagent) -> None:
    app = edgeagent.app("def build(llm):\n    return Agent('toy', llm=llm)\nprint = None\n")
    done = edgeagent("ask", "--stdin", "--app", app, stdin=b"a\nb\nc\n", house=True)
    assert done.stdout == "heard a\nheard b\nheard c\n"


def test_a_line_with_nothing_asks_nobody(edgeagent) -> None:
    app = edgeagent.app("agent = Agent('toy', llm=ScriptedLLM())")
    done = edgeagent("ask", "--stdin", "--json", "--app", app, stdin=b"\n  \t\n\x00\x1b\n")
    answers = objects(done)
    assert [one["text"] for one in answers] == ["", "  \t", "\x00\x1b"]
    for one in answers:
        assert (one["reply"], one["calls"], one["reason"]) == ("", [], "completed")
        assert one["timings"] == {"first_token_s": None, "total_s": 0.0}


def test_no_line_is_no_answer(edgeagent) -> None:
    done = edgeagent("ask", "--stdin", "--json", "--app", edgeagent.app(ECHO))
    assert (done.returncode, done.stdout) == (0, "")


def test_a_line_that_fails_is_answered_and_the_rest_goes_on(edgeagent) -> None:
    app = edgeagent.app("""
def answer(request):
    if "bad" in request.messages[-1].text:
        raise ModelError("too long")
    return "fine"
agent = Agent("toy", llm=ScriptedLLM(*[answer] * 9))
""")
    done = edgeagent("ask", "--stdin", "--json", "--app", app, stdin=b"a\nbad\nb\n")
    answers = objects(done)
    assert [one["reason"] for one in answers] == ["completed", "error", "completed"]
    assert (answers[1]["error"], answers[1]["reply"]) == ("too long", "")
    plain = edgeagent("ask", "--stdin", "--app", app, stdin=b"a\nbad\nb\n")
    assert (plain.returncode, plain.stdout, plain.stderr) == (0, "fine\n\nfine\n", "error: line 2: too long\n")


def test_bytes_that_are_no_text_are_replaced(edgeagent) -> None:
    done = edgeagent("ask", "--stdin", "--json", "--app", edgeagent.app(ECHO), stdin=b"a\xff\x00b\x1b[1m\n\xc3\n")
    first, second = objects(done)
    assert (first["text"], first["reply"]) == ("a�\x00b\x1b[1m", "a�b\n.")
    assert second["text"] == "�"


def test_binary_data_gives_as_many_objects_as_lines(edgeagent) -> None:
    data = bytes(range(256)) * 40
    done = edgeagent("ask", "--stdin", "--json", "--app", edgeagent.app(ECHO), stdin=data)
    assert len(objects(done)) == data.count(b"\n") + 1


def test_a_very_long_line_is_cut_and_the_next_one_is_whole(edgeagent) -> None:
    app = edgeagent.app("agent = Agent('toy', llm=ScriptedLLM(*[lambda r: str(len(r.messages[-1].text))] * 3))")
    done = edgeagent("ask", "--stdin", "--app", app, stdin=b"x" * 100_000 + b"\n" + b"y" * (3 << 20) + b"\nzz\n")
    assert done.stdout == f"100000\n{1 << 20}\n2\n"


def test_answers_come_at_once(edgeagent) -> None:
    with edgeagent.start("ask", "--stdin", "--app", edgeagent.app(ECHO)) as process:
        for word in (b"one", b"two"):
            process.stdin.write(word + b"\n")
            process.stdin.flush()
            assert process.stdout.readline() == word + b" .\n"
        process.stdin.close()
        assert process.wait(timeout=30) == 0
        assert process.stderr.read() == b""


def test_a_reader_that_has_enough_is_no_error(edgeagent) -> None:
    with edgeagent.start("ask", "--stdin", "--app", edgeagent.app(ECHO)) as process:
        process.stdin.write(b"one\n")
        process.stdin.flush()
        process.stdout.readline()
        process.stdout.close()
        process.stdin.write(b"two\nthree\n")
        process.stdin.flush()
        process.stdin.close()
        assert process.wait(timeout=30) == 141
        assert process.stderr.read() == b""


def test_a_termination_while_it_waits_for_a_line_closes_the_app(edgeagent) -> None:
    app = edgeagent.app(ECHO + "\ndef close():\n    import sys; print('closed', file=sys.stderr)")
    with edgeagent.start("ask", "--stdin", "--app", app) as process:
        process.stdin.write(b"one\n")
        process.stdin.flush()
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 143
        assert process.stderr.read() == b"closed\n"


def test_the_log_has_all_lines(edgeagent) -> None:
    edgeagent("ask", "--stdin", "--speed", "1000", "--log", "log", stdin=b"a\nb\n", house=True)
    kinds = [json.loads(line)["kind"] for line in (edgeagent.cwd / "log").read_text().splitlines()]
    assert kinds.count("agent_end") == 2
