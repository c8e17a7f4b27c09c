"""Replies of a small model that tell what no result says: they become sentences made of the results.

``Retelling`` compares a reply with the results that it tells, and tells results in their own words. The hook runs at
BEFORE_LLM, where it sees what the model is shown, and at AFTER_LLM; on the loop's thread.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final

from edgeagent.context import AgentContext
from edgeagent.english.amounts import PAIRS, Amount, amounts_of, derived
from edgeagent.english.number_words import CLOCK, UNITS, ratio, sides
from edgeagent.english.sentence_rules import CLASS
from edgeagent.english.tokens import NEGATIONS, after, parts_of, words_of
from edgeagent.english.word_data import is_number, lists
from edgeagent.hooks.hook import AfterLLM, BaseHook, BeforeLLM, FirePoint, HookResult, Payload
from edgeagent.hooks.run_guards import without_warnings
from edgeagent.hooks.slm import in_words
from edgeagent.messages import Message, ToolCall

logger = logging.getLogger(__name__)
SENTENCES: Final = re.compile(r"(?<=[.!?])\s+")
_CLAUSES: Final = re.compile(r"(?<=[.!?;])(?:\s+|(?=[A-Z]))|,? but ")
_ON: Final = re.compile(r"\bon (?=the\b|my\b|your\b)")
"""The "on" of "on the left", which is no state."""
_ENDING: Final = re.compile(r"(?:(?<=...)(?:ing|ed|es|s|e|ly))$")
_TELLING: Final = lists("telling")
_FINE: Final = ("ok", "detached")
_UNDONE: Final = ("not_run", "skipped")
_ENOUGH: Final = 0.5
"""Share of the words and numbers of a result that its telling has at least."""
_TOLD_WHOLE: Final = 16
"""Words of the longest successful result that is told whole; a longer one may be summed up."""
_DECIMALS: Final = 4
"""Decimals that are told at most."""
_SEVERAL: Final = 2
"""A result that came more often is told once, or as often as it came: three turns are not "turned and turned"."""
_SAME: Final = 1e-6
_SHARE: Final = 0.001
"""Share of a number by which another is taken for the same."""
_HALF_DAY: Final = 12 * 60
"""Minutes after which a clock of twelve hours shows the same."""


class KnownNumbers:
    """The numbers of texts."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._amounts: list[Amount] = []
        self._clocks: set[int] = set()
        for words in chain.from_iterable(map(_words, texts)):
            found = amounts_of(words)
            self._amounts += [*found, *derived(found, words)]
            # "3/5 loads done": three of five
            self._amounts += [bare(side) for word in words for side in sides(word)]
            self._clocks |= _clocks(words)

    def has_all_of(self, sentence: str, *, count: int) -> bool:
        """True if every number of a sentence is among these, or counts the results."""
        return all(
            _clocks(words) <= self._clocks and all(one.bare == count or self._has(one) for one in _told(words))
            for words in _words(sentence)
        )

    def shared_with(self, text: str) -> int:
        """Counts the numbers of a text that are among these."""
        return sum(len(_clocks(words) & self._clocks) + sum(map(self._has, _told(words))) for words in _words(text))

    def _has(self, told: Amount) -> bool:
        """True if a number is one of these in the unit in which it is told, rounded as it is told."""
        for one in self._amounts:
            known = one.bare
            if one.dimension and told.dimension:
                known = one.value * told.bare / told.value if told.value else one.value
            if (not told.dimension or one.dimension in ("", told.dimension)) and _rounds_to(known, told.bare):
                return True
        return False


def _words(text: str) -> Iterator[list[str]]:
    """The words of each piece of a text, those in brackets too."""
    return map(words_of, parts_of(text))


def _told(words: Sequence[str]) -> list[Amount]:
    amounts = [one for one in amounts_of(words) if any(map(is_number, words[one.start : one.end]))]
    return amounts + [bare(side) for word in words if ratio(word) is None for side in sides(word)]


def bare(number: float) -> Amount:
    """A number without a unit and a place in a text."""
    return Amount(abs(number), "", abs(number), 0, 0)


