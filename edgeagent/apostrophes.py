"""The apostrophes that phones, keyboards and recognisers write, as the plain one. Pure functions, on any thread."""

from __future__ import annotations

import re
from typing import Final

KINDS: Final = "'\u2019\u2018\u02bc`"
"""The plain one; the two single quotation marks; the letter; the accent that some keyboards have in its place."""

_INSIDE: Final = re.compile(rf"(?<=\w)[{KINDS}](?=\w)")


def plain(text: str) -> str:
    """The text with a plain apostrophe inside of every word; quotation marks around words stay as they are."""
    return _INSIDE.sub("'", text)
