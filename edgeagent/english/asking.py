"""Tells what may ask the robot for something from what tells or forbids: "the coffee is cold", "don't go".

A rule that errs on the side of asking: what begins neither like a report nor like a prohibition asks, and so does what
has a command anywhere in it. English; a misheard report still begins like one. Pure functions, on any thread.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import dropwhile, pairwise
from typing import Final

from edgeagent.english.answers import is_backchannel, is_only_no
from edgeagent.english.completeness import Phrases
from edgeagent.english.inverse import inverse_normalised
from edgeagent.english.sentence_rules import (
    CLASS,
    NEEDS_OBJECT,
    RULE,
    bare,
    begins_with_verb,
    is_correction,
    is_question,
    sentence,
    without_asking,
    without_leading,
)
from edgeagent.english.tokens import NEGATION, NEGATIONS, alike, is_english, words_in, words_of
from edgeagent.english.word_data import begins_with, decide, is_number, says

_SHORT: Final = 3
""" "the red cube", "this way" are answers or names."""
_FORBIDS: Final = RULE.phrases("forbids")
_OPENERS: Final = RULE.phrases("openers")
_COMFORTS: Final = RULE.phrases("comforts")
_TAKEN_BACK: Final = RULE.phrases("taken_back")
_SUPPOSES: Final = RULE.phrases("supposes")
_WISHED: Final = frozenset(RULE.phrases("wished"))
_REMINDS: Final = ["forget"]
"""... but for "don't forget to turn off the light"."""
_POLITE: Final = ["please"]
""" "It's my bedtime, lights out in the living room please"."""
_ASKS: Final = RULE.phrases("asks")
_FIRST: Final = 4
"""Words that hold the subject and what is said of it."""
_BOUND: Final = 2
_CLAUSES: Final = re.compile(r"[,;:.!]\s+")
_QUOTES: Final = re.compile(r"[^,;:.!?]+:\s+[^;:.!?]+")
"""Words to say may stand behind a colon: "repeat after me: go to the garage"."""
_SENTENCES: Final = re.compile(r"[;:.!?]\s+")
_PARTS: Final = re.compile(
    rf"[,;:.!?]\s+|(?<!\bgo )(?<!\bcome )\b(?:{'|'.join(map(' '.join, RULE.phrases('joins')))})\b", re.IGNORECASE
)
_LOOK: Final = frozenset({"look", "listen", "wait"})
""" "Look, just open the vents"."""
_CONDITIONS: Final = frozenset({"if", "unless"})
_MERE_TALK: Final = RULE.phrases("mere_talk")
_COURTESIES: Final = RULE.phrases("courtesies")
_GOES: Final = RULE.phrases("goes")
_NO_COMMAND: Final = [[verb] for verb in RULE.no_commands]
_NO_VERBS: Final = CLASS.auxiliaries | CLASS.wh | CLASS.determiners | CLASS.subjects | CLASS.be
_WAYS: Final = CLASS.directions | CLASS.units_of_time_and_way | RULE.units_in_plural
_LONGEST: Final = 500
"""Characters of what people say in which requests are counted."""


def may_ask(text: str, phrases: Phrases) -> bool:
    """True if a text may ask for something: a command, a question, a wish, or what no rule knows.

    Args:
        text: As it was understood.
        phrases: The app's: what they say is asked for, whatever it begins with.
    """
    said = sentence(text)
    words = said.bare
    if phrases.begins(words):
        return True
    if _is_number_alone(words) or (_takes_back(words) and not is_question(words)):
        return False
    commanded = _ends_in_command(text)
    if _is_reported(text) or ((says("remark", words) or begins_with(words, _SUPPOSES)) and not commanded):
        return False
    if _tools_for(text):
        return False
    main = _main(words)
    plain = _without_openers(main)
    forbids = _forbids_a_verb(plain) or (plain[:1] != ["don't"] and _forbids_inside(plain))
    if ((said.asked or said.words[-1:] == _POLITE) and not forbids) or commanded:
        return True
    if _called(said.words, words) and not _forbids_inside(words):
        return True
    if asked := _after_comfort(plain):
        main = plain = asked
    if plain[:1] == ["not"] and plain[1:2] and plain[1] not in CLASS.verbs:  # "not the kitchen the bedroom"
        plain = []
    forbidden = begins_with(plain, _FORBIDS)
    if not forbidden and _forbids_inside(plain):
        return False
    if not forbidden and (is_question(main) or is_correction(words)):
        return True
    forbidden, rest = (forbidden, plain) if forbidden else (begins_with(main, _FORBIDS), main)
    if forbidden:
        rest = list(dropwhile(RULE.between.__contains__, rest[forbidden:]))
        return rest[:1] == _REMINDS or _asks_after(rest)
    if main[0] not in RULE.tells:
        return True
    if main[0] in CLASS.determiners | {"this", "that"} and _is_wish_for_a_thing(main):
        return True
    return says("continues", main) or _wishes(main) or _commands_inside(main, 1)


@dataclass(frozen=True, slots=True)
class Abilities:
    """Abilities of the hearer of a command, in words of its tools."""

    verbs: frozenset[str]
    """First words of the tools' names and descriptions, but those that begin a question or name nothing, as in
    "is_free"."""
    names: frozenset[str]
    """Words of names, descriptions and values that name something."""
    values: frozenset[tuple[str, ...]] = frozenset()
    """The values of parameters that may have few, each as its words: the places of the app."""

    @classmethod
    def of(cls, tools: Iterable[tuple[str, str]], told: Iterable[str], values: Iterable[str] = ()) -> Abilities:
        """Returns those of tools.

        Args:
            tools: Names and descriptions.
            told: Names of parameters, and what is said of them.
            values: That the parameters may have.
        """
        values = [value.replace("_", " ") for value in values]
        parts = [text.replace("_", " ") for tool in tools for text in tool]
        verbs = frozenset(words[0] for words in map(words_of, parts) if words)
        words = words_in((*parts, *values, *(text.replace("_", " ") for text in told)))
        named = frozenset(tuple(words_of(value)) for value in values)
        return cls(verbs - _NO_VERBS, words - CLASS.function_words - CLASS.verbs, named)


def commands(text: str, can: Abilities) -> bool:
    """True if a text begins as a command and names what its hearer can do: "check that the bed is level" to a printer,
    but not "tell me a joke", "let me level the bed" or "stay away from the bed".

    Args:
        can: What the hearer can do.
    """
    words = without_asking(bare(_without_openers(sentence(text).bare)))
    if NEGATIONS.search(text) or begins_with(words, _MERE_TALK) or is_question(words) or not may_ask(text, Phrases()):
        return False
    return _begins_as_command(words, can) and _names(words[1:], can, alone=words[0] in can.verbs)


def requests_in(text: str, can: Abilities) -> int:
    """Counts the parts of a text that ask for something: "go to the hall and then turn" has two, "it is dark, turn the
    light on, please" one. A condition counts, because it has to be looked at, and each place to go to that is a value
    of some parameter does.

    Args:
        text: Of people. A number, a name or a courtesy between the parts counts for nothing.
        can: What the hearer can do: a first part without a verb counts if it names something of it, "lamp off".
    """
    parts = [bare(_without_openers(bare(words_of(part)))) for part in _PARTS.split(inverse_normalised(text[:_LONGEST]))]
    named = [part for part in parts if any(word not in CLASS.function_words | _LOOK for word in part)]
    counted = [part[0] in _CONDITIONS or _begins_as_command(part, can) for part in named]
    first = named[0] if named else []
    noun = bool(named) and not counted[0] and not is_number(first[0]) and not CLASS.determiners & {first[0]}
    return (
        sum(counted)
        + _further_places(named, counted, can)
        + (noun and _names(first, can) and may_ask(" ".join(first), Phrases()))
    )


def may_follow(text: str, can: Abilities) -> bool:
    """True if what is said after a reply, in English, may ask for something to be done: "and the kitchen", "half of
    that", but no statement, question or courtesy.

    Args:
        can: What the hearer can do.
    """
    said = sentence(text)
    words = said.bare
    if not may_ask(text, Phrases()) or begins_with(words, _MERE_TALK) or is_only_no(said.words):
        return False
    if (NEGATIONS.search(text) and not is_correction(words)) or not is_english(text, can.names):
        return False
    states = words[0] in CLASS.subjects or begins_with(words, _COURTESIES) or is_backchannel(words)
    asks_back = is_question(words) or text.rstrip().endswith("?")
    return requests_in(text, can) > 0 or not (states or asks_back)


def _further_places(parts: Sequence[Sequence[str]], asks: Sequence[bool], can: Abilities) -> int:
    """Counts the parts that name one place more: two in "go to the hall, the kitchen and the office"."""
    found, goes = 0, False
    for part, asked in zip(parts, asks, strict=True):
        goes = bool(begins_with(without_asking(list(part)), _GOES)) if asked else goes and _is_value(part, can)
        found += goes and not asked
    return found


def _is_value(words: Sequence[str], can: Abilities) -> bool:
    """True if words are a value that a parameter may have: "the living room", "to my office"."""
    words = words[1:] if words[:1] == ["to"] else words
    name = words[1:] if CLASS.determiners.intersection(words[:1]) else words
    return bool(name) and tuple(name) in can.values


def _begins_as_command(words: Sequence[str], can: Abilities) -> bool:
    """True if words begin with a verb of commands, or one of the hearer's own that no verb follows: "water is blue"."""
    for said in (without_asking(list(words)), without_asking(without_leading(list(words)))):
        if said and said[0] in can.verbs and not CLASS.auxiliaries.intersection(said[1:2]):
            return True
    return begins_with_verb(words) and without_asking(list(words))[:1] not in _NO_COMMAND


