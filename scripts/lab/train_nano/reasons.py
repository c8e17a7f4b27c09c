"""A reason before or after a command, and frames that make a command of it all the same: "don't forget to ...".

Rows of what people say beside a command; only the command counts. Patterns are those of grammar.py.
"""

from __future__ import annotations

from typing import Final

from grammar import Slot, expand, parse_pattern
from inflection import begins_with_verb, inflected, past
from slots import KINDS
from utterances import Speaker, Utterance

from edgeagent.train import dressing

_OF_TOOL: Final[dict[str, tuple[str, ...]]] = {
    "drive": (
        "(you are|you're) (in my way|in the way|too close|too far away|blocking the door|standing on my foot|on the carpet)",
        "(i|we) (can't get past|can't get through|have to get by|have to mop here|want to open the drawer|need the space|can't reach the shelf|want to sit down)",
        "(the door won't open|the drawer is stuck behind you|the kids want to play here|your wheel is on the cable|the rug is under your wheels|somebody has to get by|it's cramped here)",
        "(i|we) (need|want) (some space|more room|to get past|to pass|to see you better)",
        "there is (something behind you|enough room|a chair in the way|a cat behind you|plenty of space)",
    ),
    "turn": (
        "you are (facing the wrong way|looking at the wall|facing the wall|turned the wrong way|pointing the wrong way)",
        "(i|we) (want to see your other side|can't see your face|want to look at your back|need you the other way round)",
        "the (door|exit|person|sofa) is (on the other side|behind you|over there)",
        "(i|we) (can't read your screen|want to plug in a cable|would like to see your front|have something to show you)",
        "(your camera points the wrong way|your back is to us|you have your back to me|the sun blinds you|the wall is not that interesting)",
    ),
    "go_to": (
        "(<name>|my mother|the cat|somebody|grandma) (is waiting there|wants to see you|needs you there|needs help)",
        "(there was a noise|something fell down|i heard something|someone rang|it smells strange) [over] there",
        "(we have|i am expecting|there are) (guests|visitors)", "(i am|i'm) (in there|over there already|waiting for you)",
    ),
    "stop": ("(there is|i see|mind) (a child|the cat|a step|somebody|the vase) [in front of you|there]", "(you will|you'll) (hit the wall|fall down the stairs|hurt somebody)"),
    "get_battery": ("(we have|there is) a lot to do", "(i don't want you to|you mustn't) stop halfway", "(i am|i'm) (worried about your battery|not sure you will last|afraid you run out of power)", "you (sound tired|have worked all day|have been driving for hours)"),
    "get_location": ("(i hear you but i|i) don't see you (anywhere|here)", "(it's|it is) dark and i hear wheels", "(i can't see you|i have lost you|i lost sight of you|i can't find you)",),
    "scan": ("(it is|it's) (crowded|very narrow|messy) (here|in there)", "(i don't want you|you mustn't) (to bump|bump) into (anything|things|the furniture)"),
    "pick_up": (
        "(i|we) (left it there|forgot it|can't reach it|can't find it|put it away somewhere|will need it in a minute|lent it to <name> and want it back)",
        "(i am|i'm|we are) (thirsty|hungry|cold|wet|bored|busy|in bed|expecting a call|cooking|not feeling well|in the bath)",
        "(my hands are|i have my hands) (full|dirty|wet)", "(it is|it's) lying around (there|on the floor)",
        "(i want to|i have to|i'd like to) (read|drink something|watch tv|dry my hands|fix the shelf|make a call|leave the house)",
    ),
    "put_down": ("(it is|it's) (heavy|in the way|mine|hot|wet)", "(that is where it belongs|i will need it there|that's its place)"),
    "set_light": (
        "(it is|it's|it is getting|it's getting) (dark|too dark|late|too bright|bright outside|night) [in here|already|now]",
        "(i|we) (can't see anything|can't sleep|want to sleep|want to read|want to save power|are going out|are leaving|have a headache)",
        "(electricity is|power is) expensive", "the sun (is shining|has set|has gone down|is up)", "(nobody is|no one is) in there",
    ),
    "set_timer": (
        "(the|my) (tea|eggs|pizza|cake|pasta|rice) (is|are) (in the oven|on the stove|almost done|cooking|in the pot)",
        "(i|we) (must not|mustn't|don't want to) (oversleep|forget it|be late|miss the bus|burn it)", "(i am|i'm) (going to take a nap|cooking|baking a cake)",
    ),
    "get_time": ("(i|we) (don't want to miss the news|are meeting <name>|have something in the oven|should leave soon)", "the clock (on the wall|in the hall|on the oven) (has stopped|is wrong|is broken)", "(i|we) (must not be late|have to catch a train|have an appointment|forgot my watch|lost track of time)", "my watch has stopped"),
    "follow": ("(i|we) (need|want|could use) (company|somebody to talk to|a hand)", "(i have|there's) something to carry", "(i want to|i'll|let me) show you (something|the flat|where it is|my room)", "(we are|i am) going for a walk", "(i don't want to|i shouldn't) be alone"),
    "dock": (
        "(i won't need you|nothing else needs doing|the work is done|we can manage without you|you have a long day tomorrow|there's a storm coming) [for a while|tonight]",
        "(your battery|the battery) (must be|is|seems|will be|should be) (nearly empty|almost empty|low|flat soon|running low|getting low|at five percent|dying)",
        "you (look tired|have worked enough|must be tired|are low on power|deserve a rest|need power|are running out of juice|have done a lot today)",
        "(we are|i am) (done for today|going to bed|going out)", "that was all for today",
    ),
    "look": ("(there is|i see) (something|a spider|a fly|a bird) (there|up there|over there)", "(i heard something|something moved|what was that)"),
}  # fmt: skip
_ANY: Final = (
    "(i am|i'm|we are|we're) (tired|busy|late|in a hurry|bored|back|ready|curious|sick|old|at work|eating|on the phone|talking)", "(it is|it's) (late|early|cold|hot|raining|sunday|your turn|time|important|urgent|fun)",
    "(the kids are|grandma is|the baby is|my wife is|<name> is) (asleep|coming|here|sleeping|waiting|watching)", "(i can't|i cannot) (do it myself|get up|walk|reach it)",
    "(my back hurts|my legs hurt|my foot hurts|i have no time|i forgot about it|i changed my mind|i have an idea|i trust you|nobody else is here)",
    "(we have|i have) (guests|a visitor|a party <soon>|a meeting|little time)".replace(" <soon>", ""), "(you are|you're) (such a help|the best|a good robot|doing fine|fast today|free now)",
    "(i was|we were) (wrong|thinking|just wondering|in the garden|asleep)", "(that was|this is) (great|good|not what i wanted|the wrong one|fun|a test)", "(it|that) (doesn't matter now|won't take long|is easy for you)",
    "(i drove|i walked|i went) to work (today|yesterday)", "(she|he|<name>) (told me you can do it|said you are good at it|asked for it|wants it|needs it)",
)  # fmt: skip
_BEFORE: Final = (
    "{r}, {c}", "{r}, {c}", "{r}. {c}", "{r}. {c}", "{r}, so {c}", "{r} so {c}", "{r}, so please {c}", "{r}, please {c}", "{r}. please {c}", "{r}, could you {c}",
    "{r}. could you {c}", "{r}, why don't you {c}", "{r}, why don't you go and {c}", "{r}, can you {c}", "{r}. can you please {c}", "{r}, would you {c}",
    "{r}, you should {c}", "{r}, you'd better {c}", "{r}, i want you to {c}", "since {r}, {c}", "because {r}, {c}", "as {r}, {c}", "{r} - {c}", "{r}; {c}", "{r} {c}",
    "{r}, how about you {c}", "{r}, maybe you could {c}", "{r}, that's why i'd like you to {c}", "{r}, therefore {c}", "{r}, it is time to {c}", "{r} and i need you to {c}",
    "{r}, just {c}", "{r}, be so kind and {c}", "seeing that {r}, {c}", "i think {r}, so {c}", "you know, {r}, so {c}", "{r}, now {c}", "{r}, go and {c}",
)  # fmt: skip
_AFTER: Final = (
    "{c}, {r}", "{c}, {r}", "{c}. {r}", "{c} because {r}", "{c}, because {r}", "{c} since {r}", "{c}, since {r}", "{c}, as {r}", "{c} cause {r}", "{c}, you see, {r}",
    "could you {c}, {r}", "please {c}, {r}", "can you {c}? {r}", "{c} please, {r}", "{c} now, {r}", "why don't you {c}, {r}", "i'd like you to {c} because {r}", "{c}, i think {r}",
)  # fmt: skip
_INSISTING: Final = (
    "don't forget to {c}", "don't forget to {c}", "do not forget to {c}", "don't forget: {c}", "please remember to {c}", "remember to {c}", "make sure you {c}", "make sure to {c}",
    "be sure to {c}", "see to it that you {c}", "you still have to {c}", "you still need to {c}", "you forgot to {c}, do it now", "why don't you {c}", "why don't you go and {c}",
    "why not {c}", "why wouldn't you just {c}", "couldn't you {c}", "can't you {c}", "won't you {c}", "wouldn't you {c} for me", "don't just stand there, {c}", "don't be lazy, {c}",
    "don't hesitate to {c}", "don't wait, {c}", "don't worry, just {c}", "do {c}", "do please {c}", "i insist that you {c}", "i suggest you {c}", "i propose that you {c}", "i order you to {c}",
    "what about this: {c}", "here's an idea: {c}", "new plan, {c}", "change of plan: {c}", "one more thing: {c}", "my next wish: {c}", "i have a job for you: {c}", "next task: {c}",
    "you might as well {c}", "you could {c} now", "would it be okay if you {c}", "i'd be glad if you could {c}", "i'd appreciate it if you could {c}", "it's time for you to {c}", "how about you {c}",
    "ok so like {c} i guess", "um {c} i guess", "yeah {c} or something", "so uh {c} if that's okay", "hm let's see, {c}", "let me think, {c}", "well okay then {c}", "all right, i suppose you can {c}",
    "if you would, {c}", "if you don't mind, {c}", "when you get a chance, {c}", "hello there, {c}", "good morning robot, {c}", "hi robot, how are you? {c}", "thanks, and now {c}", "great, thank you. {c}",
    "good evening, could you {c}", "never mind that, {c}", "forget what i said, {c}", "no more talking, {c}", "stop talking and {c}", "oi mate, {c}", "yo, {c} will ya", "c'mon, {c}", "go on, {c}",
)  # fmt: skip
_ASKING: Final = (
    "how about {ing}", "how about {ing}", "what about {ing}", "would you mind {ing}", "do you mind {ing}", "any chance of {ing}", "any chance of you {ing}", "is there any chance of you {ing}", "could i trouble you with {ing}",
    "could i bother you with {ing}", "can i get you to start {ing}", "i'd appreciate you {ing}", "what do you say to {ing}", "fancy {ing}", "feel like {ing}", "i wouldn't mind you {ing}", "might i suggest {ing}", "i'm in favour of you {ing}",
    "i'd suggest {ing}", "your next job is {ing}", "next on the list is {ing}", "you could help by {ing}", "you'd help me by {ing}", "make yourself useful by {ing}", "you can start by {ing}", "do me the favour of {ing}", "i'm counting on you {ing}",
    "it would help if you {past}", "it would help if you {past}", "it would help me if you {past}", "it'd be great if you {past}", "it would be lovely if you {past}", "i'd be glad if you {past}", "i'd be grateful if you {past}", "i'd love it if you {past}",
    "i'd appreciate it if you {past}", "it would be nice if you {past}", "would it be all right if you {past}", "would it be too much to ask if you {past}", "i'd feel better if you {past}", "i'd be happier if you {past}", "it's high time you {past}",
    "it's about time you {past}", "things would be easier if you {past}", "what if you just {past}, please", "you'd do me a favour if you {past}", "i'd prefer it if you {past}", "i'd rather you {past}", "would it bother you if i asked you to {c}",
    "you couldn't {c}, could you", "you wouldn't {c}, would you", "i don't suppose you could {c}", "i don't suppose you'd {c}", "could you possibly {c}", "might you {c}", "do you think you could {c}", "think you could {c}", "i was hoping you'd {c}",
    "i was hoping you could {c}", "i was wondering whether you could {c}", "would you be willing to {c}", "would you be kind enough to {c}", "can i ask you to {c}", "may i ask you to {c}", "can i trouble you to {c}", "can i get you to {c}",
    "be an angel and {c}", "be a sport and {c}", "do me a kindness and {c}", "if it's not too much trouble, {c}", "if it isn't too much bother, {c}", "whenever you're ready, {c}", "if you'd be so good, {c}", "in your own time, {c}",
    "it would be good to have you {c}", "perhaps you'd {c}", "perhaps you would {c}", "you'd best {c}", "you had better {c}", "best you {c}", "i'd have you {c}", "let me ask you to {c}", "i must ask you to {c}", "kindly {c}", "i'd ask you to {c}",
)  # fmt: skip
"""Asking with a gerund {ing}, a past tense {past}, or the command {c} as it is; a reason may follow or go before."""
_PARSED: Final = {name: [parse_pattern(text, {}, name) for text in rows] for name, rows in {**_OF_TOOL, "": _ANY}.items()}  # fmt: skip
_TALKED: Final = 0.14
"""Share of the commands behind a remark that has nothing to do with them."""
_FITTING: Final = 0.7
"""Share of the reasons that fit the command."""


