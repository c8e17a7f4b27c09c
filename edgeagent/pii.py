"""Personal data and secrets in text: where they stand, and the text with placeholders instead.

Patterns only, no model: specific ones before general ones, and what one has taken no later one sees. A robot's own
numbers (distances, times, dates, counters, coordinates) are left alone, so ten digits in a row are no telephone
number unless a word before them says so. Every pattern runs in time linear in the text, whatever the text is.
"""

from __future__ import annotations

import ipaddress
import json
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Final, Literal, get_args

from edgeagent.errors import ConfigError

logger = logging.getLogger(__name__)

Mode = Literal["off", "warn", "redact"]
_MODES: Final = ", ".join(get_args(Mode))
Kind = Literal[
    "EMAIL",
    "PHONE",
    "SSN",
    "CREDIT_CARD",
    "IP_ADDRESS",
    "AWS_KEY",
    "API_KEY",
    "JWT",
    "PRIVATE_KEY",
    "PASSWORD",
]


@dataclass(frozen=True, slots=True)
class PII:
    """Treatment of personal data: nothing, a warning, or a placeholder in its stead.

    Raises:
        ConfigError: A value is none of "off", "warn" and "redact".
    """

    user: Mode = "off"
    """In what people say, before the model sees it."""
    tools: Mode = "off"
    """In what tools return, before the model sees it."""
    log: Mode = "redact"
    """In logs and audit trails. The journal is never redacted."""

    @classmethod
    def of(cls, value: PII | Mode | None) -> PII:
        """A PII as it is, or one that does the same everywhere: "redact" for what is said, returned and logged.

        Raises:
            ConfigError: It is none, and no "off", "warn" or "redact" either.
        """
        if isinstance(value, PII):
            return value
        if value is None:
            return cls()
        if not isinstance(value, str):
            raise ConfigError(f"pii={value!r}: it should be a PII, such as PII(user='redact'), or one of {_MODES}")
        return cls(value, value, value)

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value not in get_args(Mode):
                raise ConfigError(f"PII({field.name}={value!r}): it should be one of {_MODES}")


@dataclass(frozen=True, slots=True)
class Match:
    """``text[start:end]`` is data of this kind."""

    kind: Kind
    start: int
    end: int


def find(text: str) -> list[Match]:
    """Everything that was found, in the order of the text; no two overlap."""
    rest = _PLACEHOLDER.sub(lambda found: _TAKEN * len(found[0]), text.replace(_TAKEN, _NOT_TAKEN))
    matches: list[Match] = []
    lowered = rest.lower()
    for pattern in _PATTERNS:
        if pattern.may_match(lowered) and (spans := pattern.spans(rest)):
            matches += [Match(pattern.kind, start, end) for start, end in spans]
            rest = _without(rest, spans)
    return sorted(matches, key=lambda match: match.start)


def redact(text: str) -> str:
    """The text with ``<EMAIL>`` and the like instead of what was found. Doing it twice changes nothing more."""
    pieces, end = [], 0
    for match in find(text):
        pieces += [text[end : match.start], f"<{match.kind}>"]
        end = match.end
    return "".join([*pieces, text[end:]])


def redact_values(value: Any) -> Any:
    """A copy of JSON-like data with every string redacted, keys included; keys that become equal become one.

    What a key such as ``password`` names is replaced whole, and so is a number that is a card's. Other objects are
    returned as they are.
    """
    match value:
        case str():
            return redact(value)
        case dict():
            return {_redacted_key(key): _redacted_item(key, item) for key, item in value.items()}
        case list() | tuple():
            return [redact_values(item) for item in value]
        case int() if 0 < value < 10**_LONGEST_CARD:
            shown = redact(str(value))
            return value if shown == str(value) else shown
    return value


def for_log(fields: dict[str, Any], mode: Mode, where: str) -> dict[str, Any]:
    """Returns what a log or an audit may hold of these fields, as ``PII.log`` says; "warn" logs that ``where`` holds
    some.

    Redacted fields are plain JSON: an object of a builder's is redacted as the text that would stand for it.
    """
    if mode == "off":
        return fields
    plain = json.loads(json.dumps(fields, default=repr))
    redacted: dict[str, Any] = redact_values(plain)
    if mode == "redact":
        return redacted
    if redacted != plain:
        logger.warning("%s holds personal data", where)
    return fields