def _names(words: Sequence[str], can: Abilities, *, alone: bool = False) -> bool:
    """True if words name something that the hearer can do.

    Args:
        alone: A verb of the hearer's own stands before them: a way and a number are enough, "drive forward".
    """
    named = [word for word in words if not (word in CLASS.function_words | CLASS.verbs or is_number(word))]
    if any(word in can.names or any(alike(word, one) for one in can.names) for word in named):
        return True
    return alone and all(word in _WAYS for word in named)


def asks_about_facts(text: str, named: AbstractSet[str] = frozenset()) -> bool:
    """True if a text asks about what was or what something is, and for nothing else: "was that left", but not "did you
    see it? go there".

    Args:
        named: Words of the names of an app's tools, which may be there for that: "notify_when", "check_pump".
    """
    words = sentence(text).bare
    if (
        not says("facts", words)
        or not named.isdisjoint(RULE.notifies | set(words[:1]))
        or _SENTENCES.search(text.strip(" .!?"))
    ):
        return False
    return not _ends_in_command(text) and not _commands_inside(words, 2)


def is_for_later(text: str, verbs: AbstractSet[str]) -> bool:
    """True if a command is not for now: "tomorrow go to the hall", "come here when I call you".

    What comes after something that the robot itself does is for now, in that order: "once you are there, look up". Of
    several clauses the first command decides.

    Args:
        verbs: First words of an app's tools' names, which are commands too: "mow the lawn tomorrow".
    """
    text = inverse_normalised(text)
    told = decide("for_later", _with_known_verbs(sentence(text).bare, verbs))
    if told is not None:
        return told != "no" and verbs.isdisjoint(told.split("/"))
    clauses = (_with_known_verbs(without_asking(bare(clause)), verbs) for clause in _clauses(text))
    first = next((clause for clause in clauses if clause and clause[0] in CLASS.verbs), [])
    return says("done_later", first)


