"""Invented tools with parameters of every kind and descriptions, and what people say to them.

A tool is an act, a thing and up to five parameters. Its name has one word for the act and one for the thing, its
description may have others, and the sentence has the words of either: so a model has to read both.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from parameter_notes import with_note
from results import Call
from slots import pseudo_word
from tools import ToolSpec
from utterances import Utterance
from values import Given, Parameter, draw_parameters, of_goal, of_person, of_setting, of_thing

from edgeagent.train import dressing

_ACTS: Final = tuple(
    tuple(line.split("|"))
    for line in """open|open up|unseal
close|shut|seal
start|begin|launch
stop|end|halt
raise|lift|hoist|put up
lower|let down|bring down
clean|wash|scrub
rinse|flush|wash out
wipe|dust|wipe off
spray|mist|sprinkle
water|irrigate
fill|fill up|top up
empty|drain|clear out
check|inspect|examine|have a look at
measure|gauge|take a reading of
count|tally|take stock of
scan|read in
print|put on paper
label|mark|put a sticker on
photograph|take a picture of|snap
film|record|shoot
play|put on
deliver|carry|take|bring
fetch|collect|get
load|put in|insert
unload|take out|remove
sort|arrange|put in order
stack|pile up
pack|wrap|box up
move|shift|push
rotate|turn|spin
tilt|tip|lean
heat|warm|warm up
cool|chill|cool down
mix|stir|blend
cut|trim|slice
dig|excavate
drill|bore|make a hole in
weld|join|fuse
paint|coat|color
polish|buff|shine
weigh|put on the scale
lock|secure|bolt
unlock|unbolt|release
feed|give food to
charge|power up|recharge
test|try out|try
calibrate|adjust|tune
reset|set back|restart
show|display|present
hide|cover|conceal
call|ring|page|phone
greet|welcome|say hello to
warn|alert|notify
guide|lead|escort
guard|watch|watch over|keep an eye on
patrol|go around
circle|go round|orbit
visit|pass by|call at
dock at|moor at
hover over|float above
tow|pull|drag
throw|toss|fling
drop|let go of
grip|grab|clamp
dispense|pour|serve
order|request|buy
book|reserve
save|store|keep
send|post|dispatch
delete|erase|wipe out
repair|fix|mend
sweep|brush
plant|sow|put in the ground
harvest|pick|reap
prune|cut back
blink|flash
sound|ring out|blow
assign|give out
log|note down|write down
track|trace|follow up
dim|darken
brighten|light up
fold|fold up|crease
stretch|extend|reach out with
pull in|retract|draw in
aim|aim at|target|point at
align|line up|straighten
analyze|evaluate|study
announce|declare|proclaim
approach|come near|draw near
approve|accept|sign off
archive|file away|put away
assemble|build|put together
attach|fasten|fix on|hook up
bake|roast|cook
balance|level|even out
bandage|dress|bind up
beep|chirp|honk
bend|flex|curve
block|bar|obstruct
boil|simmer|bring to the boil
boost|increase|step up
brew|make|prepare
bury|cover with soil|put under ground
cancel|call off|revoke
capture|catch|get hold of
certify|attest|vouch for
chop|dice|hack
classify|categorize|tell the kind of
compare|match|contrast
compress|squeeze|press together
confirm|acknowledge|affirm
connect|link|hook together
copy|duplicate|clone
crush|grind|mill
deflate|let the air out of|bleed
defrost|thaw|de-ice
demagnetize|degauss|make unmagnetic
deploy|unfold|roll out
describe|tell about|explain
detach|uncouple|unhook
detect|spot|find traces of
dip|immerse|dunk
disable|deactivate|take out of service
disinfect|sterilize|sanitize
dismiss|ignore|wave off
divert|redirect|reroute
dock cargo|berth|tie up
download|pull down|fetch a copy of
draw|sketch|trace out
dry|blow dry|dehydrate
dump|tip out|unload all of
eject|expel|spit out
embark|board|take on board
enable|activate|put into service
engrave|etch|carve
escort out|show out|see off
estimate|guess|assess
evacuate|clear out people from|vacate
expose|uncover|lay bare
extinguish|put out|douse
fertilize|nourish|manure
filter out|strain|sieve
flip|turn over|invert
focus|zoom in on|sharpen
freeze food|deep freeze|put on ice
glue|stick|paste
grade|rate|rank
hail|flag down|whistle for
hammer|beat|pound
hang|hang up|suspend
hatch|incubate|brood
hire|rent|lease
identify|recognize|name
illuminate|shine on|spotlight
inflate|blow up|pump up
inject|shoot in|feed in
insulate|lag|wrap up warm
invite|ask in|have over
jettison|throw off|cast away
knead|work|massage
launch rocket|fire off|blast off
lubricate|oil|grease
magnetize|make magnetic|polarize
merge|combine|unite
milk|draw milk from|strip
mount|install|fit
mow|trim short|crop
mute|silence|quieten
narrate|read aloud|recite
nudge|tap|bump
park|pull up|leave standing
peel|skin|pare
pickle|preserve|marinate
pierce|puncture|prick
plow|till|turn over the soil of
preheat|warm in advance|heat up before
project|beam|cast
purge|flush clean|clear by air
query|look up|search for
queue up|line up for later|enqueue
quote|price|say the price of
recycle|reuse|give back
refuel|tank up|gas up
reject|refuse|turn down
replace|swap|exchange
report|tell of|give account of
rescue|save from danger|bail out
retrieve|recover|get back
review|go over|look through
roll up|wind up|coil
salt|season|spice
sample|take a probe of|probe
sand|smooth|file down
scoop|ladle|shovel
seal off|close off|cordon off
serve guests|wait on|attend to
shake|agitate|rattle
share|pass on|spread
shred|tear up|rip
sign|autograph|initial
skip|leave out|jump over
soak|steep|drench
split|divide|part
squeak|whine|peep
stabilize|steady|hold steady
stamp|postmark|put a stamp on
sterilize tools|boil clean|autoclave
stitch|sew|suture
submerge|sink|take under water
survey|map out|chart
swing|sway|rock
switch over|toggle|flip over to
tag|mark with a tag|attach a tag to
tape|tape up|put tape on
taste|try the taste of|sip
tighten|screw tight|make tight
loosen|slacken|make loose
transmit|broadcast|radio
transplant|repot|move to another pot
tuck in|put to bed|cover up
twist|wring|screw
undo|take back|reverse
validate|verify|prove
vent|air out|ventilate
vote for|choose|pick out
wake|wake up|rouse
wax|rub with wax|gloss
wind|crank|turn the handle of
wrap up|finish|complete
zip|zip up|compress data of""".splitlines()
)
_THINGS: Final = tuple(
    tuple(line.split("|"))
    for line in """arm|boom|manipulator