def redact_unfinished(text: str) -> str:
    """As ``redact``, for text that may go on: an empty one if its end may be the beginning of personal data.

    That is after an @, a name such as ``password``, what keys begin with, or more than six digits, which is what may
    be shown of a card (PCI DSS 3.4).
    """
    shown = redact(text)
    if sum(char.isdigit() for char in shown) > _SHOWN_DIGITS or _BEGINNINGS.search(shown):
        return ""
    return shown


def _redacted_key(key: Any) -> Any:
    return redact(key) if isinstance(key, str) else key


def _redacted_item(key: Any, item: Any) -> Any:
    """As if the pair were written ``key: item``."""
    placeholder = isinstance(item, str) and _PLACEHOLDER.fullmatch(item)
    if isinstance(key, str) and item and not isinstance(item, bool) and not placeholder:
        for kind, names in _NAMES.items():
            if re.search(rf"(?:{names})\Z", key, re.IGNORECASE) and (kind != "PHONE" or _is_phone(item)):
                return f"<{kind}>"
    return redact_values(item)


def _is_phone(item: Any) -> bool:
    short = isinstance(item, str) or (isinstance(item, int) and item < 10**_LONGEST_CARD)
    return short and _phone_length(str(item)) > 0


# --- patterns -------------------------------------------------------------------------------------------------------
#
# What is taken is overwritten with _TAKEN, which no pattern matches and every border refuses: so what stands directly
# beside a match is no match either, in the text and in the redacted text alike, and redacting twice changes nothing.
# Possessive quantifiers, bounded ones, and borders that let no run be entered in its middle keep the time linear.

_TAKEN: Final = "\0"
_NOT_TAKEN: Final = "\1"
"""Stands for a NUL of the text itself while it is searched."""
_PLACEHOLDER: Final = re.compile(f"<(?:{'|'.join(get_args(Kind))})>")

_LEFT: Final = r"(?<![\w\0])"
_RIGHT: Final = r"(?![\w\0])"
_NUMBER_LEFT: Final = r"(?<![\w\0])(?<![0-9\0][.-])"
"""Neither in a word nor in the middle of a longer number, a date or a version."""
_PLUS: Final = r"(?<![\w\0+])\+"
_NUMBER_RIGHT: Final = r"(?![\w\0]|[.-][0-9\0])"
_GAP: Final = r"[ .\u00a0-]"

_TOKEN: Final = r"[A-Za-z0-9_-]"  # noqa: S105  the characters of base64url
_CREDENTIALS: Final = r"(?P<value>[A-Za-z0-9._~+/-]{8,}+=*+)"
_VALUE: Final = r"""(?P<value>(?<=["'])[^"'\0\n]++|(?<!["'])[^\s"',;&\0]++)"""
"""Pattern of what follows a name: up to the closing quote, or up to white space and the ends of a query's or a list's
item."""
_GIVES: Final = (
    r"""(?>\\?["']?(?:[ \t]{0,4}(?::=|=>|[:=])[ \t]{0,4}|[ ](?:is|was|ist)(?:[ \t]{1,4}|:[ \t]{0,4}))\\?["']?)"""
)
_FOR: Final = r"(?:[ ](?:for|of|to)(?:[ ]\w{1,20}){1,4}?)?"
_NAMES: Final[dict[Kind, str]] = {
    "AWS_KEY": r"aws[_ -]?secret[_ -]?(?:access[_ -]?)?key",
    "API_KEY": r"api[_ -]?(?:key|token|secret)|access[_ -]?(?:key|token)|(?:auth|refresh|private)[_ -]?token"
    r"|secret[_ -]?key|client[_ -]?secret|(?<![A-Za-z0-9\0])(?:token|secret)(?==[\"']?[\w.+/-]{8})",
    "PASSWORD": r"passwor[dt]|passwd|passphrase|passcode|kennwort|(?<![A-Za-z0-9\0])(?:pwd|pass(?==|\Z))",
    "PHONE": r"(?:tele)?phone|telefon|tel|mobile|fax|phone[_ -]?(?:number|no|nr)",
}
"""Names that announce data, in text or as a key, the more specific first."""
_SHOWN_DIGITS: Final = 6
_BEGINNINGS: Final = re.compile(
    rf"@|://|-----BEGIN|eyJ|AKIA|ASIA|[sr]k[_-]|gh[pousr]_|github_pat|glpat-|xox[abeoprs]-|hf_|npm_|pypi-|bearer "
    rf"|authorization|{_NAMES['AWS_KEY']}|{_NAMES['API_KEY']}|{_NAMES['PASSWORD']}",
    re.IGNORECASE,
)
_LONGEST_CARD: Final = 19
_OCTET: Final = r"(?:25[0-5]|2[0-4][0-9]|[01]?[0-9]?[0-9])"

