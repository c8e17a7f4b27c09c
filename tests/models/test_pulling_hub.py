"""Pulling from a hub of models that speaks the real one's protocol, with the faults of networks and disks."""

from __future__ import annotations

import logging
import shutil
import signal
import threading
from datetime import date
from pathlib import Path
from types import SimpleNamespace

import pytest

from edgeagent.errors import ModelError
from edgeagent.models import Entry, ModelHub, Pulled, pull, store, verify
from tests.models.pulls import CARD, WHOLE, Heard, contents, pull_twice_at_once
from tests.models.servers import COMMIT, Served, sha256

SILENCE_S = 0.2
"""Less than the time that the slow server takes for a file, more than that for a piece of it."""
VOICE = "people/voices/en/ann/ann.onnx"


@pytest.fixture
def ann(write_catalogue):
    return write_catalogue(sources="hub")


def test_a_pull_brings_every_file_compared_and_noted(hub: Served, ann, heard: Heard) -> None:
    assert pull(ann, heard, today=lambda: date(2026, 11, 22))
    assert contents(ann) == [WHOLE, CARD]
    assert [finding.verdict for finding in verify(ann)] == ["ok", "ok"]
    where = f"people/voices at {COMMIT[:8]}, on {hub.url}"
    note = Pulled(bytes=len(WHOLE), sha256=sha256(WHOLE), source=where, date="2026-11-22")
    assert store.records(ann)["ann.onnx"] == note
    assert heard.steps == [("ann.onnx", len(WHOLE), 0), ("ann.onnx.json", len(CARD), 0)]
    assert heard.done[-2:] == [len(WHOLE), len(CARD)]
    assert not store.parts(ann).exists()


def test_a_model_that_is_here_is_not_asked_for_again(hub: Served, ann, heard: Heard) -> None:
    pull(ann, heard)
    asked = len(hub.asked)
    assert not pull(ann, heard)
    assert len(hub.asked) == asked


def test_the_hub_is_asked_for_files_and_for_nothing_else(hub: Served, ann, heard: Heard) -> None:
    pull(ann, heard)
    assert {path.partition("ann.onnx")[0] for _, path, _ in hub.asked} == {
        "/people/voices/resolve/v1/en/ann/",
        f"/people/voices/resolve/{COMMIT}/en/ann/",
        "/large/people/voices/en/ann/",
    }
    assert not [agent for agent in hub.agents if "torch" in agent or "agent/" in agent]


def test_a_cut_connection_is_gone_on_with_where_it_broke(hub: Served, ann, heard: Heard) -> None:
    hub.cuts = [200_000]
    pull(ann, heard)
    assert contents(ann) == [WHOLE, CARD]
    begin, rest = hub.downloads(f"/large/{VOICE}")
    assert begin == ""
    assert 100_000 < int(rest.removeprefix("bytes=").removesuffix("-")) <= 200_000


def test_a_pull_that_was_interrupted_goes_on_in_the_next_one(hub: Served, ann, heard: Heard) -> None:
    class Interrupting(Heard):
        def reached(self, done: int) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pull(ann, Interrupting())
    assert not store.paths(ann)[0].exists()
    (part,) = store.parts(ann).glob("*.hub")
    part.write_bytes(WHOLE[:300_000])
    pull(ann, heard)
    assert heard.steps[0] == ("ann.onnx", len(WHOLE), 300_000)
    assert hub.downloads(f"/large/{VOICE}")[-1] == "bytes=300000-"
    assert contents(ann) == [WHOLE, CARD]


@pytest.fixture
def impatient(hub: Served, monkeypatch: pytest.MonkeyPatch) -> Served:
    """The hub, whose downloads may be silent for 0.2 s instead of 10, and are tried again at once."""
    from huggingface_hub import constants, file_download

    monkeypatch.setattr(constants, "HF_HUB_DOWNLOAD_TIMEOUT", SILENCE_S)
    monkeypatch.setattr(file_download, "time", SimpleNamespace(sleep=lambda seconds: None))
    monkeypatch.setattr("edgeagent.models.hub._PAUSE_S", 0)
    return hub