gripper|claw|clamp
hatch|flap|cover
door|gate
lid|cap
pump|compressor
fan|blower|ventilator
camera|lens
lamp|light
siren|alarm|horn
screen|display|monitor
speaker|loudspeaker
antenna|aerial
brush|broom
nozzle|sprayer|jet
tank|container|reservoir
valve|tap|faucet
heater|radiator|stove
conveyor|belt|assembly line
magnet|coil
drawer|tray
winch|hoist|cable
bucket|pail
saw|blade
drill|borer
printer|plotter
scanner|reader
sensor|probe|detector
head|neck
flag|banner
curtain|blinds|shade
window|pane
oven|furnace
kettle|boiler
mixer|blender
mower|grass cutter
sprinkler|hose
lift|elevator
mast|pole
sail|canvas
rudder|helm
propeller|screw
filter|strainer
battery|accumulator
beacon|buoy
plants|flowers|crops
bed|patch|plot
greenhouse|hothouse
lawn|grass
hedge|bush
tree|trunk
soil|earth|ground
sample|specimen
parcel|package
pallet|load
shelf|rack
box|crate|carton
bottle|flask
pot|vase
cup|mug
plate|dish
table|desk
floor|ground floor
wall|facade
roof|rooftop
bench|seat
cage|pen|coop
animals|herd|livestock
chickens|hens
fish|trout
dough|batter
coffee|espresso
soup|broth
medicine|pills|drug
patient|sick person
nurse|caretaker
visitor|guest
customer|client
guard|watchman
engineer|technician
message|note|memo
picture|photo|image
clip|video|movie
song|tune|melody
report|summary
list|register
invoice|bill
ticket|pass
map|chart|plan
route|path|track
drone|quadcopter
boat|vessel
wagon|cart|trolley
wheel|tyre
engine|motor
laser|beam
pipe|tube|duct
gear|cog
bolt|screw nut
panel|board
cable|wire|cord
pool|basin
anchor|hook
net|mesh
trap|snare
rack lights|shelf lights
trash|garbage|rubbish
laundry|clothes
window box|planter
weather station|weather mast
airlock|pressure door
altar|shrine
aquarium|fish tank
armchair|recliner
axle|shaft
balloon|blimp
bandage|plaster
barrel|cask|drum
basket|hamper
bearing|bushing
bell|chime
bicycle|bike
bin|dustbin
blanket|duvet
boom gate|barrier
book|volume
bow thruster|side thruster
brake|brake pad
bridge|gangway
bulb|light bulb
burner|gas flame
bus|coach
cabinet|cupboard
cake|pie
calf|young cow
candle|taper
canoe|kayak
canteen|cafeteria
capsule|pod
caravan|camper
carousel|turntable
carpet|rug
cart wheel|castor
cat|kitten
ceiling|overhead
centrifuge|spinner
chair|stool
chamber|cell
chimney|flue
clamp stand|retort stand
cockpit|flight deck
collar|leash
compost|mulch
computer|laptop
condenser|cooling coil
console|control desk
counter|bar top
cradle|crib
crane|derrick
crucible|melting pot
crystal|gem
culture|petri dish
customs form|declaration
dam|weir
deck|upper deck
diagnosis|finding
dial|pointer
diaper|nappy
dishwasher|dish machine
ditch|trench
doll|puppet
dome|cupola
dress|gown
dryer|tumble dryer
duct tape|adhesive tape
dumbbell|weight plate
easel|canvas stand
egg|eggs
elevator shaft|lift shaft
emergency exit|escape door
exhibit|showpiece
eyepiece|ocular
fence|railing
ferry|ship
film reel|film roll
fire|blaze
firewood|logs
firmware|software
flame|pilot light
float|raft
folder|binder
football|ball
forklift|fork truck
fountain|water feature
fridge|refrigerator
fuse|circuit breaker
garage door|roller door
gas bottle|gas cylinder
gauge|meter
generator|power unit
glass|tumbler
glove|mitten
goods|merchandise
grain|wheat
grill|barbecue
guitar|ukulele
gutter|drain pipe
hammer tool|mallet
hay|straw
headlight|front light
helmet|hard hat
hopper|chute
horse|pony
hull|ship's side
humidifier|moisture unit
hydrant|fire plug
icebox|cooler
infusion|drip
ink|toner
instrument|gadget
iron|flat iron
jacket|coat
jar|preserving glass
joint|elbow
joystick|control stick
juice|lemonade
keyboard|keypad
kite|glider
ladder|steps
lamb|sheep
landing gear|undercarriage
leaf|foliage
lettuce|salad
lever|handle
lifeboat|rescue boat
lock gate|sluice
locker|safe
locomotive|train engine
luggage|baggage
machine|apparatus
mail|letters
manhole|drain cover
manuscript|document
mattress|sleeping pad
meal|dinner
microphone|mic
microscope|magnifier
milk|cream
mirror|looking glass
mold|casting form
mop|swab
museum guide|audio guide
mushrooms|fungi
nail|tack
needle|pin
nest|nesting box
newspaper|journal
oil|lubricant
orchard|fruit garden
organ|pipes
oxygen|breathing air
paddock|meadow
paint|varnish
paper|sheet
parachute|chute brake
parasol|sunshade
passenger|rider
pasta|noodles
pavement|sidewalk
pedal|treadle
pendulum|swinging weight
periscope|viewing tube
piano|grand piano
picture frame|frame
pig|piglets
pillow|cushion
pipette|dropper
piston|plunger
pizza|flatbread
planetarium|star theater
platform|stage
plug|socket
pond|pool of water
poster|placard
potatoes|spuds
powder|dust of metal
prisoner|inmate
product|ware
projector|slide machine
prop|stage prop
puck|disc
pulley|block
pump house|pumping station
puzzle|riddle
quarry|stone pit
rail|guide rail
ramp|slope
reactor|vessel of reaction
receipt|voucher
record|disc record
relay|contactor
rice|grains
ring|circle
road|street
robot arm|mechanical arm
rocket|missile
rope|line
rotor|rotor blades
sandwich|toast
satellite|space probe
sauce|gravy
scaffold|scaffolding
scale|balance
scalpel|surgical knife
scene|act of the play
score|points
scoop|shovel
seal|gasket
seed|seeds
server|host
shaft lamp|pit lamp
shoe|boots
shutter|roller shutter
sign|signboard
silo|grain store
sink|washbasin
skylight|roof window
slide|specimen slide
smoke|fumes
snack|bite
snow|snowdrift
soap|detergent
sock|stocking
solar panel|solar module
spotlight|floodlight
spring|coil spring
stairs|staircase
stamp|postage
statue|sculpture
steam|vapor
stone|rock
storeroom|stock room
story|tale
stretcher|gurney
sugar|sweetener
suit|space suit
suitcase|trunk case
sun sail|awning
surfboard|board for surfing
switch|button
syringe|injector
tape|ribbon
tarp|tarpaulin
tea|infusion of herbs
telescope|spyglass
tent|marquee
terminal|kiosk
thermostat|temperature control
tile|slab
timer|stopwatch
toilet|lavatory
tool|instrument of work
tooth|molar
torch|flashlight
tower|turret
toy|plaything
track switch|points of the track
tractor|farm tractor
traffic light|signal light
trailer|semi-trailer
tray table|folding table
treadmill|running machine
tripod|camera stand
truck|lorry
tulip|blossom
tunnel|underpass
turbine|rotor wheel
turnstile|entry gate
umbrella|rain cover
uniform|work clothes
vaccine|serum
van|delivery van
vending machine|snack machine
vest|waistcoat
vine|grape vine
violin|fiddle
voice|speech
wardrobe|closet
warehouse|depot
waste|scrap
watch|wristwatch
water|drinking water
webcam|video camera
wheelchair|rolling chair
whistle|pipe whistle
windmill|wind wheel
windshield|windscreen
wiper|wiper blade
wool|fleece
workpiece|blank
yard|court
zipper|fastener""".splitlines()
)
_WAYS: Final = tuple(
    tuple(line.split("|"))
    for line in """go|move|head