_NO_SECRETS: Final = frozenset(
    """
    a an any correct disabled empty enabled expired false here in incorrect invalid known missing needed never no none
    not null ok on optional required set stored strong the too true undefined unknown unset valid weak wrong
    """.split()
)
"""Words that people say of a password without saying it."""


def _with_a_digit(candidate: str) -> int:
    """A token made by a machine has digits; a long word with dashes has none."""
    return len(candidate) if any(char.isdigit() for char in candidate) else 0


def _secret_length(candidate: str) -> int:
    """Without the punctuation of the sentence that it ends."""
    value = candidate.rstrip(".,;:!?)]}\\")
    return 0 if not value.strip("*.") or value.lower() in _NO_SECRETS else len(value)


def _email_length(candidate: str) -> int:
    """Up to the last label that can be a top-level domain."""
    address = candidate.rstrip("-_")
    last = address.rpartition(".")[2]
    return len(address) if len(last) > 1 and last[0].isalpha() else 0


def _ssn_length(candidate: str) -> int:
    """Numbers that were never given out are none: areas 000, 666 and 9xx, group 00, serial 0000."""
    digits = _digits(candidate)
    given = digits[:3] not in ("000", "666") and digits[0] != "9" and digits[3:5] != "00" and digits[5:] != "0000"
    return len(candidate) if given else 0


def _card_length(candidate: str) -> int:
    """Luhn's check digit, and a first digit that issuers of cards have, which a time stamp of this century has not."""
    digits = _digits(candidate)
    doubled = sum(sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])
    checks = (doubled + sum(int(digit) for digit in digits[::-2])) % 10 == 0
    return len(candidate) if checks and digits[0] in "23456" else 0


def _ipv6_length(candidate: str) -> int:
    """An address; not a time, a hardware address or a slice such as ``1::2``."""
    address = candidate if candidate.endswith("::") else candidate.rstrip(":.")
    try:
        ipaddress.IPv6Address(address)
    except ValueError:
        return 0
    return len(address) if address == "::1" or sum(char not in ":." for char in address) >= 4 else 0


def _phone_length(candidate: str) -> int:
    """After a word that announces it: 7 to 15 digits that are no date."""
    if re.match(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9])|[0-9]{1,2}([./-])[0-9]{1,2}\1[0-9]{2,4}(?![0-9])", candidate):
        return 0
    plain = re.fullmatch(r"[+0-9 ()/.\u00a0-]+", candidate)
    return len(candidate) if plain and 7 <= len(_digits(candidate)) <= 15 else 0


def _digits(candidate: str) -> str:
    return "".join(char for char in candidate if char in "0123456789")


