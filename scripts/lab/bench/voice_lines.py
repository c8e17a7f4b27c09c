"""What people and the robot say in the measurements of the conversation: by hand, before any of it was measured.

No preset and no rule was tuned on these lines; what they showed to be wrong was mended by rule, and not by line.
"""

from __future__ import annotations

from typing import Final

SLOW: Final = tuple(
    tuple(line.split(" | "))
    for line in """
go to the | kitchen
please drive to the | bedroom
could you | bring me the red cube
can you tell me | what time it is
drive forward | two meters
turn to the | left
turn on the light in the | living room
switch off the | bedroom light
pick up the | blue ball
set a timer for | five minutes
how full is | your battery
where is the | red cube
I would like you to | go to the office
please put the cup on the | dining table
take the book to | the bathroom
go | to the garage
bring me my | phone
turn around and | go back to the kitchen
set a | timer for thirty seconds
what is | in front of you
look to the | right
come back to | the living room
drive back | one meter
would you please | follow me
fetch the | green box from the hallway
turn right by | ninety degrees
put it down next to the | fridge
I need you in | the bedroom
how much | battery do you have left
turn the light off in | the hallway
can you | go to the front door
go over to | the window
find my | keys
let's go to | the balcony
please grab the | remote control
which room | are you in
what's the | time
tell me | where you are
move ahead | half a meter
remind me in | ten minutes
carry the towel to the | bathroom
is there anything | in your way
now please go | to the desk
look | up
I want you to | turn left
take me to the | kitchen please
if you can | go to the sofa
get the screwdriver from | the garage
could you check | your battery
drop the ball in the | office
""".strip().splitlines()
)
"""Where the words before the pause are no whole sentence."""

SLOW_WHOLE: Final = tuple(
    tuple(line.split(" | "))
    for line in """
go to the kitchen | and pick up the bottle
turn left | and drive one meter
go to the office | please
turn on the light | in the garage
turn around | and come back
drive forward | half a meter
what time is it | in the kitchen
get the red cube | and put it on the desk
put it down | on the sofa
turn right | ninety degrees
set a timer | for five minutes
go to the bedroom | and turn the light off
""".strip().splitlines()
)
"""Where they are: nobody can know that more comes."""

BACKCHANNELS: Final = tuple(
    """
uh huh
yeah
okay
right
I see
yes
really
great
got it
mm hmm
sure
oh
all right
yeah okay
oh I see
nice
very good
wow
thank you
interesting
""".strip().splitlines()
)

QUESTIONS: Final = tuple(
    """
what time is it
go to the kitchen
how full is your battery
no go to the bedroom
where are you
turn on the light in the office
please come back to the living room
that is enough thank you
can you pick up the red cube
what is in front of you
""".strip().splitlines()
)
"""What interrupts the robot."""

STORIES: Final = tuple(
    " ".join(story.split())
    for story in """
The living room is tidy and the window is closed. The plant on the desk needs a little water today. I have
seen your keys next to the old lamp in the hallway. The blue ball has rolled under the sofa again.

My battery will last for another three hours if I drive slowly. After that I go back to my dock and rest for a
while. You can still ask me things while I charge. The light in the garage is off now.

Tomorrow the weather will be mild with a little rain in the evening. The train to the city leaves every twenty
minutes from the old station. It takes about half an hour to get there. You may want to bring an umbrella with
you.

The kitchen has a large table with four wooden chairs around it. There is a bottle and a cup near the sink.
The fridge is closed and the floor is dry. I found nothing else that is worth a word.

I went from the bedroom to the balcony and back again. On my way I passed two doors and a box that was not
there before. Nobody was in the bathroom. The towel lies on the floor beside the shelf.
""".strip().split("\n\n")
)
"""What the robot says. No comma, so that each sentence is synthesised as a whole."""

TEMPTING: Final = (
    "I will stop at the kitchen door and wait there. Please tell me to stop if I drive too fast for you. The bus stop "
    "is far from here. I never stop in the middle of a room. Say stop and I stop."
)
"""The robot's own words with stop words in them."""

FALSE_STOPS: Final = tuple(
    """
the bus stop is far from here
don't stop
please do not stop now
I have to stop by the office later
we stopped at the shop on the way
is there a stop sign at the corner
when does the rain stop
the train does not stop here
never stop learning
he could not stop laughing
what time does the bus stop running
you don't have to stop
it is the last stop before the city
I stopped the washing machine already
did the music stop
nobody can stop me today
keep going don't stop there
I can't stop thinking about it
a short stop at the bakery would be nice
the pit stop took three seconds
don't stop until you are in the kitchen
this shop is on the top floor
put the mop on top of the box
the tap drops on the spot
my laptop is on the desk
""".strip().splitlines()
)
"""With a stop word that is none, or something like one."""
