"""The fair lock excludes, and is handed over in order."""

import threading

import pytest

from edgeagent.house import FairLock

from .conftest import Eventually


def test_it_excludes() -> None:
    lock, counter = FairLock(), [0]

    def count() -> None:
        for _ in range(500):
            with lock:
                value = counter[0]
                counter[0] = value + 1

    threads = [threading.Thread(target=count) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert counter == [3000]


def test_who_asked_first_gets_it_first_and_its_holder_cannot_jump_the_queue(eventually: Eventually) -> None:
    lock, order = FairLock(), []

    def take(name: str) -> None:
        with lock:
            order.append(name)

    with lock:
        threads = []
        for index, name in enumerate("abc"):
            threads.append(threading.Thread(target=take, args=(name,)))
            threads[-1].start()
            eventually(lambda index=index: len(lock._queue) == index + 1)
    with lock:
        order.append("holder again")
    for thread in threads:
        thread.join(10)
    assert order == ["a", "b", "c", "holder again"]


def test_it_is_free_again_after_an_exception() -> None:
    lock = FairLock()
    with pytest.raises(KeyError), lock:
        raise KeyError
    with lock:
        pass