drive|roll|travel
ride|take the elevator|take the lift
fly|float
sail|cruise
climb|go up
return|go back|come back
hurry|rush|run
walk|march|step
swim|paddle""".splitlines()
)
"""Acts whose object is where to go."""
_SETTERS: Final = ("set", "set", "put", "change", "adjust", "turn", "switch")
_SET_TOLD: Final = (
    "set",
    "change",
    "adjust",
    "control",
    "open or close",
    "switch",
    "raise or lower",
    "regulate",
    "turn up or down",
)
_TO_PEOPLE: Final = frozenset("call greet warn guide fetch visit show track".split())
_TAILS: Final = (
    "", "", "", "", " of the robot", " in front", " once", " and wait until it is done", " for a person", " on the left side",
    " with the given settings", " as told", " of the station", " safely",
)  # fmt: skip
_READINGS: Final = tuple(
    tuple(line.split("|"))
    for line in """temperature|how warm it is|how warm is it|how hot is it|what temperature is it
humidity|how damp the air is|how damp is the air|how humid is it
pressure|how many bar there are|how high is the pressure|how many bar are there
speed|how fast it goes|how fast are we|how fast do you go
depth|how deep the water is|how deep is the water|how deep is it here
fuel|how much fuel is left|how much fuel is left|how much gas do we have
tank_level|how full the tank is|how full is the tank|how much is in the tank
stock|what is in store|how many do we have|how much is in store
wind|how strong the wind is|how strong is the wind|how hard does it blow
weight|how heavy the load is|how heavy is the load|how heavy is it
position|where it is on the map|where are we on the map|which position do we have
queue|what is waiting|how long is the queue|what is waiting
errors|what went wrong|what went wrong|are there any faults
odometer|how far it went today|how far did we go|how far have you gone today
gas_level|how bad the air is|how bad is the air|is the air clean
next_job|what comes next|what comes next|what is the next job
door_state|is the door open|is the door open|did somebody close the door
light_level|how bright it is|how bright is it|is it dark
moisture|how moist the soil is|how moist is the soil|is the soil dry
co2|how much carbon dioxide there is|how much carbon dioxide is in the air|is the air stuffy
ph|how sour the water is|how sour is the water|what is the ph value
voltage|how many volts there are|how many volts do we have|how many volts are left
current_draw|how many amps it takes|how many amps do you take|how much power do you draw
rpm|how fast the motor turns|how fast does the motor turn|how many revolutions are there
heading|which way it points|which way do we point|what course are we on
altitude|how high it flies|how high are we|how high do you fly
visitors|how many people are inside|how many people are inside|how busy is it
parcels_left|how many parcels are left|how many parcels are left|are there parcels left
energy|how much energy it used|how much energy did you use|how much power have you used today
uptime|how long it has run|how long have you been running|since when do you run
signal|how strong the radio is|how strong is the signal|do we have reception
noise|how loud it is|how loud is it|is it noisy
tide|how high the tide is|how high is the tide|is it high tide
brightness|how bright the lamp is|how bright is the lamp|how bright is it set
score|how many points there are|what is the score|who is winning
schedule|what is planned today|what is planned for today|what is on today
orders|which orders are open|which orders are open|are there open orders
pulse|how fast the heart beats|how fast is the heart beating|what is the pulse
ink_level|how much ink is left|how much ink is left|do we need ink
smoke_state|is there smoke|is there smoke|does it smell of smoke
filter_state|how clean the filter is|how clean is the filter|is the filter dirty
progress|how far the job is|how far are you|how much is done
version|which software it runs|which software do you run|which version do you have
tilt_angle|how tilted it is|how tilted are we|do we lean
cargo|what is on board|what is on board|what do we carry
location_name|where it stands|where are we now|what is this place""".splitlines()
)
_OF_THE_HOUSE: Final = frozenset(
    "go drive ride roll travel return come turn rotate spin move fetch get bring take collect deliver pick drop grip grab put "
    "carry charge dock stop halt look follow trace track light lamp lights battery position scan switch set change adjust "
    "head fly walk march run hurry rush climb sail float swim guide call visit patrol approach release retrieve illuminate shine escort".split()
)
"""Words by which a house robot's tools are asked for as well."""
_ASKS: Final = ("{}", "{}", "{}", "{}", "{}", "{} now", "i want you to {}", "time to {}", "let's {}", "we need to {}", "i need you to {}", "go and {}",
    "could we {}", "i'd like you to {}", "would you kindly {}", "be so good and {}", "next, {}", "your task is to {}", "first thing, {}",
    "you should {}", "see that you {}", "how about you {}", "may i ask you to {}", "just {}", "i would like to {}", "let us {} please",
)  # fmt: skip
_WHICH: Final = ("Which {}?", "What {}?", "Which {} do you mean?", "Please tell me the {}.")