def _with_known_verbs(words: Sequence[str], verbs: AbstractSet[str]) -> list[str]:
    """The words with "go" in place of an app's own verbs, where no rule knows them."""
    return ["go" if word in verbs and word not in CLASS.verbs | RULE.tells else word for word in words]


def _is_reported(text: str) -> bool:
    """True if the last clause tells who has said the rest: "come here, said the man"."""
    *before, last = _clauses(text)
    return bool(before) and says("reported", bare(last))


def _clauses(text: str) -> list[list[str]]:
    """The words of each clause."""
    return [words_of(clause) for clause in _CLAUSES.split(text.strip(" .!"))]


def continues(text: str) -> bool:
    """True if a text asks for what was asked before and no more, without a verb: "the office one as well"."""
    words = sentence(text).bare
    main = _main(words)
    return says("continues", main) and not _wishes(main) and not _commands_inside(main, 1)


def _main(words: list[str]) -> list[str]:
    """The main clause, or all of it where there is none."""
    return bare(without_leading(words)) or words


def names_a_verb(text: str, verbs: AbstractSet[str], named: AbstractSet[str]) -> bool:
    """True if a clause behind a report begins with one of an app's own verbs, "the birds are back, scare them off", or
    if a text asks for what only a tool of that name does: "say turn left".

    Args:
        verbs: First words of its tools' names.
        named: All words of them.
    """
    if _takes_back(sentence(text).bare):
        return False
    if wanted := _tools_for(text):
        return not named.isdisjoint(wanted)
    clauses = map(bare, _clauses(text)[1:])
    return any(len(words) > 1 and words[0] in verbs - RULE.tells for words in clauses)