class _Pattern:
    """One way to write a kind.

    Args:
        regex: What its group ``value`` matches is the candidate; all of the match, if it has none.
        length: How many characters of a candidate are such data: 0 for none.
        needles: In lower case; a text without any of them is not searched.
    """

    def __init__(
        self,
        kind: Kind,
        regex: str,
        length: Callable[[str], int] = len,
        *,
        needles: tuple[str, ...],
        flags: int = 0,
    ) -> None:
        self.kind = kind
        self._regex = re.compile(regex, flags)
        self._group = "value" if "value" in self._regex.groupindex else 0
        self._length = length
        self._needles = needles

    def may_match(self, lowered: str) -> bool:
        return any(needle in lowered for needle in self._needles)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Start and end of each. A candidate that is none may overlap one that is, so it is passed by one character."""
        found, position = [], 0
        while match := self._regex.search(text, position):
            start = match.start(self._group)
            length = self._length(match[self._group])
            if length:
                found.append((start, start + length))
            position = match.end() if length else match.start() + 1
        return found


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    """The text with every span overwritten."""
    pieces, last = [], 0
    for start, end in spans:
        pieces += [text[last:start], _TAKEN * (end - start)]
        last = end
    return "".join([*pieces, text[last:]])


_DIGITS: Final = tuple("0123456789")
_PATTERNS: Final = (
    # up to its end line; one that was cut off, up to the end of the text
    _Pattern(
        "PRIVATE_KEY",
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[^\0-]++|-(?!----))*+"
        r"(?:-----END[A-Z0-9 ]{0,60}+(?:-----)?)?",
        needles=("-----begin",),
    ),
    # '{"' in base64url, and three parts, or five if it is encrypted
    _Pattern("JWT", rf"(?<![\w\0-])eyJ{_TOKEN}{{5,}}+(?:\.{_TOKEN}++){{2,4}}+{_RIGHT}", needles=("eyj",)),
    _Pattern(
        "AWS_KEY",
        r"(?<![A-Za-z0-9\0])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9\0])",
        needles=("akia", "asia", "abia", "acca"),
    ),
    _Pattern(
        "AWS_KEY", rf"(?:{_NAMES['AWS_KEY']}){_GIVES}{_VALUE}", _secret_length, needles=("aws",), flags=re.IGNORECASE
    ),
    _Pattern(
        "API_KEY",
        rf"(?<![\w\0-])(?:[sr]k[_-]|gh[pousr]_|github_pat_|glpat-|xox[abeoprs]-|AIza|hf_|npm_|pypi-){_TOKEN}{{16,}}+"
        rf"{_RIGHT}",
        _with_a_digit,
        needles=("k-", "k_", "gh", "glpat", "xox", "aiza", "hf_", "npm_", "pypi"),
    ),
    _Pattern(
        "API_KEY",
        rf"Authorization[\"']?[ \t]{{0,4}}:[ \t]{{0,4}}[\"']?[A-Za-z]{{1,16}}[ \t]{{1,4}}{_CREDENTIALS}",
        needles=("authorization",),
        flags=re.IGNORECASE,
    ),
    _Pattern(
        "API_KEY", rf"{_LEFT}Bearer[ \t]{{1,4}}{_CREDENTIALS}", _with_a_digit, needles=("bearer",), flags=re.IGNORECASE
    ),
    _Pattern("PASSWORD", r"://[^\s:/@\0]{0,256}+:(?P<value>[^\s/@\0]{1,256}+)@", needles=("://",)),
    _Pattern(
        "API_KEY",
        rf"(?:{_NAMES['API_KEY']}){_FOR}{_GIVES}{_VALUE}",
        _secret_length,
        needles=("key", "token", "secret"),
        flags=re.IGNORECASE,
    ),
    _Pattern(
        "PASSWORD",
        rf"(?:{_NAMES['PASSWORD']}){_FOR}{_GIVES}{_VALUE}",
        _secret_length,
        needles=("pass", "pwd", "kennwort"),
        flags=re.IGNORECASE,
    ),
    _Pattern("EMAIL", r"(?<![\w\0.%+-])[\w.%+-]++@[\w-]++(?:\.[\w-]++)++(?!\0)", _email_length, needles=("@",)),
    _Pattern("SSN", rf"{_NUMBER_LEFT}[0-9]{{3}}-[0-9]{{2}}-[0-9]{{4}}{_NUMBER_RIGHT}", _ssn_length, needles=("-",)),
    _Pattern(
        "SSN",
        r"(?:(?<![\w\0])SSN|social security(?: number| no\.?)?)(?: is)?[ :=#]{1,4}"
        rf"(?P<value>[0-9]{{3}}[ -]?[0-9]{{2}}[ -]?[0-9]{{4}}){_NUMBER_RIGHT}",
        _ssn_length,
        needles=("ssn", "social"),
        flags=re.IGNORECASE,
    ),
    _Pattern(
        "CREDIT_CARD",
        rf"{_LEFT}[0-9]{{4}}({_GAP})[0-9]{{4}}\1[0-9]{{4}}\1[0-9]{{4}}\1[0-9]{{3}}{_RIGHT}",
        _card_length,
        needles=_DIGITS,
    ),
    _Pattern(
        "CREDIT_CARD",
        rf"{_LEFT}[0-9]{{4}}({_GAP})[0-9]{{4}}\1[0-9]{{4}}\1[0-9]{{4}}{_RIGHT}",
        _card_length,
        needles=_DIGITS,
    ),
    # whatever the check digit: a person may get one wrong, and robots write no numbers so
    _Pattern("CREDIT_CARD", rf"{_NUMBER_LEFT}[0-9]{{4}}(?:-[0-9]{{4}}){{3}}{_NUMBER_RIGHT}", needles=("-",)),
    _Pattern(
        "CREDIT_CARD",
        rf"(?<![A-Za-z0-9\0])(?:credit)?card(?: number| no\.?| nr\.?)?(?: is)?[\"']?[ :=#]{{1,4}}[\"']?"
        rf"(?P<value>[0-9]{{4}}(?:{_GAP}?[0-9]{{4}}){{3}}){_NUMBER_RIGHT}",
        needles=("card",),
        flags=re.IGNORECASE,
    ),
    _Pattern(
        "CREDIT_CARD", rf"{_LEFT}3[0-9]{{3}}({_GAP})[0-9]{{6}}\1[0-9]{{4,5}}{_RIGHT}", _card_length, needles=_DIGITS
    ),
    # not the digits of a fraction
    _Pattern("CREDIT_CARD", rf"(?<![\w\0.])[0-9]{{13,19}}+{_NUMBER_RIGHT}", _card_length, needles=_DIGITS),
    _Pattern(
        "IP_ADDRESS",
        r"(?<![\w\0:.])(?:[0-9A-Fa-f]{0,4}:){2,8}+(?:[0-9A-Fa-f]{1,4}+(?:\.[0-9]{1,3}){0,3}+)?(?![\w\0:])",
        _ipv6_length,
        needles=(":",),
    ),
    _Pattern(
        "IP_ADDRESS", rf"(?<![\w\0.])(?<![Vv]ersion )(?:{_OCTET}\.){{3}}{_OCTET}(?![\w\0]|\.[0-9\0])", needles=(".",)
    ),
    # +1 and what North America writes without it
    _Pattern(
        "PHONE",
        rf"{_PLUS}1{_GAP}?\(?[2-9][0-9]{{2}}\)?{_GAP}?[0-9]{{3}}{_GAP}?[0-9]{{4}}{_NUMBER_RIGHT}",
        needles=("+1",),
    ),
    _Pattern(
        "PHONE",
        rf"{_NUMBER_LEFT}(?:1[ .-])?(?:\([1-9][0-9]{{2}}\)[ ]?[0-9]{{3}}[ .-]|[2-9][0-9]{{2}}\.[0-9]{{3}}\."
        rf"|[1-9][0-9]{{2}}-[0-9]{{3}}-)[0-9]{{4}}{_NUMBER_RIGHT}",
        needles=_DIGITS,
    ),
    # any other country, at most 15 digits (E.164); a single point would make it a decimal fraction
    _Pattern(
        "PHONE",
        rf"(?:{_PLUS}|{_NUMBER_LEFT}00(?=[2-9][0-9]{{1,2}}[ /-][1-9(]))(?![0-9]+ [0-9]{{4}}-[0-9]{{2}}-)[2-9]"
        rf"(?:[ /\u00a0-]?(?:\([0-9]{{1,5}}\)[ ]?)?[0-9]){{6,14}}{_NUMBER_RIGHT}",
        needles=("+", "00"),
    ),
    _Pattern("PHONE", rf"{_PLUS}[2-9][0-9]{{0,2}}(?:\.[0-9]{{2,7}}){{2,5}}{_NUMBER_RIGHT}", needles=("+",)),
    # a trunk prefix: 030/901820, 0171-2345678, (030) 901820
    _Pattern(
        "PHONE",
        rf"{_NUMBER_LEFT}(?:0[0-9]{{2,4}}[/-]|\(0[0-9]{{2,4}}\)[ ]?)[0-9]{{6,9}}{_NUMBER_RIGHT}",
        needles=("0",),
    ),
    _Pattern(
        "PHONE",
        rf"{_LEFT}(?:{_NAMES['PHONE']}|call|dial|my number)(?: number| no\.?| nr\.?)?(?: me)?(?: is| at| on| under)?"
        rf"[ :=#]{{1,4}}(?P<value>[(+]?[0-9](?:[ ()/.\u00a0-]{{0,2}}[0-9]){{6,14}}+){_NUMBER_RIGHT}",
        _phone_length,
        needles=("phone", "tel", "mobile", "fax", "call", "dial", "my number"),
        flags=re.IGNORECASE,
    ),
)