@dataclass(frozen=True, slots=True)
class InventedTool:
    """A tool and what is said to it.

    Attributes:
        words: Those of its act and its thing, by which tools are told apart.
        say: Draws a sentence with its call.
        order: Draws the same as a plain order.
        astray: Draws a sentence that comes close to a call, and that has none; None where the tool has none.
    """

    spec: ToolSpec
    words: tuple[tuple[str, ...], tuple[str, ...]]
    say: Callable[[random.Random], Utterance]
    order: Callable[[random.Random], str]
    astray: Callable[[random.Random], Utterance | None]


def _snake(text: str) -> str:
    return text.replace(" ", "_")


def _thing(rng: random.Random) -> tuple[str, ...]:
    return (pseudo_word(rng),) if rng.random() < 0.06 else rng.choice(_THINGS)


def _reading(rng: random.Random) -> InventedTool:
    what, described, *asked = rng.choice(_READINGS)
    name = rng.choice((f"get_{what}", f"read_{what}", what, f"{what}_report", f"check_{what}"))
    plain = what.replace("_", " ")
    texts = (*asked, *asked, f"what is the {plain}", f"tell me the {plain}", f"{plain}", f"check the {plain}")
    description = rng.choice((described.capitalize(), f"Tells {described}", f"Read {described}")) + "."

    def say(rng: random.Random) -> Utterance:
        return _dressed(rng.choice(texts), (), (Call(name, {}),), rng)

    return InventedTool(
        _spec(name, description, ()), ((what,), (plain,)), say, lambda rng: f"check the {plain}", lambda rng: None
    )


