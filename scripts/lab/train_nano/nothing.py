"""One user turn that no call answers, and the reply to it: talk, negations, what no tool serves, what is not there.

Draws the rules without calls, and turns commands into what is none.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

import lexicon
from grammar import Slot, expand
from inflection import inflected, past, present
from slots import KINDS, pseudo_word
from utterances import ARTICLES, Speaker, Utterance

from edgeagent.train import dressing as noise

CANNOT: Final = (
    "I can't do that.",
    "Sorry, I can't do that.",
    "I'm sorry, I can't do that.",
    "That is something I can't do.",
)
_WONT: Final = ("Okay, I won't.", "All right, I won't.", "Okay, I will not do that.", "Fine, I won't.")
_UNKNOWN: Final = ("Sorry, I did not understand that.", "I did not get that.", "Sorry, could you say that again?")
_WHO: Final = ("she", "he", "my brother", "my boss", "my mother", "somebody", "the neighbour")
_TWICE: Final = 0.15
_PLACED: Final = frozenset(("go_to", "pick_up", "put_down", "set_light"))


_RETOLD: Final = (
    "i have {done}", "i've already {done}", "i have just {done} myself", "{w} has {done}", "{w} has just {done}", "{w} has already {done}", "we have {done} before", "nobody has {done} yet",
    "{w} is {ing}", "{w} was {ing} when i came home", "i was {ing} when the phone rang", "i was just {ing}", "i am {ing} right now", "we were {ing} all day", "{w} keeps {ing} all the time",
    "i saw how {w} was {ing}", "i hate {ing}", "i love {ing}", "i enjoy {ing}", "{w} likes {ing}", "{w} is good at {ing}", "i'm thinking about {ing}", "i am tired of {ing}", "i dreamed of {ing}", "i remember {ing}",
    "{w} will be {ing} tomorrow", "i will be {ing} next week", "yesterday {w} was {ing}", "last night i was {ing}", "{w} got hurt while {ing}", "{w} got lost after {ing}", "{ing} is not easy", "{ing} is hard work",
    "{ing} takes time", "{ing} is what robots do", "{ing} makes me tired", "why were you {ing}", "why was {w} {ing}", "who was {ing}", "did you like {ing}", "is {w} {ing}", "was {w} {ing} again", "is {ing} difficult",
    "have you ever {done}", "has {w} {done}", "had you {done} before", "you have {done} so well", "i know that you have {done}", "i see you have {done}", "you had {done} by then", "i should have {done}", "you could have {done}",
    "{w} would have {done}", "i wish i had {done}", "i wish {w} had {done}", "i forgot that i had {done}", "if i had {done} it would be better", "what if {w} had {done}", "instead of {ing} i went to bed", "without {ing} it does not work",
    "i can't imagine {ing}", "there's no sense in {ing}", "the film is about {ing}", "it's all about {ing}", "i like the way you are {ing}", "some day you might be {ing}", "maybe one day {w} will be {ing}", "i never said anything about {ing}",
    "thanks for {ing}", "thank you for {ing}", "thanks again for {ing}", "many thanks for {ing} so quickly", "thanks for {ing} this morning", "nice work {ing}", "good job {ing}", "well done {ing} all alone", "i liked how you {past}", "i loved it when you {past}",
    "yesterday you {past}", "you already {past}", "you {past} before i asked", "{w} {past} yesterday", "i {past} this morning", "i {past} all by myself", "nobody {past}", "the day you {past} the cat ran away", "it was funny when you {past}",
    "{w} says you {past}", "the last time you {past} it took ages", "since you {past} it has been quiet here", "after you {past} i fell asleep", "because {w} {past} we were late", "it was {w} who {past}", "you {past} and i am grateful", "in my dream you {past}",
    "did you see how {w} {past}", "who {past}", "why was it that {w} {past}", "first {w} {past}, then we left", "in the film the robot {past}", "congratulations on {ing}", "sorry for {ing}", "i apologise for {ing}", "{ing} was a great idea",
    "{w} got famous for {ing}", "i was told you {past}", "as soon as {w} {past} it began to rain", "phew, {w} {past}", "so nicely you {past} back then", "i never saw how you {past}", "remember how you {past}", "it is ages since you {past}", "was it you who {past}",
    "they say {w} {past} in record time", "you {past} twice as fast as {w}", "we laughed because {w} {past}", "i regret {ing}", "{w} was arrested for {ing}", "my son is proud of {ing}", "there was no need for {ing} yesterday", "{ing} has become a habit",
    "and then {w} {s}, can you believe it", "every evening {w} {s}", "{w} always {s} too late", "there we are in the rain and {w} {s}", "in the first scene {w} {s}, and it gets worse",
    "imagine, {w} {s} and nobody helps", "{w} {s} whenever it is cold", "and just as the guests arrive {w} {s}", "{w} never {s} at night", "while {w} {s} I make the tea", "the moment {w} {s} the cat wakes up",
)  # fmt: skip
"""A command's words, of what was, will be, or somebody else does; {w} is somebody, the rest are forms of the verb."""