def _tools_for(text: str) -> list[str]:
    """Words in the names of those tools without which a text asks for nothing; none where it asks anyhow."""
    told = decide("only_with", sentence(text).bare)
    if told is None or (_ends_in_command(text) and not _QUOTES.fullmatch(text.strip(" .!"))):
        return []
    return told.split("/")


def _is_number_alone(words: Sequence[str]) -> bool:
    """True if there are no words at all, or numbers alone, of which nobody knows what they are for."""
    return all(is_number(word) or word in RULE.signs for word in words)


def _ends_in_command(text: str) -> bool:
    """True if a command follows a report, behind a comma: "I am in the hall, come here"."""
    *before, last = _clauses(text)
    last = bare(last) if before else []
    if any(clause[-1:] and clause[-1] in NEGATION.forbids for clause in before):  # "do not, I repeat, go there"
        return False
    if says("remains", last) and any(not NEGATION.forbids.isdisjoint(clause) for clause in before):
        return False
    if last[1:2] == ["or"] and any(not NEGATION.forbids.isdisjoint(clause) for clause in before):
        return False  # "don't push, pull or lift anything"
    return len(last) > 1 and last[0] in CLASS.verbs - RULE.no_commands


def _takes_back(words: Sequence[str]) -> bool:
    """True if the end forbids what was said: "go to the kitchen never", but not "don't forget it"."""
    endings = ((form, len(words) - len(form)) for form in _TAKEN_BACK)
    return any(tuple(words[at:]) == form and words[at - 1] not in NEGATION.denies for form, at in endings if at > 0)


def _forbids_a_verb(words: Sequence[str]) -> bool:
    """True for a prohibition that no question mark makes a question of: "don't go", but not "don't you see"."""
    forbidden = begins_with(words, _FORBIDS)
    return 0 < forbidden < len(words) and words[forbidden] in CLASS.verbs | RULE.more_verbs


def _without_openers(words: list[str]) -> list[str]:
    """Without "no", "wait", "I said" before a sentence, as long as something is left."""
    at = 0
    while opener := begins_with(words[at:], _OPENERS):
        at += opener
    return words[at:] or words


def _after_comfort(words: list[str]) -> list[str]:
    """The command after "don't worry"; nothing where none follows at once."""
    comfort = begins_with(words, _COMFORTS)
    after = words[comfort:]
    return after if comfort and set(after[:1]) & (CLASS.verbs | {"just"}) else []