def _spec(name: str, description: str, parameters: tuple[Parameter, ...]) -> ToolSpec:
    schema: dict[str, Any] = {"type": "object", "properties": {one.name: one.schema for one in parameters}}
    schema["required"] = [one.name for one in parameters if not one.optional]
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


def _dressed(text: str, names: tuple[str, ...], calls: tuple[Call, ...], rng: random.Random) -> Utterance:
    """A sentence as it is typed or heard, in which names that are to be copied stay as they are."""
    text = " ".join(text.split())
    polite = dressing.polite(text, rng)
    dressed = dressing.dress(polite, rng, slips=0.04)
    if any(one not in dressed for one in names):
        dressed = rng.choice((polite, text, text[:1].upper() + text[1:] + "."))
    return Utterance(dressed, calls, tag="as said", bare=False)


def make(rng: random.Random, act: tuple[str, ...], thing: tuple[str, ...]) -> InventedTool:
    """Draws a tool for an act and a thing."""
    count = rng.choices(range(6), (0.14, 0.34, 0.27, 0.15, 0.07, 0.03))[0]
    way, setter = act in _WAYS, act == _SETTERS
    own = rng.choice(thing)
    first: Parameter | None = None
    if way:
        first = of_goal(rng)
    elif setter:
        first = of_setting(rng)
    elif act[0] in _TO_PEOPLE and rng.random() < 0.5:
        first = of_person(rng)
    elif rng.random() < 0.22:
        first = of_thing(rng, own)
    drawn = draw_parameters(rng, max(count, 1) if first is not None else count, first)
    parameters = tuple(with_note(rng, one) for one in drawn)
    if way:
        parameters = tuple(one for one in parameters if one.role != "object")
    required = [one for one in parameters if not one.optional]
    holder = next((one for one in required if one.role == "object"), first if way else None)
    name_act, name_thing = rng.choice(act[:2]), rng.choice(thing)
    shape = rng.random()
    if shape < 0.07:
        name = rng.choice((pseudo_word(rng), f"{pseudo_word(rng)}_{rng.randint(1, 9)}", f"task_{rng.randint(1, 30)}"))
    elif way and first is not None:
        place = first.name.partition("_")[0]
        name = _snake(rng.choice(("{0}", "{0}_to", "{0}_to_{1}", "{0}_{1}")).format(name_act, place))
    elif holder is not None and shape < 0.35:
        name = _snake(name_act)
    elif shape < 0.85:
        name = _snake(f"{name_act}_{name_thing}")
    else:
        name = _snake(f"{name_thing}_{name_act}")
    opaque = shape < 0.07
    told_act, told_thing = rng.choice(_SET_TOLD if setter else act), rng.choice(thing)
    described = opaque or rng.random() < 0.85
    the = rng.choice(("the", "the", "the", "one"))
    lead = rng.choice(("", "", "", "", "Makes the robot ", "Use this to ", "Lets you "))
    object_told = (
        "one " + holder.name.partition("_")[0] if holder is not None and rng.random() < 0.5 else f"{the} {told_thing}"
    )
    sentence = f"{lead}{told_act} {object_told}{rng.choice(_TAILS)}"
    description = f"{sentence[0].upper()}{sentence[1:]}." if described else ""
    if described and way and first is not None:
        place = first.name.partition("_")[0]
        description = f"{lead}{told_act} to {rng.choice(('a', 'one', 'the given'))} {place}{rng.choice(_TAILS)}."
        description = description[0].upper() + description[1:]
    only_act = way or (holder is not None and told_thing not in description and name_thing not in name)

    def words(rng: random.Random) -> tuple[str, str]:
        """Draws the verb and the thing as they are said."""
        kind = rng.random()
        if setter:
            return rng.choice(_SETTERS), rng.choice((name_thing, told_thing)) if described else name_thing
        if described and (opaque or kind < 0.45):
            return told_act, told_thing
        if kind < 0.9:
            return name_act, name_thing
        return rng.choice(act), rng.choice(thing)

    def said(
        rng: random.Random, without: Parameter | None = None, wrong: str = "", *, plain: bool = False
    ) -> tuple[str, dict[str, Any], tuple[str, ...]]:
        given: dict[str, Given] = {}
        for one in parameters:
            if one is without:
                if wrong:
                    given[one.name] = Given("", wrong)
            elif not one.optional or rng.random() < 0.4:
                given[one.name] = one.give(rng)
        arguments = {one.name: given[one.name].value for one in parameters if one.name in given}
        verb, noun = words(rng)
        the = rng.choice(("the", "the", "the", "the", "your", "my", "", "this"))
        objects = [given[one.name].text for one in parameters if one.name in given and one.role == "object"]
        if way:
            body = verb
        elif objects and holder is None:
            body = f"{verb} {the} {noun} with {objects[0]}"
        elif objects:
            body = (
                f"{verb} {objects[0]}"
                if only_act or name == _snake(name_act) or rng.random() < 0.5
                else f"{verb} {the} {noun} {objects[0]}"
            )
        else:
            body = f"{verb} {the} {noun}"
        if setter and not objects and rng.random() < 0.3:
            body, plain = body.removeprefix(verb), True
        adjective = next((one for one in parameters if one.name in given and one.wrong is not None), None)
        noun_at = f"{the} {noun}".strip()
        if (
            adjective is not None
            and body.endswith(f" {noun_at}")
            and rng.random() < 0.15
            and given[adjective.name].value
        ):
            shown = str(given.pop(adjective.name).value).replace("_", " ")
            body = f"{body.removesuffix(noun_at)}{the} {shown} {noun}"
        rest = [given[one.name].text for one in parameters if one.name in given and one.role != "object"]
        if rng.random() < 0.35:
            rng.shuffle(rest)
        first = ""
        if rest and not plain and rng.random() < 0.1:
            first, rest = f"{rest[-1]}, ", rest[:-1]
        for at, text in enumerate(rest):
            joint = rng.choice((" ", " ", " ", ", ", " and ")) if at else rng.choice((" ", " ", " ", " ", ", "))
            body += (
                ("" if text.startswith("and ") else joint if joint != " " else "")
                + (" " if text.startswith("and ") or joint == " " else "")
                + text
            )
        ask = "{}" if first or plain else rng.choice(_ASKS)
        names = tuple(name for one in given.values() for name in one.names)
        return first + ask.format(body), arguments, names

    def say(rng: random.Random) -> Utterance:
        text, arguments, names = said(rng)
        return _dressed(text, names, (Call(name, arguments),), rng)

    def order(rng: random.Random) -> str:
        return " ".join(said(rng, plain=True)[0].split())

    def astray(rng: random.Random) -> Utterance | None:
        closed = [(one, one.wrong) for one in parameters if one.wrong is not None]
        if closed and rng.random() < 0.7:
            one, wrong = rng.choice(closed)
            text, _, names = said(rng, one, wrong(rng))
            heard = _dressed(text, names, (), rng)
            return Utterance(
                heard.text, reply=rng.choice(("I can't do that.", "Sorry, I can't do that.")), tag="as said", bare=False
            )
        asked = [one for one in required if one.role != "object"]  # the thing itself may be taken for an object
        if not asked:
            return None
        one = rng.choice(asked)
        text, others, names = said(rng, one)
        heard = _dressed(text, names, (), rng)
        reply = rng.choice(_WHICH).format(one.name.partition("_")[0])
        given = one.give(rng)
        all_given = others | {one.name: given.value}
        arguments = {each.name: all_given[each.name] for each in parameters if each.name in all_given}
        answer = _dressed(given.text, given.names, (Call(name, arguments),), rng)
        return Utterance(heard.text, reply=reply, tag="as said", bare=False, answer=answer)

    return InventedTool(_spec(name, description, parameters), (act, act if way else thing), say, order, astray)


