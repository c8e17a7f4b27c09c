"""Models' files from their first home, the hub of models, through huggingface_hub.

``HF_ENDPOINT``, ``HF_TOKEN``, ``HF_HUB_OFFLINE`` and proxies are huggingface_hub's own settings. No request is made
before ``fetch``, and nothing is told to the hub beside the requests for the files. Runs on the thread that pulls.
"""

from __future__ import annotations

import hashlib
import io
import logging
import os
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from edgeagent.errors import SourceError
from edgeagent.models.catalog import SHA256_DIGITS
from edgeagent.models.sources import Fetched, Progress
from edgeagent.models.store import sha256

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from _typeshed import ReadableBuffer
    from huggingface_hub import HfFileMetadata
    from huggingface_hub.errors import HfHubHTTPError

    from edgeagent.models.catalog import Entry, File, Hub

_HOME: Final = "https://huggingface.co"
_SHA1_DIGITS: Final = 40
"""Digits of git's hash of a small file, which the hub gives for what it does not keep in its large store."""
_SHORT: Final = 8
"""Digits of a commit that are shown."""
_CHUNK: Final = 1 << 16
"""Bytes between two writes; a cut connection loses less than that. huggingface_hub's own 10 MB take a slow line
minutes."""
_RESETS: Final = 5
"""Connections in a row that are reset without having brought anything, until a download is given up."""
_PAUSE_S: Final = 1.0
"""Seconds between two such connections, as between two tries of huggingface_hub."""
_LOGGERS: Final = ("huggingface_hub.file_download", "huggingface_hub.utils._http")
"""Loggers of huggingface_hub that tell of broken connections, and of waiting for a hub that wants fewer requests."""


class ModelHub:
    """The hub of models as a source."""

    name = "the hub"
    key = "hub"

    def needs_bytes(self, entry: Entry, files: Sequence[File], folder: Path) -> int:
        """The files, less what is there of them."""
        there = sum(path.stat().st_size for path in folder.glob("*.hub"))
        return max(0, sum(file.bytes or 0 for file in files) - there)

    def fetch(self, entry: Entry, files: Sequence[File], folder: Path, progress: Progress) -> list[Fetched]:
        """Fetches the files one after the other; one that is there in part is gone on with."""
        if entry.hub is None:
            raise SourceError(f"{entry.name} is not on the hub")
        return [_fetch(entry.hub, file, folder, progress) for file in files]


def _fetch(hub: Hub, file: File, folder: Path, progress: Progress) -> Fetched:
    endpoint = (os.environ.get("HF_ENDPOINT") or _HOME).rstrip("/")
    try:
        urlsplit(endpoint)
    except ValueError as error:  # importing huggingface_hub would raise it
        raise SourceError(f"HF_ENDPOINT is no address: {endpoint} ({error})") from error
    # read when huggingface_hub is imported first: here, or earlier by an app of the person's own
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    import httpx2
    from huggingface_hub import constants, get_hf_file_metadata, get_token, hf_hub_url
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

    constants.HF_HUB_DISABLE_TELEMETRY = True
    constants.DOWNLOAD_CHUNK_SIZE = _CHUNK
    inside = f"{hub.folder}/{file.name}" if hub.folder else file.name
    url = hf_hub_url(hub.repo, inside, revision=hub.revision, endpoint=endpoint)
    token = None if constants.HF_HUB_DISABLE_IMPLICIT_TOKEN else get_token()
    try:
        told = get_hf_file_metadata(url, endpoint=endpoint, token=token or False, timeout=constants.HF_HUB_ETAG_TIMEOUT)
        commit = told.commit_hash or hub.revision
        path = folder / f"{file.name}-{_key(told)}.hub"
        progress.begin(file.name, told.size or file.bytes, _usable(path, told.size))
        try:
            with _retelling(progress):
                _download(hf_hub_url(hub.repo, inside, revision=commit, endpoint=endpoint), path, told, token, progress)
        except _BrokenOff as error:
            raise SourceError(f"{endpoint} {error} {file.name}: {_kept(path, told.size)}") from error
        finally:
            progress.end()
    except OfflineModeIsEnabled as error:
        raise SourceError("the hub is not asked: HF_HUB_OFFLINE is set") from error
    except HfHubHTTPError as error:
        raise SourceError(_refusal(error, hub, inside, endpoint)) from error
    except httpx2.HTTPError as error:
        raise SourceError(_unreachable(error, endpoint)) from error
    except OSError as error:
        if error.errno is not None:  # the disk's, which no other source mends
            raise
        raise SourceError(f"the hub broke off {file.name}: {str(error).splitlines()[0]}") from error
    except (httpx2.InvalidURL, ValueError) as error:
        raise SourceError(
            f"{endpoint} can't be asked ({error}): look at HF_ENDPOINT, HF_TOKEN and HTTPS_PROXY"
        ) from error
    found = sha256(path)
    return Fetched(
        file=file,
        path=path,
        sha256=found,
        told_sha256=_told_sha256(told.etag, path, found),
        origin=f"{hub.repo} at {commit[:_SHORT]}, on {endpoint}",
    )


class _BrokenOff(Exception):
    """A download ended before the file did; the text is the end in words: "broke off", "sent nothing more of"."""


