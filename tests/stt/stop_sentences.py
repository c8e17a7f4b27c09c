"""Sentences with stop words, written by hand: 210 that hold no command to stop, 80 that do."""

from __future__ import annotations

from typing import Final

NO_COMMAND: Final = {
    "stop": """
don't stop
don't stop now
please don't stop
robot don't stop
do not stop
do not stop the music
no don't stop
never stop
never stop learning
you never stop
don't you dare stop
don't you ever stop
please do not stop here
don't stop in the kitchen
don't stop at the door go on
don't make it stop
I don't want you to stop
I don't want to stop
I do not want it to stop
we don't need to stop
you don't have to stop
you do not have to stop for me
don't let me stop you
nothing can stop you
nobody can stop him
nobody asked you to stop
no need to stop
there is no need to stop
I can't stop laughing
I couldn't stop crying
she can't stop talking
he won't stop singing
it won't stop raining
the baby wouldn't stop crying
they didn't stop at the border
he didn't stop to think
she doesn't stop working
it doesn't stop there
we shouldn't stop here
you mustn't stop taking the pills
you can't stop the rain
I cannot stop thinking about it
let's not stop
let us not stop here
better not stop
not stop but go
I said don't stop
I told you not to stop
he told me not to stop
why didn't you stop
without a stop it takes an hour
the bus stop is far
the bus stop
where is the bus stop
is there a bus stop nearby
I wait at the bus stop
meet me at the bus stop
the tram stop is over there
the next stop is the airport
this is my stop
is this our stop
my stop is the next one
what is the next stop
which stop is it
how many stops
the last stop was Rome
the first stop is Paris
a short stop
we made a stop in Lyon
it was a quick stop
there is a stop sign at the corner
stop sign
the stop sign
he ran a stop sign
she ignored the stop sign
press the stop button
the stop button is red
where is the stop button
the stop light is broken
a stop watch
full stop
the sentence ends with a full stop
put a full stop there
the car came to a full stop
it came to a sudden stop
the train came to a stop
everything came to a stop
bring it to a stop
a rest stop on the highway
the truck stop was closed
we had a pit stop
a glottal stop is a sound
the whistle stop tour
the door stop fell over
she stopped the car
he stopped talking
they stopped for lunch
we stopped at the shop
it stopped raining
the clock has stopped
my watch stopped at noon
the bus stops here
the bus stops at eight
when the music stops
it never stops
he stops at every window
stopping by the woods
stopping is not an option
she is stopping by tomorrow
I am stopping smoking
there is no stopping him
unstoppable
when does the bus stop
when does it stop
when did it stop
where does the train stop
where do you stop
where did they stop
does the tram stop here
does this train stop in Boston
did the rain stop
did it stop raining
will it stop soon
when will it stop
how do I stop it
how do you stop a car
how can I stop smoking
why did you stop
why does it stop
why do people stop
tell me when to stop
tell me where to stop
tell me if they stop
show me how to stop
I know when to stop
he knows when to stop
she wants to stop
he wants to stop smoking
I want to stop at the shop later
we have to stop at the bank
they used to stop here
I tried to stop him
she tried to stop the bleeding
it is hard to stop
it is time to stop worrying
he forgot to stop
they decided to stop the game
we need to stop for gas
I need to stop eating sweets
he is trying to stop
I stop here every day
we stop at five
they stop at the lights
you stop at red lights
cars stop at red lights
people stop and stare
buses stop here at night
trains stop in this town
the trains stop at midnight
the cars stop for children
if you stop they will laugh
if they stop we will too
when you stop I will leave
when we stop I will call
before we stop let me ask
after they stop we eat
until they stop we wait
I will stop by tomorrow
I will stop smoking one day
she will stop by later
they will stop the trial
we will stop in Paris
I might stop there
we may stop for coffee
you usually stop at the window
you always stop there
he often has to stop
does the music ever stop
the shop is on top of the hill
the rain might stop soon
the doctor will stop the treatment
the police want to stop the race
my heart could stop
the engine may stop
""",
    "halt": """
don't halt
do not halt
never halt
the train came to a halt
everything came to a halt
work ground to a halt
production came to a sudden halt
they called a halt
he called a halt to the game
the halt was short
a halt on the way
they had to halt the sale
she wants to halt the project
why did they halt
it will halt the growth
the computer would not halt
""",
    "freeze": """
don't freeze
we will freeze to death
I will freeze in here
does water freeze at zero
the lakes freeze in winter
it might freeze tonight
the freeze lasted a week
a deep freeze
why does my screen freeze
you should not freeze it
""",
}

COMMANDS: Final = {
    "stop": """
stop
Stop!
STOP
stop stop
stop stop stop
stop now
stop right now
stop right there
stop there
stop here
stop it
stop that
stop please
stop moving
stop driving
stop turning
stop the robot
stop the motors
stop at once
stop immediately
stop, I said
stop, that's enough
stop, you will hit the table
stop before you fall
stop don't move
stop no further
please stop
please stop now
please stop moving
please, stop right there
robot stop
robot, stop!
robot please stop
robot stop now
robot stop moving
hey stop
hey robot stop
hey robi stop
no stop
no, no, stop
no no no stop
no, stop it
wait stop
wait, stop there
okay stop
ok stop
okay, stop now
okay that's enough, stop
now stop
and stop
and now stop
oh stop
oh no stop
whoa stop
just stop
just stop please
enough stop
I said stop
I said stop now
emergency stop
could you stop
could you please stop
can you stop
can you please stop now
would you stop
would you please stop moving
will you stop
will you please stop
you must stop
go to the kitchen. No, stop
drive forward, no stop
turn left no wait stop
good, now stop
look out, stop
for god's sake stop
don't stop there... stop, stop!
""",
    "halt": """
halt
halt now
robot halt
please halt
""",
}


def listed(sentences: dict[str, str]) -> list[tuple[str, str]]:
    """(sentence, stop word) for each line."""
    return [(line, word) for word, lines in sentences.items() for line in lines.strip().splitlines()]