def _reason(speaker: Speaker, tool: str) -> str:
    rng = speaker.rng
    rows = _PARSED[tool] if tool in _PARSED and rng.random() < _FITTING else _PARSED[""]
    pieces = expand(rng.choice(rows), rng)
    return "".join(KINDS[p.kind](rng).surface if isinstance(p, Slot) else p for p in pieces)


def _after_talk(speaker: Speaker) -> Utterance:
    """A remark or what is forbidden, and then a command about something else; only the command counts."""
    rng = speaker.rng
    while True:
        one, talk = speaker.imperative(), speaker.draw(rng.choice(("none talk", "none talk", "none forbidding"))).text()
        text = one.text()
        named = [str(drawn.value) for drawn in one.draws.values() if isinstance(drawn.value, str)]
        if begins_with_verb(text) and not dressing.is_question(talk) and not any(name in talk for name in named):
            shape = rng.choice(("{r}. {c}", "{r}. {c}", "{r}. now {c}", "{r}. please {c}", "{r}. so {c}", "{r}. could you {c}", "{r}. and now {c}", "{r}. anyway, {c}", "{r}. but {c}", "{r}. i want you to {c}"))  # fmt: skip
            return Utterance(shape.format(r=talk.rstrip(".?!"), c=text), one.calls(), tag="reason", bare=False)


