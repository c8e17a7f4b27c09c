"""Services for the tests of the worker; they run in its process."""

import ctypes
import os
import sys
import time
from typing import Any


class Echo:
    def __init__(self, settings: dict[str, Any], emit: Any) -> None:
        if settings.get("broken"):
            raise ValueError("no such model")
        sys.stdout.write("an engine that prints\n")
        self._emit = emit

    def handle(self, op: str, message: dict[str, Any], payload: bytes) -> dict[str, Any] | None:
        match op:
            case "echo":
                return {"bytes": len(payload), "text": message.get("text", "")}
            case "hang":  # in C, with the interpreter's lock held
                ctypes.PyDLL(None).sleep(60)
            case "work":
                end_s = time.process_time() + message["s"]
                while time.process_time() < end_s:
                    pass
            case "die":
                os.write(2, b"the last words")
                os._exit(3)
            case "raise":
                raise KeyError("nothing")
            case "tell":
                self._emit({"told": message["text"]})
        return None
