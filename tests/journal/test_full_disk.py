"""A disk that is full: the error names the file, and nothing stands in it by halves."""

import os
import resource
import subprocess
import sys

import pytest

from edgeagent import EdgeAgentError, Usage
from edgeagent.journal import Journal, Record
from tests.journal.journals import EXCHANGE, FullDisk, load, write

LIMITED = """
import resource, sys
from edgeagent import EdgeAgentError, Message
from edgeagent.journal import Journal
journal = Journal.open(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
count = 0
try:
    while True:
        journal.append(Message.user("x" * 100))
        count += 1
except EdgeAgentError as error:
    print(error)
assert len(journal.load().messages) == count, "what was written is there, and nothing else"
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
journal.append(Message.user("room again"))
print(count)
"""


@pytest.mark.parametrize("limit", [1000, 1001, 1234])
def test_a_full_disk_is_an_error_that_names_the_file(tmp_path, limit):
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[1] == resource.RLIM_INFINITY
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path / "s"), str(limit)], capture_output=True, text=True, check=True
    )
    complaint, count = done.stdout.splitlines()
    assert complaint == f"the journal {tmp_path / 's'} cannot be written: File too large"
    found = load(tmp_path / "s")
    assert len(found.messages) == int(count) + 1 >= 3
    assert found.messages[-1].text == "room again"
    assert found.notices == ()


def test_a_write_that_ends_at_any_byte_leaves_nothing(tmp_path, monkeypatch):
    path = tmp_path / "s"
    write(path, EXCHANGE[:1])
    whole = path.read_bytes()
    with Journal.open(path) as journal:
        for room in range(len(Record("usage", {"input_tokens": 1, "output_tokens": 1}).line())):
            monkeypatch.setattr(os, "write", FullDisk(room))
            with pytest.raises(EdgeAgentError, match=f"{path} cannot be written: No space left"):
                journal.usage(Usage(1, 1))
            assert path.read_bytes() == whole


def test_a_piece_that_could_not_be_taken_back_at_once_is_taken_back_before_the_next_record(tmp_path, monkeypatch):
    path = tmp_path / "s"
    with Journal.open(path) as journal:
        with monkeypatch.context() as broken:
            broken.setattr(os, "write", FullDisk(20))
            broken.setattr(os, "ftruncate", FullDisk(0))
            with pytest.raises(EdgeAgentError, match="cannot be written"):
                journal.append(EXCHANGE[0])
        assert journal.load().messages == ()
        journal.append(EXCHANGE[3])
    assert load(path).messages == (EXCHANGE[3],)
