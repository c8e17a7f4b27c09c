"""Sentences for the gate on the first token: eight machines, what is asked of them, and what is only said to them.

Written by hand before anything was measured, on tools that no generator of the corpus knows. ``FITTED`` is what
thresholds are fitted on, ``KEPT`` is kept apart. A wish is a command for which there is no tool.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from edgeagent import Tool, skill, tool


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """One set of tools with its sentences."""

    name: str
    instructions: str
    tools: tuple[Tool, ...]
    commands: tuple[tuple[str, str], ...]
    """What is said, and the call that is right, written as Python."""
    talk: tuple[str, ...]
    denials: tuple[str, ...]
    """What names an action and asks for none."""
    wishes: tuple[str, ...]
    steps: tuple[tuple[str, str], ...]
    """Two steps in one sentence, and the first of the two calls."""


# --- a greenhouse


@tool
def water_bed(bed: int, litres: float) -> str:
    """Water one of the eight beds with so many litres."""


@tool
def open_vents(percent: int) -> str:
    """Open the roof vents; 0 closes them."""


@tool(read_only=True)
def soil_moisture(bed: int) -> str:
    """Measure how wet the soil of a bed is."""


@tool
def grow_lamp(on: bool) -> str:
    """Switch the grow lamp on or off."""


GREENHOUSE: Final = Machine(
    name="greenhouse",
    instructions="You look after a greenhouse. Be short.",
    tools=(water_bed, open_vents, soil_moisture, grow_lamp),
    commands=(
        ("Give bed 3 two litres of water.", "water_bed(bed=3, litres=2)"),
        ("Please water the fifth bed with half a litre.", "water_bed(bed=5, litres=0.5)"),
        ("Open the vents halfway.", "open_vents(percent=50)"),
        ("Close the roof vents completely.", "open_vents(percent=0)"),
        ("How wet is bed 7?", "soil_moisture(bed=7)"),
        ("Could you check the moisture of the first bed?", "soil_moisture(bed=1)"),
        ("Turn the grow lamp on.", "grow_lamp(on=True)"),
        ("Lamp off, please.", "grow_lamp(on=False)"),
    ),
    talk=(
        "Hello there, how are you today?",
        "Why do tomatoes need so much sun?",
        "My grandmother grew the best cucumbers in the village.",
        "Thanks, that was really helpful.",
        "Which is your favourite vegetable?",
        "Is basil an annual plant?",
    ),
    denials=("I have watered bed 2 myself this morning.", "Don't open the vents, it is freezing outside."),
    wishes=("Order twenty bags of fertiliser.",),
    steps=(
        (
            "Measure the moisture of bed 4, and when you know it, switch the grow lamp on.",
            "soil_moisture(bed=4)",
        ),
    ),
)


# --- a sailing boat


@tool
def set_heading(degrees: int) -> str:
    """Steer to a compass heading, 0 to 359 degrees."""


@skill
def drop_anchor(chain_m: float) -> str:
    """Drop the anchor and let out this many metres of chain."""


@skill
def raise_anchor() -> str:
    """Raise the anchor."""


@tool(read_only=True)
def water_depth() -> str:
    """Measure the depth of the water under the keel."""


@tool
def bilge_pump(seconds: int) -> str:
    """Run the bilge pump for so many seconds."""


BOAT: Final = Machine(
    name="boat",
    instructions="You are the autopilot of a small sailing boat. Answer in one sentence.",
    tools=(set_heading, drop_anchor, raise_anchor, water_depth, bilge_pump),
    commands=(
        ("Steer two hundred and seventy degrees.", "set_heading(degrees=270)"),
        ("Turn us due north.", "set_heading(degrees=0)"),
        ("Let go the anchor with fifteen metres of chain.", "drop_anchor(chain_m=15)"),
        ("Drop the anchor, thirty metres of chain please.", "drop_anchor(chain_m=30)"),
        ("Bring the anchor up.", "raise_anchor()"),
        ("How deep is it here?", "water_depth()"),
        ("Run the bilge pump for a minute.", "bilge_pump(seconds=60)"),
        ("New course: zero nine zero.", "set_heading(degrees=90)"),
    ),
    talk=(
        "Good morning, captain!",
        "Who invented the compass?",
        "We crossed the bay last summer in six hours.",
        "What a beautiful sunset.",
        "Are you afraid of storms?",
        "How many knots are in a mile per hour?",
    ),
    denials=("Yesterday we dropped the anchor in seven metres.", "No need to run the pump, the bilge is dry."),
    wishes=("Call the coast guard on channel 16.",),
    steps=(("Raise the anchor, and after that steer one hundred and eighty degrees.", "raise_anchor()"),),
)


# --- a library's shelf robot


@skill
def fetch_book(title: str) -> str:
    """Fetch a book from its shelf and bring it to the desk."""


@skill
def put_back(shelf: str) -> str:
    """Put the book that the robot carries on a shelf, such as B4."""


@tool(read_only=True)
def is_borrowed(title: str) -> str:
    """Look up whether a book is lent at the moment."""


@tool
def reading_light(desk: int, brightness: Literal["off", "dim", "bright"]) -> str:
    """Set the reading light of a desk."""


LIBRARY: Final = Machine(
    name="library",
    instructions="You are a helpful robot in the town library.",
    tools=(fetch_book, put_back, is_borrowed, reading_light),
    commands=(
        ("Bring me Moby Dick.", "fetch_book(title='Moby Dick')"),
        ("I would like to read Robinson Crusoe, can you get it?", "fetch_book(title='Robinson Crusoe')"),
        ("Put that book on shelf C2.", "put_back(shelf='C2')"),
        ("This one belongs on A9.", "put_back(shelf='A9')"),
        ("Is The Hobbit lent out right now?", "is_borrowed(title='The Hobbit')"),
        ("Has somebody borrowed Emma?", "is_borrowed(title='Emma')"),
        ("Make the light at desk 4 bright.", "reading_light(desk=4, brightness='bright')"),
        ("Switch the lamp of desk 11 off.", "reading_light(desk=11, brightness='off')"),
    ),
    talk=(
        "Hi! What is your name?",
        "Who wrote War and Peace?",
        "I finished a very sad novel last night.",
        "Do you like poems?",
        "You are doing a great job.",
        "What is the difference between a novel and a novella?",
    ),
    denials=("My sister fetched Emma for me already.", "Please leave the light as it is."),
    wishes=("Print ten pages in colour.",),
    steps=(
        (
            "Find out if Dracula is borrowed, and then turn the light of desk 2 off.",
            "is_borrowed(title='Dracula')",
        ),
    ),
)


# --- a kitchen arm


@skill
def stir(seconds: int) -> str:
    """Stir what is in the pot."""


@tool
def set_burner(burner: Literal["left", "right"], level: int) -> str:
    """Set a burner to a level from 0 (off) to 9."""


@skill
def chop(ingredient: str, pieces: int) -> str:
    """Cut an ingredient into so many pieces."""


@tool(read_only=True)
def weigh() -> str:
    """Read the kitchen scales."""


@tool
def start_timer(minutes: float) -> str:
    """Start the egg timer."""


KITCHEN: Final = Machine(
    name="kitchen",
    instructions="You are a robot arm in a kitchen. Speak politely and briefly.",
    tools=(stir, set_burner, chop, weigh, start_timer),
    commands=(
        ("Stir the soup for twenty seconds.", "stir(seconds=20)"),
        ("Give the pot a stir, half a minute.", "stir(seconds=30)"),
        ("Left burner to six.", "set_burner(burner='left', level=6)"),
        ("Turn the right burner off.", "set_burner(burner='right', level=0)"),
        ("Chop the carrot into ten pieces.", "chop(ingredient='carrot', pieces=10)"),
        ("Cut this onion in four.", "chop(ingredient='onion', pieces=4)"),
        ("What do the scales say?", "weigh()"),
        ("Set the timer to eight minutes.", "start_timer(minutes=8)"),
    ),
    talk=(
        "How do I make a good tomato sauce?",
        "That smells wonderful.",
        "Good evening!",
        "How long do eggs take to be hard?",
        "My brother can't cook at all.",
        "Tell me something about Italian cheese.",
    ),
    denials=("I burnt my hand on the left burner.", "You don't have to stir, it is a salad."),
    wishes=("Do the dishes, please.",),
    steps=(("Put the left burner on nine, then stir for fifteen seconds.", "set_burner(burner='left', level=9)"),),
)


# --- a museum guide


@skill
def lead_to(exhibit: str) -> str:
    """Walk in front of the visitor to an exhibit."""


@tool
def play_recording(track: int) -> str:
    """Play a recording of the audio guide."""


@tool
def hall_lights(percent: int) -> str:
    """Set the lights of the hall."""


@tool(read_only=True)
def visitors_inside() -> str:
    """Count the visitors in the building."""


MUSEUM: Final = Machine(
    name="museum",
    instructions="You guide visitors through the museum of science.",
    tools=(lead_to, play_recording, hall_lights, visitors_inside),
    commands=(
        ("Show me the way to the steam engine.", "lead_to(exhibit='steam engine')"),
        ("Take us to the dinosaur.", "lead_to(exhibit='dinosaur')"),
        ("Play recording number five.", "play_recording(track=5)"),
        ("I want to hear track 12.", "play_recording(track=12)"),
        ("Dim the hall to twenty percent.", "hall_lights(percent=20)"),
        ("All lights on, full brightness.", "hall_lights(percent=100)"),
        ("How many visitors are in the building?", "visitors_inside()"),
        ("Count the people inside.", "visitors_inside()"),
    ),
    talk=(
        "How old is the Earth?",
        "Nice to meet you.",
        "We came by train from Lisbon.",
        "Was Marie Curie a physicist or a chemist?",
        "I am a bit tired.",
        "Can robots dream?",
    ),
    denials=("Another guide has taken us to the dinosaur before.", "Never mind the recording, I can read."),
    wishes=("Sell me two tickets for tomorrow.",),
    steps=(("Dim the hall to ten percent and then play recording three.", "hall_lights(percent=10)"),),
)


# --- a farm's drone


@skill
def take_off(height_m: float) -> str:
    """Start and rise to a height in metres."""


@skill
def land() -> str:
    """Land where the drone is."""


@skill
def fly_over(field: Literal["north", "south", "orchard", "meadow"]) -> str:
    """Fly to a field and circle over it."""


@tool
def photograph(count: int) -> str:
    """Take so many photographs of the ground."""


@tool(read_only=True)
def charge_left() -> str:
    """Read the charge of the battery."""


DRONE: Final = Machine(
    name="drone",
    instructions="You fly a drone over a farm.",
    tools=(take_off, land, fly_over, photograph, charge_left),
    commands=(
        ("Take off and rise to forty metres.", "take_off(height_m=40)"),
        ("Up to ten metres, please.", "take_off(height_m=10)"),
        ("Come down and land.", "land()"),
        ("Fly over the orchard.", "fly_over(field='orchard')"),
        ("Have a look at the north field.", "fly_over(field='north')"),
        ("Take six pictures.", "photograph(count=6)"),
        ("One photo of the ground, please.", "photograph(count=1)"),
        ("How much battery do you have left?", "charge_left()"),
    ),
    talk=(
        "How do birds stay in the air?",
        "Hey, everything all right?",
        "The harvest was good this year.",
        "What is the capital of Norway?",
        "You fly like an eagle.",
        "Is it legal to fly at night?",
    ),
    denials=("Last week the drone landed in the pond.", "Stay on the ground, it is too windy to take off."),
    wishes=("Spray the potatoes against beetles.",),
    steps=(("Fly to the meadow, and once you are there take three photos.", "fly_over(field='meadow')"),),
)


# --- a workshop


@tool
def drill_speed(rpm: int) -> str:
    """Set the drill press to a speed in turns a minute."""


@tool
def dust_extractor(on: bool) -> str:
    """Switch the dust extractor."""


@skill
def hand_over(item: Literal["hammer", "pliers", "square", "file"]) -> str:
    """Take a hand tool from the wall and hand it over."""


@tool(read_only=True)
def stock(material: str) -> str:
    """Tell how much of a material is in stock."""


WORKSHOP: Final = Machine(
    name="workshop",
    instructions="You help a carpenter. Keep answers short.",
    tools=(drill_speed, dust_extractor, hand_over, stock),
    commands=(
        ("Set the drill to eight hundred turns.", "drill_speed(rpm=800)"),
        ("Drill press at 1500.", "drill_speed(rpm=1500)"),
        ("Dust extractor on.", "dust_extractor(on=True)"),
        ("You can stop the extractor now.", "dust_extractor(on=False)"),
        ("Hand me the pliers.", "hand_over(item='pliers')"),
        ("I need the square.", "hand_over(item='square')"),
        ("How much oak do we have in stock?", "stock(material='oak')"),
        ("Do we still have plywood?", "stock(material='plywood')"),
    ),
    talk=(
        "Is oak harder than pine?",
        "I learnt this trade from my father.",
        "Good night, see you tomorrow.",
        "What is a dovetail joint?",
        "That looks great, well done.",
        "How do you feel?",
    ),
    denials=("I bought new pliers last month.", "I don't need the hammer any more."),
    wishes=("Paint the chair blue.",),
    steps=(("Switch the dust extractor on and afterwards set the drill to 600.", "dust_extractor(on=True)"),),
)


# --- a hotel's messenger


@skill
def deliver(item: str, room: int) -> str:
    """Carry an item to a room."""


@tool
def call_lift(floor: int) -> str:
    """Call the lift to a floor."""


@tool
def wake_up_call(room: int, hour: int, minute: int) -> str:
    """Book a wake-up call for a room."""


@tool(read_only=True)
def is_free(room: int) -> str:
    """Tell whether a room is free tonight."""


HOTEL: Final = Machine(
    name="hotel",
    instructions="You are the messenger of a hotel. Be friendly.",
    tools=(deliver, call_lift, wake_up_call, is_free),
    commands=(
        ("Bring two towels to room 214.", "deliver(item='two towels', room=214)"),
        ("Take this newspaper up to 305.", "deliver(item='newspaper', room=305)"),
        ("Call the lift to the third floor.", "call_lift(floor=3)"),
        ("Lift to floor seven.", "call_lift(floor=7)"),
        ("Wake room 118 at six thirty.", "wake_up_call(room=118, hour=6, minute=30)"),
        ("A wake-up call at 7:45 for 402, please.", "wake_up_call(room=402, hour=7, minute=45)"),
        ("Is room 220 free tonight?", "is_free(room=220)"),
        ("Can somebody still have 101 tonight?", "is_free(room=101)"),
    ),
    talk=(
        "What time is breakfast usually served in hotels?",
        "The view from here is lovely.",
        "Where are you from?",
        "I slept very badly.",
        "Who was the first person on the Moon?",
        "Bye, and thank you for everything.",
    ),
    denials=("The towels have come, thank you.", "We won't need a wake-up call after all."),
    wishes=("Book me a taxi to the airport.",),
    steps=(("Call the lift to floor 2, then bring a pillow to room 210.", "call_lift(floor=2)"),),
)


FITTED: Final = (GREENHOUSE, LIBRARY, MUSEUM, WORKSHOP)
KEPT: Final = (BOAT, KITCHEN, DRONE, HOTEL)
