"""Forms of the verbs with which commands begin: "after you have turned left", "before turning left"."""

from __future__ import annotations

from typing import Final

_VERBS: Final = """
turn turning turned
go going gone
drive driving driven
move moving moved
come coming come
put putting put
set setting set
roll rolling rolled
look looking looked
rotate rotating rotated
take taking taken
get getting got
switch switching switched
head heading headed
spin spinning spun
run running run
back backing backed
start starting started
swivel swivelling swivelled
pivot pivoting pivoted
lay laying laid
bring bringing brought
drop dropping dropped
place placing placed
shut shutting shut
reverse reversing reversed
fetch fetching fetched
pick picking picked
check checking checked
travel travelling travelled
grab grabbing grabbed
advance advancing advanced
walk walking walked
charge charging charged
scan scanning scanned
read reading read
carry carrying carried
collect collecting collected
return returning returned
recharge recharging recharged
glance glancing glanced
step stepping stepped
dock docking docked
visit visiting visited
deliver delivering delivered
retreat retreating retreated
withdraw withdrawing withdrawn
scoot scooting scooted
pull pulling pulled
push pushing pushed
inch inching inched
edge edging edged
creep creeping crept
proceed proceeding proceeded
veer veering veered
swing swinging swung
halt halting halted
stop stopping stopped
follow following followed
accompany accompanying accompanied
retrieve retrieving retrieved
hand handing handed
survey surveying surveyed
peek peeking peeked
report reporting reported
tell telling told
flick flicking flicked
flip flipping flipped
illuminate illuminating illuminated
leave leaving left
lift lifting lifted
hop hopping hopped
join joining joined
light lighting lit
weigh weighing weighed
pour pouring poured
raise raising raised
lower lowering lowered
open opening opened
close closing closed
feed feeding fed
dispense dispensing dispensed
spray spraying sprayed
measure measuring measured
play playing played
show showing shown
wash washing washed
clean cleaning cleaned
fill filling filled
empty emptying emptied
load loading loaded
unload unloading unloaded
cut cutting cut
heat heating heated
cool cooling cooled
mix mixing mixed
print printing printed
send sending sent
call calling called
ring ringing rung
sound sounding sounded
paint painting painted
mark marking marked
tilt tilting tilted
press pressing pressed
pump pumping pumped
rinse rinsing rinsed
dry drying dried
fold folding folded
lock locking locked
unlock unlocking unlocked
record recording recorded
give giving given
sort sorting sorted
count counting counted
hoist hoisting hoisted
label labelling labelled
log logging logged
note noting noted
water watering watered
photograph photographing photographed
announce announcing announced
greet greeting greeted
order ordering ordered
serve serving served
test testing tested
wipe wiping wiped
scrub scrubbing scrubbed
shake shaking shaken
stir stirring stirred
bake baking baked
roast roasting roasted
peel peeling peeled
inflate inflating inflated
release releasing released
throw throwing thrown
launch launching launched
book booking booked
add adding added
remove removing removed
replace replacing replaced
write writing written
draw drawing drawn
wrap wrapping wrapped
pack packing packed
stack stacking stacked
tighten tightening tightened
loosen loosening loosened
drill drilling drilled
weld welding welded
adjust adjusting adjusted
calibrate calibrating calibrated
"""
_PAST: Final = {
    "go": "went", "drive": "drove", "come": "came", "take": "took", "run": "ran", "withdraw": "withdrew", "show": "showed", "ring": "rang", "give": "gave",
    "shake": "shook", "throw": "threw", "write": "wrote", "draw": "drew",
}  # fmt: skip
"""Past tenses that are not as the participle."""
_FORMS: Final = {base: (gerund, participle) for base, gerund, participle in map(str.split, _VERBS.split("\n")[1:-1])}

VERBS: Final = frozenset(_FORMS)
"""Verbs in their base form whose other forms are known."""
_NOUNS: Final = tuple(f"light {word}" for word in ("on", "off", "out", "in", "please", "for")) + tuple(
    f"head {word}"
    for word in (
        "up",
        "down",
        "left",
        "right",
        "ahead",
        "upwards",
        "downwards",
        "to the left",
        "to the right",
        "to your",
    )
)
"""What begins with a noun that is written like a verb: "light off in the office", "head up"."""


def begins_with_verb(command: str) -> bool:
    """True if a known verb in its base form is the first word."""
    return command.partition(" ")[0] in _FORMS and not command.startswith(_NOUNS)


def inflected(command: str) -> tuple[str, str] | None:
    """A command that has one verb, as a gerund and as a participle; None where its verb is not known."""
    verb, _, rest = command.partition(" ")
    if not begins_with_verb(command) or any(
        word in command for word in (" and ", ",", " then ", ".", "yourself", "your ", "me up")
    ):
        return None
    gerund, participle = _FORMS[verb]
    return f"{gerund} {rest}".strip(), f"{participle} {rest}".strip()


def present(command: str) -> str | None:
    """A command that has one verb, as after "she": "turns left"; None where its verb is not known."""
    if inflected(command) is None:
        return None
    verb, _, rest = command.partition(" ")
    if verb.endswith("y") and verb[-2] not in "aeiou":
        verb, ending = verb[:-1], "ies"
    else:
        ending = "es" if verb.endswith(("s", "sh", "ch", "x", "o")) else "s"
    return f"{verb}{ending} {rest}".strip()


def past(command: str) -> str | None:
    """A command that has one verb, as after "if you": "turned left"; None where its verb is not known."""
    if (forms := inflected(command)) is None:
        return None
    verb = command.partition(" ")[0]
    return command.replace(verb, _PAST[verb], 1) if verb in _PAST else forms[1]
