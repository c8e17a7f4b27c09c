"""A reason before or after a command, and frames that make a command of it all the same: "don't forget to ...".

Rows of what people say beside a command; only the command counts. Patterns are those of grammar.py.
"""

from __future__ import annotations

from typing import Final

from grammar import Slot, expand, parse_pattern
from inflection import begins_with_verb
from slots import KINDS
from utterances import Speaker, Utterance

_OF_TOOL: Final[dict[str, tuple[str, ...]]] = {
    "drive": (
        "(you are|you're) (in my way|in the way|too close|too far away|blocking the door|standing on my foot|on the carpet)",
        "(i|we) (need|want) (some space|more room|to get past|to pass|to see you better)",
        "there is (something behind you|enough room|a chair in the way|a cat behind you|plenty of space)",
    ),
    "turn": (
        "you are (facing the wrong way|looking at the wall|facing the wall|turned the wrong way|pointing the wrong way)",
        "(i|we) (want to see your other side|can't see your face|want to look at your back|need you the other way round)",
        "the (door|exit|person|sofa) is (on the other side|behind you|over there)",
    ),
    "go_to": (
        "(<name>|my mother|the cat|somebody|grandma) (is waiting there|wants to see you|needs you there|needs help)",
        "(there was a noise|something fell down|i heard something|someone rang|it smells strange) [over] there",
        "(we have|i am expecting|there are) (guests|visitors)", "(i am|i'm) (in there|over there already|waiting for you)",
    ),
    "stop": ("(there is|i see|mind) (a child|the cat|a step|somebody|the vase) [in front of you|there]", "(you will|you'll) (hit the wall|fall down the stairs|hurt somebody)"),
    "get_battery": ("(i am|i'm) (worried about your battery|not sure you will last|afraid you run out of power)", "you (sound tired|have worked all day|have been driving for hours)"),
    "get_location": ("(i can't see you|i have lost you|i lost sight of you|i can't find you)",),
    "scan": ("(it is|it's) (crowded|very narrow|messy) (here|in there)", "(i don't want you|you mustn't) (to bump|bump) into (anything|things|the furniture)"),
    "pick_up": (
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
    "get_time": ("(i|we) (must not be late|have to catch a train|have an appointment|forgot my watch|lost track of time)", "my watch has stopped"),
    "follow": ("(i want to|i'll|let me) show you (something|the flat|where it is|my room)", "(we are|i am) going for a walk", "(i don't want to|i shouldn't) be alone"),
    "dock": (
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
_PARSED: Final = {name: [parse_pattern(text, {}, name) for text in rows] for name, rows in {**_OF_TOOL, "": _ANY}.items()}  # fmt: skip
_FITTING: Final = 0.7
"""Share of the reasons that fit the command."""


def _reason(speaker: Speaker, tool: str) -> str:
    rng = speaker.rng
    rows = _PARSED[tool] if tool in _PARSED and rng.random() < _FITTING else _PARSED[""]
    pieces = expand(rng.choice(rows), rng)
    return "".join(KINDS[p.kind](rng).surface if isinstance(p, Slot) else p for p in pieces)


def reasoned(speaker: Speaker) -> Utterance:
    """A command, or two, with a reason or in a frame that insists."""
    rng = speaker.rng
    kind = rng.random()
    one = speaker.chainable() if kind < 0.12 else speaker.imperative() if kind < 0.9 else speaker.command()
    text, calls = one.text(), one.calls()
    if kind < 0.35 and begins_with_verb(text):
        return Utterance(rng.choice(_INSISTING).format(c=text), calls, tag="reason", bare=False)
    frames = _BEFORE if rng.random() < 0.65 else _AFTER
    if not begins_with_verb(text):
        frames = ("{r}. {c}", "{r}, {c}", "{r}; {c}") if frames is _BEFORE else ("{c}, {r}", "{c}. {r}")
    reason = _reason(speaker, calls[0].name)
    if rng.random() < 0.08:
        reason += rng.choice((" and ", ", ")) + _reason(speaker, calls[0].name)
    return Utterance(rng.choice(frames).format(r=reason, c=text), calls, tag="reason", bare=False)