def _rounds_to(known: float, told: float) -> bool:
    """True if a number, with as many decimals as it is told, may be a known one."""
    decimals = next((places for places in range(_DECIMALS) if abs(round(told, places) - told) < _SAME), _DECIMALS)
    return abs(round(known, decimals) - told) < _SAME or abs(known - told) <= abs(known) * _SHARE


def _clocks(words: Sequence[str]) -> set[int]:
    """Times of day, in minutes of half a day."""
    return {
        (int(found[1]) * 60 + int(found[2])) % _HALF_DAY
        for word in words
        if (found := CLOCK.fullmatch(word)) and ":" in word
    }


class Retelling:
    """Results of calls, and what a true reply to them says.

    Each failure is told with its reason, each call that was not run is told as undone, each short result is told, and
    no sentence has words of its own: one that tells a success has those of successful calls, one that tells a failure
    those of failed ones. A success may be told in words of the question that it answers: "it is 6 metres deep" after
    "how deep is it". Not after "is it deep", whose answer may be no.

    Args:
        results: Messages of tools.
        calls: The calls by their ids.
        task: Text of the person whom they answer.
    """

    def __init__(self, results: Sequence[Message], calls: Mapping[str, ToolCall], task: str = "") -> None:
        self._results = [(one, calls.get(one.call_id or "")) for one in results]
        self._failed = [(one, call) for one, call in self._results if one.status not in (None, *_FINE)]
        self._fine = [(one, call) for one, call in self._results if one.status in (None, *_FINE)]
        self._of_failed = _known(self._failed)
        self._of_fine = _known(self._fine)
        if self._fine and CLASS.wh.intersection(words_of(task)[:1]):
            self._of_fine |= _content(task)
        fine = [in_words(without_warnings(one.text)) for one, _ in self._fine]  # "false" is told as "no"
        self._fine_denies = any(map(_denies, fine))
        self._fine_denials = set(chain.from_iterable(map(_denials, fine)))

    @classmethod
    def since_answer(cls, history: Sequence[Message]) -> Retelling:
        """The results since the robot's last answer, and since the newest task: those of a run that was stopped are no
        matter of the next one's."""
        begins = (at for at, one in enumerate(history) if _is_answer(one) or _is_task(one))
        begin = max(begins, default=-1)
        task = history[begin].text if begin >= 0 and _is_task(history[begin]) else ""
        now = history[begin + 1 :]
        calls = {call.id: call for one in now for call in one.tool_calls}
        return cls([one for one in now if one.role == "tool"], calls, task)

    @property
    def results(self) -> list[Message]:
        """The results."""
        return [one for one, _ in self._results]

    @property
    def has_failed(self) -> bool:
        """True if any call failed or was not run."""
        return bool(self._failed)

    def is_told_by(self, reply: str) -> bool:
        """True if a reply tells these results and nothing else."""
        clauses = [one for one in _CLAUSES.split(reply) if any(map(str.isalnum, one))]
        times = Counter(without_warnings(one.text).strip(" .").lower() for one, _ in self._fine)
        often = {text: count for text, count in times.items() if text and count > _SEVERAL}
        return (
            all(reply.lower().count(text) in (0, 1, count) for text, count in often.items())
            and all(map(self._is_known, clauses))
            and all(self._tells_failure(clauses, *one) for one in self._failed)
            and all(_tells(reply, without_warnings(one.text), longest=_TOLD_WHOLE) for one, _ in self._fine)
        )

    def sentences(self) -> list[str]:
        """The results in their own words, in their order, each once, with how often it came where that was more than
        twice; what was not run after a failure in one clause."""
        told: Counter[str] = Counter()
        undone: list[str] = []
        has_failed = False
        tried = [(call.name, call.arguments) for one, call in self._results if call and one.status not in _UNDONE]
        for one, call in self._results:
            if one.status in _UNDONE and has_failed:
                if call is None or (call.name, call.arguments) not in tried:
                    undone.append(_name(one, call))
                continue
            has_failed = has_failed or one.status not in (None, *_FINE)
            if text := sentence(one, what=_name(one, call) if len(self._results) > 1 else ""):
                told[text] += 1
        if undone:
            told[f"Not done: {', '.join(dict.fromkeys(undone))}."] += 1
        return [f"{text[:-1]}, {count} times." if count > _SEVERAL else text for text, count in told.items()]

    def _is_known(self, clause: str) -> bool:
        """True if what a clause tells is in results, and told as it went."""
        words = _content(clause)
        if not _denies(clause):
            if words <= self._of_fine:
                return bool(self._fine) or not words
            failing = any(_tells(clause, without_warnings(one.text)) for one, _ in self._failed)
            return failing and words <= self._of_failed
        if self._failed and words - _TELLING.beside_failing <= self._of_failed:
            return True
        own = words - _TELLING.failing
        if not own:  # "I stopped" tells "stopped", and "I can't" nothing
            return self._fine_denies and _denials(clause) <= self._fine_denials
        return self._fine_denies and own <= self._of_fine

    def _tells_failure(self, clauses: Sequence[str], result: Message, call: ToolCall | None) -> bool:
        denying = [one for one in clauses if _denies(one)]
        if result.status in _UNDONE or result.status == "declined":
            words = _content(_name(result, call)) | _of_call(call)
            return any(_content(one) & words or not words for one in denying)
        tells = [one for one in clauses if _tells(one, without_warnings(result.text))]
        return bool(tells) and bool(denying or _content(without_warnings(result.text)))