def draw(rng: random.Random, count: int, taken: frozenset[str], *, beside_house: bool = False) -> list[InventedTool]:
    """Draws tools that a person can tell apart, at times by their act or their thing alone.

    Args:
        taken: Names that none may have.
        beside_house: Tools of the house robot are on offer too.
    """
    tools: list[InventedTool] = []
    names = set(taken)
    while len(tools) < count:
        kind = rng.random()
        if kind < 0.1:
            made = _reading(rng)
        else:
            act, thing = rng.choice(_ACTS), _thing(rng)
            if kind < 0.2:
                act = rng.choice(_WAYS)
            elif kind > 0.85:
                act = _SETTERS
            last = [one.words for one in tools if one.words[0] in _ACTS]
            if last and 0.2 < kind < 0.36:
                thing = rng.choice(last)[1]
            elif last and 0.36 < kind < 0.48:
                act = rng.choice(last)[0]
            made = make(rng, act, thing)
        name = made.spec["function"]["name"]
        if beside_house and _OF_THE_HOUSE & set(" ".join((*made.words[0], *made.words[1])).split()):
            continue
        if name not in names and all(_apart(made.words, one.words) for one in tools):
            names.add(name)
            tools.append(made)
    return tools


def _apart(one: tuple[tuple[str, ...], tuple[str, ...]], other: tuple[tuple[str, ...], tuple[str, ...]]) -> bool:
    """True if two tools share neither the words of both parts, nor some words of a part that is not the same."""
    acts, things = (set(" ".join(a).split()) & set(" ".join(b).split()) for a, b in zip(one, other, strict=True))
    if acts and things:
        return False
    return (not acts or one[0] == other[0]) and (not things or one[1] == other[1])


def near(rng: random.Random, tools: list[InventedTool]) -> str:
    """Draws a request for a thing of these tools that none of them serves."""
    known = [one for one in tools if one.words[0] in _ACTS]
    mine = {word for one in tools for part in one.words for name in part for word in name.split()}
    act = next(a for a in (rng.choice(_ACTS) for _ in range(999)) if not mine & set(" ".join(a).split()))
    thing = rng.choice(known).words[1] if known and rng.random() < 0.6 else _thing(rng)
    return f"{rng.choice(act)} the {rng.choice(thing)}"