def kept(entry: Entry) -> int:
    """Bytes of the unfinished file of a model."""
    (part,) = store.parts(entry).glob("*.hub")
    return part.stat().st_size


def test_a_hub_that_stalls_is_given_up_and_the_next_pull_goes_on(impatient: Served, ann, heard: Heard) -> None:
    impatient.silent = threading.Event()
    with pytest.raises(
        ModelError, match=r"sent nothing more of ann\.onnx: 0\.\d of 0\.4 MB are kept, and the next pull"
    ):
        pull(ann, heard)
    assert not store.is_here(ann)
    there = kept(ann)
    assert there > 100_000
    assert len(impatient.downloads(f"/large/{VOICE}")) < 15
    impatient.silent = None
    again = Heard()
    pull(ann, again)
    assert again.steps[0] == ("ann.onnx", len(WHOLE), there)
    assert contents(ann) == [WHOLE, CARD]


def test_a_hub_that_never_answers_is_told(hub: Served, ann, heard: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_ETAG_TIMEOUT", 0.1)
    hub.mute = threading.Event()
    with pytest.raises(ModelError, match=r"http://127\.0\.0\.1:\d+ does not answer"):
        pull(ann, heard)
    assert len(hub.asked) == 1


def test_a_slow_hub_is_waited_for(impatient: Served, ann, heard: Heard) -> None:
    """The whole takes longer than the hub may be silent."""
    impatient.slow = True
    pull(ann, heard)
    assert contents(ann) == [WHOLE, CARD]
    assert len(set(heard.done)) > 4


@pytest.mark.parametrize("resets", [False, True])
def test_connections_that_are_cut_again_and_again_are_given_up(
    impatient: Served, ann, heard: Heard, resets: bool
) -> None:
    impatient.cuts = [200_000, *[0] * 30]
    impatient.resets = resets
    with pytest.raises(ModelError, match=r"broke off ann\.onnx: .* kept") as caught:
        pull(ann, heard)
    assert kept(ann) <= 200_000
    if not resets:  # a reset also takes what this side has not read
        assert kept(ann) > 50_000
        assert "of 0.4 MB are kept, and the next pull goes on there" in str(caught.value)
    impatient.cuts = []
    pull(ann, heard)
    assert contents(ann) == [WHOLE, CARD]


def test_a_connection_that_is_reset_is_tried_again(impatient: Served, ann, heard: Heard) -> None:
    impatient.cuts, impatient.resets = [200_000], True
    pull(ann, heard)
    assert contents(ann) == [WHOLE, CARD]
    assert len(impatient.downloads(f"/large/{VOICE}")) == 2
    assert [line.endswith("; trying again") for line in heard.lines] == [True]


def test_each_new_try_is_a_line_of_the_pull_and_nothing_else(
    impatient: Served, ann, heard: Heard, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[logging.LogRecord] = []

    class Seen(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            seen.append(record)

    handler = Seen()
    logging.getLogger("huggingface_hub").addHandler(handler)
    impatient.cuts = [200_000]
    try:
        pull(ann, heard)
    finally:
        logging.getLogger("huggingface_hub").removeHandler(handler)
    assert [("/ann.onnx: " in line, "\n" in line) for line in heard.lines] == [(True, False)]
    assert seen == []


def test_ctrl_c_ends_a_pull_from_a_hub_that_stalls_and_keeps_what_came(hub: Served, ann, heard: Heard) -> None:
    hub.silent = threading.Event()

    def interrupt() -> None:
        if hub.in_the_middle.wait(30):
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    interrupting = threading.Thread(target=interrupt)
    interrupting.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            pull(ann, heard)
    finally:
        interrupting.join(30)
        signal.signal(signal.SIGINT, before)
    there = kept(ann)
    hub.silent = None
    again = Heard()
    pull(ann, again)
    assert again.steps[0] == ("ann.onnx", len(WHOLE), there)
    assert contents(ann) == [WHOLE, CARD]


def test_wrong_bytes_are_refused_and_nothing_is_left_of_them(hub: Served, ann, heard: Heard) -> None:
    hub.tampered = True
    with pytest.raises(ModelError, match="broken or was tampered with: refused"):
        pull(ann, heard)
    assert not store.paths(ann)[0].exists()
    assert not list(store.parts(ann).glob("ann.onnx-*"))
    hub.tampered = False
    pull(ann, heard)
    assert contents(ann) == [WHOLE, CARD]


def test_wrong_bytes_do_not_replace_a_file_that_is_here(hub: Served, ann, heard: Heard) -> None:
    pull(ann, heard)
    store.paths(ann)[1].unlink()
    hub.tampered = True
    with pytest.raises(ModelError, match="refused"):
        pull(ann, heard)
    assert contents_of_first(ann) == WHOLE


def contents_of_first(entry) -> bytes:
    return store.paths(entry)[0].read_bytes()


def test_a_file_that_was_spoilt_here_is_fetched_again_and_its_readers_keep_the_old_one(
    hub: Served, ann, heard: Heard
) -> None:
    pull(ann, heard)
    path = store.paths(ann)[0]
    path.write_bytes(b"spoilt")
    with path.open("rb") as reader:
        assert pull(ann, heard)
        assert reader.read() == b"spoilt"
    assert contents(ann) == [WHOLE, CARD]
    assert len(hub.downloads("ann.onnx.json")) == 1


def test_a_newer_file_upstream_is_taken_only_if_a_person_says_so(hub: Served, write_catalogue, heard: Heard) -> None:
    ann = write_catalogue(model_sha256="a" * 64, sources="hub")
    with pytest.raises(ModelError, match=r"newer than the catalogue.*--accept-upstream"):
        pull(ann, heard)
    assert not store.paths(ann)[0].exists()
    downloads = len(hub.downloads(f"/large/{VOICE}"))
    pull(ann, heard, accept_upstream=True, today=lambda: date(2026, 11, 22))
    assert len(hub.downloads(f"/large/{VOICE}")) == downloads
    assert store.records(ann)["ann.onnx"].accepted
    assert next(finding.text for finding in verify(ann)) == "has the sha256 accepted on 2026-11-22"
    assert not pull(ann, heard)


def test_accepting_upstream_does_not_accept_bytes_that_are_not_upstreams(
    hub: Served, write_catalogue, heard: Heard
) -> None:
    ann = write_catalogue(model_sha256="a" * 64, sources="hub")
    hub.moved = {VOICE: "b" * 64}
    with pytest.raises(ModelError, match="tampered"):
        pull(ann, heard, accept_upstream=True)
    assert not store.paths(ann)[0].exists()


def test_a_sha256_that_nobody_knew_is_recorded_at_the_first_pull(hub: Served, write_catalogue, heard: Heard) -> None:
    ann = write_catalogue(card_sha256="", sources="hub")
    pull(ann, heard)
    assert f"ann.onnx.json: the catalogue has no sha256 for it; recorded {sha256(CARD)}" in heard.lines
    store.paths(ann)[1].write_bytes(b"changed")
    assert verify(ann)[1].verdict == "differs"


@pytest.mark.parametrize(
    ("status", "code", "complaint"),
    [
        (
            401,
            "GatedRepo",
            r"people/voices is gated: accept its terms on \S+/people/voices, then log in with hf auth login",
        ),
        (403, "GatedRepo", "people/voices is gated"),
        (401, "RepoNotFound", r"people/voices is gone from \S+, or private"),
        (404, "RevisionNotFound", "people/voices has no version v1 any more"),
        (404, "EntryNotFound", r"people/voices has no en/ann/ann\.onnx any more"),
        (503, "", r"answered 503 for en/ann/ann\.onnx"),
    ],
)
def test_what_the_hub_refuses_is_told_with_what_to_do(
    hub: Served, ann, heard: Heard, status: int, code: str, complaint: str
) -> None:
    hub.refused = {VOICE: (status, code)}
    with pytest.raises(ModelError, match=complaint):
        pull(ann, heard)


def test_a_hub_that_is_not_there_is_told(hub: Served, ann, heard: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(ModelError, match=r"http://127\.0\.0\.1:9 can't be reached"):
        pull(ann, heard)


@pytest.mark.parametrize(
    ("variable", "proxy", "endpoint", "complaint"),
    [
        (
            "HTTP_PROXY",
            "http://ann:secret@127.0.0.1:9",
            "http://hub.invalid",
            r"hub\.invalid.* through the proxy 127\.0\.0\.1:9: look at HTTPS_PROXY",
        ),
        ("HTTPS_PROXY", None, "https://hub.invalid", r"the proxy refuses https://hub\.invalid .*: look at HTTPS_PROXY"),
    ],
    ids=["is not there", "refuses"],
)
def test_a_proxy_that_lets_nothing_through_is_told(
    hub: Served, ann, heard: Heard, monkeypatch: pytest.MonkeyPatch, variable, proxy, endpoint, complaint
) -> None:
    monkeypatch.setenv(variable, proxy or hub.url)
    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    forget_clients()
    try:
        with pytest.raises(ModelError, match=complaint):
            pull(ann, heard)
    finally:
        forget_clients()


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("HF_TOKEN", "hf_\N{LATIN SMALL LETTER E WITH ACUTE}"),
        ("HTTP_PROXY", "nonsense://"),
        ("HTTP_PROXY", "http://[::bad"),
    ],
)
def test_a_setting_that_no_request_can_be_made_of_is_told(
    hub: Served, ann, heard: Heard, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    forget_clients()
    try:
        with pytest.raises(ModelError, match=r"can't be asked.*HF_ENDPOINT, HF_TOKEN and HTTPS_PROXY"):
            pull(ann, heard)
    finally:
        forget_clients()


def test_an_empty_endpoint_is_none(hub: Served, ann, heard: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgeagent.models.hub._HOME", hub.url)
    monkeypatch.setenv("HF_ENDPOINT", "")
    pull(ann, heard)
    assert contents(ann) == [WHOLE, CARD]


def forget_clients() -> None:
    """huggingface_hub keeps its connections, which have read the proxies already."""
    from huggingface_hub.utils import close_session

    close_session()


def test_a_disk_that_is_too_small_is_told_before_anything_is_fetched(
    hub: Served, ann, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage("/")._replace(free=1_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    with pytest.raises(ModelError, match=r"too small: 0 MB are needed, .* has 1 MB"):
        pull(ann, heard)
    assert not hub.asked


def test_a_folder_that_can_only_be_read_is_told(hub: Served, ann, heard: Heard, home: Path) -> None:
    home.rmdir()
    home.write_text("a file stands where the folder would be")
    with pytest.raises(ModelError, match="Set EDGEAGENT_MODELS to another folder"):
        pull(ann, heard)
    assert not hub.asked


def test_nothing_is_asked_for_but_by_a_pull(hub: Served, ann) -> None:
    ModelHub().needs_bytes(ann, ann.files, store.parts(ann))
    store.is_here(ann)
    verify(ann)
    assert not hub.asked


def test_two_pulls_at_once_fetch_the_model_once(hub: Served, ann) -> None:
    waiting = pull_twice_at_once(hub, ann)
    assert contents(ann) == [WHOLE, CARD]
    assert waiting.lines[0] == "another process pulls ann: waiting for it …"