def _forbids_inside(words: Sequence[str]) -> bool:
    """True if a sentence forbids something after a few words that are no command, and asks for nothing after that:
    "whatever you do don't turn left", "could you please not turn left"."""
    clause = words[:1] and words[0] in CLASS.subordinates
    for at, word in enumerate(words if clause else words[: _FIRST + 1]):
        if not clause and (word in CLASS.verbs - {"be", "do"} or words[0] == "why"):
            return False
        rest = list(words[at + 1 :])
        while word in NEGATION.forbids and rest and rest[0] in RULE.between:
            rest = rest[1:]
        if word in NEGATION.forbids and rest and rest[0] in CLASS.verbs | RULE.more_verbs and rest[:1] != _REMINDS:
            return not _asks_after(rest)
    return False


def _asks_after(forbidden: Sequence[str]) -> bool:
    """True if something is asked for after what is forbidden: "bring tea bring coffee" after "don't"."""
    remains = (at for at in range(1, len(forbidden)) if says("remains", forbidden[at:]))
    forbidden = forbidden[: next(remains, len(forbidden))]
    verb, rest = forbidden[:1], list(forbidden[1:])
    wishes = any(pair in _WISHED for pair in pairwise(rest))
    again = any(one == verb[0] for one in rest[:-1]) if verb and verb[0] in CLASS.verbs else False
    return wishes or again or "but" in rest[:-1] or rest[-1:] == ["instead"] or _asks_inside(forbidden)


def _asks_inside(forbidden: Sequence[str]) -> bool:
    """True if what is forbidden holds a command; one that ends in "the light off" has another verb than its own."""
    other = not CLASS.verbs.isdisjoint(forbidden[1:-2])
    return _verb_inside(forbidden, _BOUND) or (other and _switches(forbidden))


def _called(said: Sequence[str], words: Sequence[str]) -> bool:
    """True if "hey you" or "hi there" stands before the rest."""
    before = len(said) - len(words) - 1
    return words[0] in ("you", "there") and before >= 0 and bool(RULE.calls & set(said[: before + 1]))


def _wishes(words: Sequence[str]) -> bool:
    """True if a sentence with a subject says what the robot shall do."""
    return says("wish", words, words[:_FIRST])


def _is_wish_for_a_thing(words: Sequence[str]) -> bool:
    """True if a sentence names a thing, or says where one belongs: "the red cube", "that towel to the window"."""
    if RULE.ought & set(words[1:_FIRST]):
        return ("belongs", "to") not in pairwise(words)
    there = words[0] in ("this", "that") and words[2:3] == ["to"]
    return not CLASS.auxiliaries & set(words) and (len(words) <= _SHORT or there)


def _is_about(verb: str, after: str) -> bool:
    """True if the next word fits a command: "pick the", "turn off", "look up", but not "the cup tell off"."""
    if after in CLASS.particles:
        return (verb, after) in NEEDS_OBJECT or after == "up" or verb in CLASS.moves | {"look", "come"}
    return after in RULE.objects or is_number(after)


def _verb_inside(words: Sequence[str], start: int) -> bool:
    """True if a command begins in the middle: a verb that nothing before it governs, with something it is about."""
    for at in range(start, len(words) - 1):
        verb, before, after = words[at], words[at - 1], words[at + 1]
        if verb in CLASS.verbs | RULE.more_verbs and before not in RULE.govern and _is_about(verb, after):
            return True
        if begins_with(words[at:], _ASKS):
            return True
    return False


def _switches(words: Sequence[str]) -> bool:
    """True if the words end as "the light off" does."""
    last = words[-1] if words else ""
    return last in ("on", "off", "out") and (words[-2] in CLASS.switchable or bool(RULE.ought & set(words)))


def _commands_inside(words: Sequence[str], start: int) -> bool:
    """True if a command begins in the middle, or the last word is one."""
    if _verb_inside(words, start) or _switches(words):
        return True
    last = words[-1] if words else ""
    return len(words) > _SHORT and last in CLASS.verbs - CLASS.open_verbs and words[-2] not in RULE.govern