def sentence(result: Message, *, what: str = "") -> str:
    """A result as a sentence; empty for an empty one that went well.

    Args:
        what: Name of what failed; "That" unless told.
    """
    text = in_words(without_warnings(result.text)).strip()
    if result.status not in (None, *_FINE):
        went = "did not work"
        if result.status == "interrupted":
            went = "was stopped"
        elif result.status in (*_UNDONE, "declined"):
            went = "was not done"
        what = f"{what[:1].upper()}{what[1:]}" or "That"
        text = f"{what} {went}: {text}" if text else f"{what} {went}"
    else:
        text = text[:1].upper() + text[1:]
    return text if not text or text.endswith((".", "!", "?")) else f"{text}."


def _failure_contradicted(reply: str, history: Sequence[Message]) -> str:
    """Tells the last failure for a thing that a reply says the robot holds, where no call for it went well; empty if
    there is none."""
    calls = {call.id: call for one in history for call in one.tool_calls}
    results = [(one, calls.get(one.call_id or "")) for one in history if one.role == "tool"]
    for clause in _CLAUSES.split(reply):
        for phrase in _TELLING.texts("holding"):
            thing = _content(after(clause, phrase) or "")
            of_it = [(one, call) for one, call in results if thing and thing == _of_call(call)]
            if of_it and not any(one.status in (None, *_FINE) for one, _ in of_it):
                last, call = of_it[-1]
                return sentence(last, what=_name(last, call))
    return ""


def _is_answer(message: Message) -> bool:
    return message.role == "assistant" and not message.tool_calls


def _is_task(message: Message) -> bool:
    return message.role == "user" and message.origin == "user"


def _name(result: Message, call: ToolCall | None) -> str:
    return (call.name if call is not None else result.name or "").replace("_", " ").replace("-", " ")


def _denies(text: str) -> bool:
    return NEGATIONS.search(text) is not None or bool(_denials(text))


def _denials(text: str) -> set[str]:
    return {word for words in _words(text) for word in words if word in _TELLING.failing}


def _content(text: str) -> set[str]:
    """Words with a content, without endings; numbers and units are compared as amounts."""
    plain = _ON.sub("", in_words(text).replace("_", " "))
    return {
        word if word in _TELLING.beside_failing else _ENDING.sub("", word)
        for word in chain.from_iterable(_words(plain))
        if word not in _TELLING.empty and not is_number(word) and word not in UNITS
    }