def reasoned(speaker: Speaker) -> Utterance:
    """A command, or two, with a reason or in a frame that insists."""
    rng = speaker.rng
    if rng.random() < _TALKED:
        return _after_talk(speaker)
    kind = rng.random()
    one = speaker.chainable() if kind < 0.12 else speaker.imperative() if kind < 0.9 else speaker.command()
    text, calls = one.text(), one.calls()
    if kind < 0.35 and begins_with_verb(text):
        return Utterance(rng.choice(_INSISTING).format(c=text), calls, tag="reason", bare=False)
    if kind < 0.58 and (forms := inflected(text)) is not None:
        asked = rng.choice(_ASKING).format(ing=forms[0], past=past(text), c=text)
        where = rng.random()
        if where < 0.6:
            reason = _reason(speaker, calls[0].name)
            asked = rng.choice(("{c}, {r}", "{c}, {r}", "{c}. {r}", "{c} because {r}", "{c}, since {r}", "{c}? {r}") if where < 0.35 else ("{r}, {c}", "{r}. {c}", "{r}, so {c}")).format(c=asked, r=reason)  # fmt: skip
        return Utterance(asked, calls, tag="reason", bare=False)
    frames = _BEFORE if rng.random() < 0.65 else _AFTER
    if not begins_with_verb(text):
        frames = ("{r}. {c}", "{r}, {c}", "{r}; {c}") if frames is _BEFORE else ("{c}, {r}", "{c}. {r}")
    reason = _reason(speaker, calls[0].name)
    if rng.random() < 0.08:
        reason += rng.choice((" and ", ", ")) + _reason(speaker, calls[0].name)
    return Utterance(rng.choice(frames).format(r=reason, c=text), calls, tag="reason", bare=False)