def _download(url: str, path: Path, told: HfFileMetadata, token: str | None, progress: Progress) -> None:
    """Fetches what a part lacks. A connection that is closed or silent is tried again by huggingface_hub, one that is
    reset by this function; both give up when several tries in a row have brought nothing.

    Raises:
        _BrokenOff: The connections end or fall silent. What they have brought is in the part.
    """
    import httpx2
    from huggingface_hub.file_download import http_get

    headers = {"authorization": f"Bearer {token}"} if token else {}
    resets = 0
    while True:
        done = _usable(path, told.size)
        try:
            with _Counting(path, done, progress.reached) as out:
                # hf_hub_download would begin anew: it gives up what a process before this one has fetched
                http_get(url, out, resume_size=done, headers=headers, expected_size=told.size)
        except httpx2.ReadTimeout as error:
            raise _BrokenOff("sent nothing more of") from error
        except httpx2.RemoteProtocolError as error:
            raise _BrokenOff("broke off") from error
        except httpx2.ReadError as error:
            resets = 0 if _usable(path, told.size) > done else resets + 1
            if resets == _RESETS:
                raise _BrokenOff("broke off") from error
            progress.say(f"the connection broke ({error}); trying again")
            time.sleep(_PAUSE_S)  # a hub that resets connections is not to be asked at once again; Ctrl-C ends it
        else:
            return


def _kept(path: Path, size: int | None) -> str:
    """A sentence about a part, for a person who may pull again."""
    there = _usable(path, size)
    if size is None or not there:
        return "nothing of it is kept"
    return f"{there / 1e6:,.1f} of {size / 1e6:,.1f} MB are kept, and the next pull goes on there"


@contextmanager
def _retelling(progress: Progress) -> Iterator[None]:
    """Has warnings of huggingface_hub about this thread's requests told as lines of the pull: its own handler writes
    into the bar."""
    thread = threading.get_ident()

    def retold(record: logging.LogRecord) -> bool:
        if record.thread != thread:
            return True
        progress.say(record.getMessage().splitlines()[0])
        return False

    loggers = [logging.getLogger(name) for name in _LOGGERS]
    for each in loggers:
        each.addFilter(retold)
    try:
        yield
    finally:
        for each in loggers:
            each.removeFilter(retold)


def _key(told: HfFileMetadata) -> str:
    """The version of a file in the name of its part, so that parts of two versions are never joined."""
    version = told.etag or told.commit_hash or ""
    return hashlib.sha256(version.encode()).hexdigest()[:12]


def _usable(path: Path, size: int | None) -> int:
    """Bytes of a part that can be gone on with; 0 without a size, because an end could not be told."""
    there = path.stat().st_size if path.exists() else 0
    return there if size is not None and there <= size else 0


def _told_sha256(etag: str | None, path: Path, found: str) -> str | None:
    """The sha256 that the hub gives for a file. For a small one the hub gives git's hash: if that is the file's,
    so is the sha256."""
    if etag is None:
        return None
    if len(etag) == SHA256_DIGITS:
        return etag
    if len(etag) == _SHA1_DIGITS:
        content = path.read_bytes()
        git = hashlib.sha1(b"blob %d\0%b" % (len(content), content), usedforsecurity=False).hexdigest()
        return found if git == etag else f"unknown, git's hash is {etag}"
    return None


def _refusal(error: HfHubHTTPError, hub: Hub, inside: str, endpoint: str) -> str:
    from huggingface_hub.errors import (
        EntryNotFoundError,
        GatedRepoError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    page = f"{endpoint}/{hub.repo}"
    match error:
        case GatedRepoError():
            return (
                f"{hub.repo} is gated: accept its terms on {page}, then log in with hf auth login "
                "(or set HF_TOKEN), and pull again"
            )
        case RevisionNotFoundError():
            return f"{hub.repo} has no version {hub.revision} any more, on {endpoint}"
        case EntryNotFoundError():
            return f"{hub.repo} has no {inside} any more, on {endpoint}"
        case RepositoryNotFoundError():
            return (
                f"{hub.repo} is gone from {endpoint}, or private: if you may see it, log in with hf auth login "
                "(or set HF_TOKEN)"
            )
        case _:
            return f"{endpoint} answered {error.response.status_code} for {inside} of {hub.repo}"


def _unreachable(error: Exception, endpoint: str) -> str:
    import httpx2

    proxy = _proxy_of(endpoint)
    through = f" through the proxy {proxy}: look at HTTPS_PROXY and NO_PROXY" if proxy else ""
    if isinstance(error, httpx2.ProxyError):
        return f"the proxy refuses {endpoint} ({error}): look at HTTPS_PROXY and NO_PROXY"
    if isinstance(error, httpx2.TimeoutException):
        return f"{endpoint} does not answer{through}"
    return f"{endpoint} can't be reached: {error}{through}"


def _proxy_of(endpoint: str) -> str:
    """The host and port of the proxy for an address, without name and password; empty where there is none."""
    address = urlsplit(endpoint)
    if proxy_bypass(address.netloc):
        return ""
    proxy = getproxies().get(address.scheme, "")
    return urlsplit(proxy).netloc.rpartition("@")[2] or proxy


class _Counting(io.BufferedRandom):
    """A file that tells how far it is written. What lies behind ``done`` is cut off."""

    def __init__(self, path: Path, done: int, reached: Callable[[int], object]) -> None:
        path.touch()
        super().__init__(io.FileIO(path, "r+"))
        self.truncate(done)
        self.seek(done)
        self._reached = reached

    def write(self, data: ReadableBuffer) -> int:
        written = super().write(data)
        self._reached(self.tell())
        return written