def _tells(reply: str, text: str, *, longest: int | None = None) -> bool:
    """True if a reply has half of a result's words and numbers, of a failure's more than half."""
    words, numbers = _content(text), KnownNumbers([text])
    if longest is not None and len(words_of(text)) > longest:
        return True
    total = numbers.shared_with(text)
    told = len(words & _content(reply)) + min(total, numbers.shared_with(reply))
    enough = _ENOUGH * (len(words) + total)
    return told >= enough if longest is not None else told > enough or not words


def _of_call(call: ToolCall | None) -> set[str]:
    """Words of a call's arguments, with those of a number's direction."""
    if call is None:
        return set()
    words = _content(f"{' '.join(map(str, call.arguments.values()))}")
    for (_, positive), (_, negative) in PAIRS:
        for value in call.arguments.values():
            if isinstance(value, int | float) and not isinstance(value, bool):
                words |= {_ENDING.sub("", word) for word in (negative if value < 0 else positive)}
    return words


def _known(results: Iterable[tuple[Message, ToolCall | None]]) -> set[str]:
    known: set[str] = set()
    for one, call in results:
        known |= _content(without_warnings(one.text)) | _content(_name(one, call)) | _of_call(call)
    return known


_UNKNOWN: Final = "I do not know."


class GroundedReplyHook(BaseHook):
    """At AFTER_LLM: a reply that contradicts the results, or leaves out a failure or an undone part, is made of them.

    A sentence with a number that stands in no result and in nothing else that the model was shown is replaced alone:
    "battery at 80 percent" told as 40. Numbers may be rounded, and told in another unit; where there is no result, the
    sentence is left out. Then the whole reply is compared with the task's results since the last answer, word for word:
    "the distance must be at most 50 m" told as "the sensor does not answer", a failure told as done, "Okay." Where it
    does not tell them, they are told in their own words, and what was not run in a clause. A reply with calls, and one
    to what a person has said since the results, is left alone; but where it says that the robot holds a thing, and
    each call for that failed, the failure is told.
    """

    points = frozenset({FirePoint.BEFORE_LLM, FirePoint.AFTER_LLM})
    priority = -790
    """Before GroundingHook, whose questions are no telling."""

    holds_text = True

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: Payload) -> HookResult | None:
        state = ctx.state_of(self)
        if isinstance(payload, BeforeLLM):
            state["shown"] = [one for one in payload.messages if one.role != "assistant"]
            state["calls"] = [call for one in payload.messages for call in one.tool_calls]
        if not isinstance(payload, AfterLLM) or payload.tool_calls:
            return None
        told = Retelling.since_answer(ctx.history())
        is_wordless = not any(map(str.isalnum, payload.text))
        if not told.results and is_wordless:
            return None
        shown: list[Message] = state.get("shown", [])
        arguments = [str(value) for call in state.get("calls", ()) for value in call.arguments.values()]
        known = KnownNumbers([*(one.text for one in shown), *arguments])
        sentences = SENTENCES.split(payload.text.strip())
        wrong = [not known.has_all_of(one, count=len(told.results)) for one in sentences]
        text = _mended(sentences, wrong, told.results) if any(wrong) else payload.text
        if told.results and ctx.history()[-1].role != "user" and (is_wordless or not told.is_told_by(text)):
            text = " ".join(told.sentences()) or text
        if not told.results:
            text = _failure_contradicted(text, ctx.history()) or text
        if text == payload.text:
            return None
        logger.info("told %r in the place of %r", text, payload.text)
        return HookResult.replace(replace(payload, text=text))


def _mended(sentences: Sequence[str], wrong: Sequence[bool], results: Sequence[Message]) -> str:
    """The reply with what the results say in the place of the first wrong sentence, and without the others."""
    right = KnownNumbers(one for one, is_wrong in zip(sentences, wrong, strict=True) if not is_wrong)
    told = [text for one in results if not (_has_number(text := sentence(one)) and right.has_all_of(text, count=-1))]
    first = wrong.index(True)
    made = [" ".join(told) if at == first else one for at, one in enumerate(sentences) if at == first or not wrong[at]]
    return " ".join(text for text in dict.fromkeys(made) if text) or _UNKNOWN


def _has_number(text: str) -> bool:
    return any(character.isdigit() for character in text)