class Nothing:
    """Draws what no call answers, with a speaker's rules and its random generator."""

    def __init__(self, speaker: Speaker) -> None:
        self._speaker = speaker
        self._rng = speaker.rng

    def draw(self) -> Utterance:
        """Something that no call answers."""
        rng = self._rng
        kind = rng.choices(
            (
                self.said,
                self._negated,
                self._unserved,
                self._elsewhere,
                self._reported,
                self._broken_off,
                self._gibberish,
                self._idiom,
                self._foreign,
                self._wordless,
                self._retold,
                self.talk,
                self._service,
                self._forbidden,
            ),
            (0.24, 0.08, 0.05, 0.06, 0.06, 0.05, 0.02, 0.09, 0.04, 0.04, 0.08, 0.11, 0.08, 0.09),
        )[0]
        return kind()

    def said(self) -> Utterance:
        """Small talk, statements, questions about something else: the rules with `none`."""
        return self._of("none")

    def _idiom(self) -> Utterance:
        return self._of("none idioms")

    def talk(self) -> Utterance:
        """A remark, or two."""
        one = self._of("none talk")
        if self._rng.random() > _TWICE:
            return one
        two = self._of("none talk")
        return replace(
            two, text=f"{one.text}{self._rng.choice(('. ', '. ', ', ', ' and ', '. you know, ', '. well, '))}{two.text}"
        )

    def _service(self) -> Utterance:
        return self._of("none unserved")

    def _forbidden(self) -> Utterance:
        return self._of("none forbidding")

    def _foreign(self) -> Utterance:
        return self._of("none languages")

    def _retold(self) -> Utterance:
        rng = self._rng
        while (forms := inflected(command := self._speaker.imperative().text())) is None:
            pass
        who = rng.choice((*_WHO, rng.choice(lexicon.NAMES).lower()))
        text = rng.choice(_RETOLD).format(ing=forms[0], done=forms[1], past=past(command), s=present(command), w=who)
        reply = rng.choice(("I don't know.", "I can't say.") if noise.is_question(text) else ("I see.", "Okay."))
        if "thank" in text:
            reply = rng.choice(("You're welcome.", "My pleasure.", "Glad to help."))
        return Utterance(text, reply=reply, tag="none", bare=False)

    def _wordless(self) -> Utterance:
        return replace(self._of("none wordless"), as_typed=True)

    def _of(self, group: str) -> Utterance:
        one = self._speaker.draw(group)
        pieces = expand(one.rule.reply, self._rng) if one.rule.reply else []
        words = [
            one.draws[p.key].surface
            if isinstance(p, Slot) and p.key in one.draws
            else p
            if isinstance(p, str)
            else KINDS[p.kind](self._rng).surface
            for p in pieces
        ]
        reply = re.sub(r"\s+", " ", "".join(words)).strip()
        return Utterance(one.text(), reply=reply, tag="none", bare=False)

    def _negated(self) -> Utterance:
        rng = self._rng
        one = self._speaker.imperative().text()
        dont = rng.choice(
            ("don't {}", "don't {}", "don't {}", "please don't {}", "do not {}", "never {}", "you must not {}", "you mustn't {}", "you shouldn't {}", "no need to {}", "there's no need to {}", "i don't want you to {}",
             "you don't have to {}", "you don't need to {}", "dont {}", "i said don't {}", "never ever {}", "don't you dare {}", "i'd rather you didn't {}", "it is not necessary to {}", "under no circumstances {}",
             "please do not {} now", "don't {} yet", "not now, don't {}", "you can't {} now", "i told you not to {}", "i'd prefer you not to {}", "nobody asked you to {}", "make sure you don't {}", "better not {}", "you are not allowed to {}",
             "you ain't going to {}", "you're not to {}", "you are not to {}", "nobody said to {}", "no one told you to {}", "i never said to {}", "i didn't say to {}", "i'd be happier if you didn't {}", "it would be better if you didn't {}",
             "i'd prefer it if you didn't {}", "would you please not {}", "please try not to {}", "please resist the urge to {}", "you won't {} today", "you will not {}", "thou shalt not {}", "i forbid you to {}",
             "it is forbidden to {}", "for the last time, don't {}", "whatever happens, don't {}", "no matter what they say, don't {}", "if you love me, don't {}", "no, no, don't {}", "there is no reason to {}",
             "it's too late to {} now", "i hope you don't {}", "you'd better not {}", "let's not {}", "i won't have you {}", "i can't let you {}", "i asked you not to {}", "remember not to {}", "you know you mustn't {}", "who said you could {}")
        )  # fmt: skip
        if rng.random() < 0.15:
            two = self._speaker.imperative().text()
            return Utterance(f"{dont.format(one)} and don't {two}", reply=rng.choice(_WONT), tag="none", bare=False)
        return Utterance(dont.format(one), reply=rng.choice(_WONT), tag="none", bare=False)

    def _unserved(self) -> Utterance:
        rng = self._rng
        verb = rng.choice(lexicon.UNSERVED_VERBS)
        kind = rng.choice(("thing", "object", "unknown_object", "room", "landmark", "person"))
        if kind == "person":
            verb = rng.choice(
                (
                    "call",
                    "text",
                    "email",
                    "phone",
                    "visit",
                    "invite",
                    "wake up",
                    "hug",
                    "kiss",
                    "ask",
                    "sing for",
                    "cook for",
                )
            )
        text = f"{verb} {KINDS[kind](rng).surface}"
        if rng.random() < 0.12:
            text = f"{pseudo_word(rng)} {KINDS[kind](rng).surface}"
        if rng.random() < 0.15:
            text += rng.choice(
                (
                    " in the kitchen",
                    " for dinner",
                    " tomorrow",
                    " in five minutes",
                    " on the sofa",
                    " with soap",
                    " twice",
                )
            )
        return Utterance(noise.polite(text, rng), reply=rng.choice(CANNOT), tag="none", bare=False)

    def _elsewhere(self) -> Utterance:
        """A command with a place or object that the flat has not."""
        rng = self._rng
        for _ in range(50):
            one = self._speaker.imperative()
            known = [k for k in one.draws if k[0] in ("place", "room", "dropplace", "light", "object", "landmark")]
            if not known or not {c.name for c in one.rule.calls} <= _PLACED:
                continue
            draws = dict(one.draws)
            for key in known:
                draws[key] = KINDS["unknown_object" if key[0] == "object" else "unknown_place"](rng)
            word = draws[known[-1]].value
            if known[-1][0] == "object":
                replies = (f"There is no {word} here.", f"I know no {word} here.")
            else:
                replies = (f"There is no {word} here.", f"I know no place called {word}.")
            return Utterance(
                noise.polite(replace(one, draws=draws).text(), rng), reply=rng.choice(replies), tag="none", bare=False
            )
        return self._unserved()

    def _reported(self) -> Utterance:
        rng = self._rng
        one = self._speaker.imperative().text()
        who = rng.choice(
            (
                "she",
                "he",
                "they",
                "my boss",
                "my mother",
                "somebody",
                "the neighbour",
                rng.choice(lexicon.NAMES).lower(),
            )
        )
        shape = rng.choice(
            ("{w} told me to {c}", "{w} asked me to {c}", "{w} wants me to {c}", "{w} said {c}", "if i said {c} would you do it", "what would happen if i said {c}", "what would you do if i told you to {c}",
             "suppose i asked you to {c}", "i might ask you to {c} later", "maybe later you can {c}", "i will {c} myself", "i can {c} myself", "i'm going to {c}", "i have to {c}", "i want to {c} myself",
             "yesterday i asked you to {c}", "you were supposed to {c} yesterday", "why did you {c}", "did you {c}", "i wanted to {c} but i was too tired", "{c}, never mind", "{c}, no forget it", "{c} no cancel that",
             "would you {c} if i asked you", "the film is called {c}", "i was about to say {c}", "last week i had to {c}", "i would never {c}", "people often {c}", "it is hard to {c}", "robots can {c}", "when i was a child i could {c}",
             "did {w} tell you to {c}", "{w} never asked me to {c}", "how do i {c}", "is it difficult to {c}", "have you ever tried to {c}", "who told you to {c}",
             "{w} always says {c}", "{w} keeps telling people to {c}", "in the film they say {c}", "in the book a robot has to {c}", "my horoscope told me to {c}", "the sign says {c}", "the manual says {c}", "my grandfather used to {c}",
             "{w} would like to {c} some day", "{w} was the first to {c}", "nobody here can {c}", "{w} forgot to {c}", "{w} refused to {c}", "{w} is too tired to {c}", "you used to {c} all the time", "you never {c} when i watch",
             "i thought you would {c}", "i bet you can't {c}", "i heard that you can {c}", "is it true that you can {c}", "would it be hard for you to {c}", "what does it take to {c}", "how long would it take you to {c}", "do you like to {c}",
             "do you ever {c} at night", "why would anybody {c}", "does {w} know how to {c}", "imagine i told you to {c}", "let's say i wanted you to {c}, could you", "if the phone rings i have to {c}", "before i die i want to {c} myself",
             "it was {w} who had to {c}", "the doctor told me to {c}", "the joke goes: {c}", "quote: {c}, end of quote", "the first line of the song is {c}", "how do you say {c} in french", "what do you mean by {c}", "when they say {c} i laugh")
        )  # fmt: skip
        reply = (
            rng.choice(("Okay, I won't do anything.", "I see.", "Okay."))
            if not noise.is_question(shape)
            else rng.choice(("I only do it when you ask me to.", "Just tell me when I should do it."))
        )
        return Utterance(shape.format(w=who, c=one), reply=reply, tag="none", bare=False)

    def _broken_off(self) -> Utterance:
        rng = self._rng
        for _ in range(50):
            one = self._speaker.imperative()
            pieces = [p for p in one.pieces if p != " "]
            at = next((i for i, p in enumerate(pieces) if isinstance(p, Slot)), None)
            if at is None or not at or pieces[at].kind in ("count", "direction"):
                continue
            words = [p for p in pieces[:at] if isinstance(p, str)]
            if pieces[at].kind in ("dist", "angle", "duration") and words[-1] not in (
                "for",
                "to",
                "in",
                "by",
                "of",
                "at",
                "a",
            ):
                continue
            text = " ".join(words) + rng.choice(("", " the", " the", " my")) * (
                pieces[at].kind in ("place", "room", "dropplace", "object", "light")
            )
            return Utterance(
                noise.polite(text, rng, 0.2),
                reply=rng.choice(
                    (
                        "Sorry, I did not get the rest.",
                        "I did not hear the end of that.",
                        "Could you finish that sentence?",
                    )
                ),
                tag="none",
                bare=False,
            )
        return self._gibberish()

    def _gibberish(self) -> Utterance:
        rng = self._rng
        words = (
            [w for _ in range(2) for w in self._speaker.command().text().split()]
            + list(rng.sample(lexicon.UNKNOWN_OBJECTS, 3))
            + [pseudo_word(rng)]
        )
        small = [w for w in words if w in ARTICLES or w in ("and", "of", "it", "in", "to", "on", "is")] + [
            "and",
            "of",
            "the",
            "so",
            "uh",
        ]
        pick = (
            rng.sample(lexicon.UNKNOWN_OBJECTS, rng.randint(0, 2))
            + rng.sample(small, min(len(small), rng.randint(1, 4)))
            + [pseudo_word(rng) for _ in range(rng.randint(0, 2))]
        )
        rng.shuffle(pick)
        return Utterance(" ".join(pick), reply=rng.choice(_UNKNOWN), tag="none", bare=False)
