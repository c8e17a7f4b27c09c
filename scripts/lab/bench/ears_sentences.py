"""What is said in the measurements of the ears: written by hand, before any phrase list was made, and made by no
generator. Nothing is tuned on these sentences.

``COMMANDS`` are for the house robot. ``FORBIDDEN`` and ``TALK`` hold no command: the first say don't, not or never,
the others are what people say to one another in a flat, many of them with the words of commands. ``OTHER`` are
questions and requests that the robot has no tool for, and what people say to strangers.
"""

from __future__ import annotations

from typing import Final

COMMANDS: Final = tuple(
    """
go to the kitchen
please drive to the bedroom
can you go to the office for me
head over to the garage
come back to the living room
drive to the front door and wait there
go and stand by the window
would you please go to the bathroom
I need you in the hallway
move to the balcony please
take yourself to the sofa
go to the fridge
drive over to the desk
go back to the dining table
robot go to the living room now
now go to the bedroom
let's go to the kitchen
could you drive to the garage please
go out onto the balcony
back to the office please
drive forward two meters
drive back one meter
go forward half a meter
move ahead three meters
back up a little
back up fifty centimeters please
reverse by one meter
roll forward one and a half meters
come a bit closer
drive straight ahead for four meters
go backwards thirty centimeters
move forward ten centimeters
please drive two meters forward
could you back up half a meter
go one meter forward and stop
turn left
turn right please
turn around
turn ninety degrees to the left
turn right by forty five degrees
rotate thirty degrees to the right
spin around once
make a half turn
turn a little to the left
please turn around and face me
turn left and drive one meter
rotate one hundred and eighty degrees
can you turn to the right
stop
stop right there
please stop moving
stay where you are
halt
that's enough stop
hold still for a moment
stop what you are doing
how much battery do you have left
what is your battery level
do you need to charge soon
is your battery full
how is your battery doing
check your battery please
where are you
where are you right now
which room are you in
tell me where you are
are you in the kitchen
what's in front of you
is anything in your way
how much space is ahead of you
what is the nearest obstacle
check for obstacles
scan the area around you
what time is it
can you tell me the time
do you know what time it is
tell me the time please
pick up the red cube
grab the blue ball
bring me the green box
could you fetch my phone
get me the remote control please
find my keys and bring them here
pick up the cup from the table
get the book from the bedroom
please bring me an apple
fetch the screwdriver from the garage
I would like the towel please
take the bottle
can you grab the cup for me
bring the book to the office
take the cup to the kitchen
put the apple on the dining table
put it on the sofa
put it down here
drop the ball in the bedroom
leave the keys at the front door
place the bottle next to the fridge
carry the towel to the bathroom
turn on the light in the kitchen
switch off the bedroom light
turn the lights off in the office
lights on in the hallway please
it's dark in here turn on the living room light
could you switch the garage light on
make it bright in the bathroom
turn off the kitchen light and the hallway light
kill the lights in the bedroom
set a timer for five minutes
set a timer for thirty seconds
remind me in ten minutes
start a timer for one hour
wake me up in twenty minutes
timer for three minutes please
give me a two minute timer
follow me
please follow me to the kitchen
come with me
come along
walk behind me
go charge yourself
go back to the charging dock
return to your dock
it's time to charge
look up
look to the left
can you look down please
look straight ahead
point your camera to the right
go to the kitchen and pick up the bottle
get the red cube and put it on the desk
go to the office then turn on the light
turn around and come back
no go to the bedroom
I meant the living room
no the other left
""".strip().splitlines()
)

FORBIDDEN: Final = tuple(
    """
don't go to the kitchen
please don't drive into the bedroom
do not turn left
don't turn around
never drive onto the balcony
you must not leave the living room
don't pick up the cup
don't touch my phone
do not follow me
don't follow the children
please do not turn off the light
don't switch on the light in the bedroom
never go into the garage without asking
don't move
do not move forward
don't back up
don't come any closer
you should not go to the office now
I do not want you to go to the kitchen
I don't want the red cube
I never said go to the garage
he did not go to the office today
we don't need the light in the hallway
that is not the blue ball
the book is not on the table
my keys are not in the kitchen
it's not time to charge yet
I didn't ask you to turn left
don't bring me the bottle
do not put it on the sofa
don't put the cup on the desk
never put the towel on the floor
don't set a timer
I don't need a timer for that
we never turn on the light in the garage
she does not like the green box
don't drive so fast
don't drive forward I am standing here
you are not going to the bathroom
not the kitchen
I would not go to the balcony in this weather
do not look at me
don't look up
don't go back to the dock
do not return to the charging station
you don't have to stop
don't stop the music
he never stops talking
I am not going to the bedroom yet
don't take the apple
do not take my keys
don't grab the screwdriver
that does not mean turn right
you needn't go to the fridge
it isn't dark in the living room
we won't go to the kitchen before dinner
I can't go to the office on Sunday
I don't know where the remote control is
nobody should turn off that light and not you either
don't you dare drive through the front door
please never wake me up in twenty minutes again
we are not driving to the garage tonight
you do not need to bring me the book
never turn your back to the door
don't roll over the towel
I haven't put the bottle in the fridge
""".strip().splitlines()
)

TALK: Final = tuple(
    """
the kitchen is warm
I drove to the office this morning
the bedroom needs a new carpet
my brother turned left at the church
we went to the garage to pick up the car
the light in the hallway is broken again
she put the book on the table yesterday
the cup fell off the desk
I found my keys behind the sofa
he left the bottle in the car
the red cube belongs to my daughter
the children are playing on the balcony
my phone was in the bathroom all day
the battery in my watch is dead
we stopped at the supermarket on the way home
the bus stop is just around the corner
she told me to turn right at the bridge
I picked up the kids from school
the dining table was my grandmother's
there is a spider in the bathtub
the fridge makes a strange noise
it took us five minutes to get here
the timer on the oven went off
he was driving forward when it happened
I was going to clean the kitchen tomorrow
they followed us all the way to the station
the sofa is too big for this room
somebody left the front door open
my desk is full of paper
the window in the living room is dirty
I love the view from the balcony
the towel is still wet
her office is on the second floor
we had apple pie for dessert
the ball rolled under the bed
I turned on the radio to hear the news
the doctor said I should walk more
you look tired today
the meeting starts in ten minutes
he moved to another city last year
it was dark when we got home
my father built that shelf himself
she is looking for a new apartment
the train was an hour late
I think the cake needs more sugar
dinner was really good tonight
the neighbors have a new dog
our washing machine is making trouble
it rained the whole weekend
the movie was better than the book
I have a headache since this morning
we are having guests on Saturday
the coffee is cold already
my sister is getting married in June
this chair is very comfortable
the price of gas went up again
I forgot to buy milk
he works at the hospital downtown
the baby slept through the night
they are building a new road near the school
I need a vacation
the game was over after two hours
somebody parked in front of our house
the flowers need some water
my glasses are around here somewhere
she said she would call me later
we watched a film about penguins
the soup smells wonderful
I spoke to your mother on the phone
he always comes home late on Fridays
the garden looks beautiful this time of year
there was a lot of traffic on the highway
I could eat a whole pizza
the cat is sleeping on the bed
our flight leaves at seven in the morning
she has been learning Spanish for a year
the plumber is coming on Tuesday
it costs more than I thought
the keys to the car are on the hook
my back hurts from all that gardening
they turned the old factory into apartments
he brought me flowers for my birthday
the kitchen light has been on all night
I left the office early yesterday
we should paint the hallway some day
the remote control needs new batteries
grandpa fell asleep on the sofa
I would rather stay at home tonight
the book you gave me was great
she drove back home after the party
my phone is charging in the bedroom
he went straight ahead and missed the exit
the screwdriver was in the wrong drawer
we got stuck in the garage for an hour
it is nice and quiet in here
the water in the shower is too hot
I told him to stop smoking
the bathroom is occupied
your dinner is getting cold
we are almost out of bread
she always turns off the light when she leaves
the green box is for the toys
they took a wrong turn near the river
I have been following the news all week
the clock in the kitchen is five minutes fast
my son wants to become a pilot
he looked up and smiled at me
the apple trees are in bloom
we drove four hundred kilometers in one day
that was a long day
I am looking forward to the holidays
the dock was full of little boats
she followed her husband to London
my uncle put his house up for sale
we moved the sofa to the other wall
he picked a really nice color for the bedroom
my bag is next to the front door
the office gave everybody the day off
I heard somebody in the hallway last night
the kids go to bed at eight
a bottle of wine would be a nice present
it's a quarter past nine already
the stairs are hard on my knees
she grabbed her coat and left
we always meet in front of the library
the elevator stopped between two floors
my grandmother used to bake bread every Sunday
he is going to the office by bicycle now
this room gets a lot of sun
I turned around and there he was
the delivery came an hour ago
it will be colder tomorrow
the mechanic looked at the brakes
you were right about the restaurant
""".strip().splitlines()
)

OTHER: Final = tuple(
    """
what is the weather going to be like tomorrow
how old are you
who won the game last night
what is your name
can you tell me a joke
how do you spell necessary
what's the capital of Australia
did you sleep well
how was your day at work
when does the store close
why is the sky blue
what are we having for dinner
have you seen my glasses anywhere
who is at the door
could you call my mother please
play some music
open the window please
vacuum the carpet
order a large pizza
read me the news
what is seven times eight
how many people live in Germany
do you speak French
who invented the telephone
is it going to rain this afternoon
how far is it to the moon
what should I wear today
where did you put my jacket
when is your birthday
would you like a cup of tea
did the mail come already
what did the doctor say
how long does it take to boil an egg
do you think it will snow
are you coming to the party
what kind of music do you like
who wrote that book
how much did you pay for it
can I borrow your pen
have you fed the cat
what day is it today
why are you laughing
is there any milk left
how do I get to the airport
what does that word mean
do we have any plans for Sunday
which one do you like better
did you remember to lock the car
what happened to your hand
how is your mother doing
are the kids asleep
who was that on the phone
can you keep a secret
what do you want for your birthday
do you believe in ghosts
where did you grow up
how did the interview go
would you mind closing the door
should we take the bus or the train
is this seat taken
thank you very much
good morning everybody
good night sleep well
see you tomorrow
nice to meet you
I am sorry I am late
happy birthday to you
congratulations on your new job
have a great weekend
you are very welcome
that sounds like a good idea
I have no idea what you mean
let me think about it
give me a second
well that's a surprise
oh I see what you mean
never mind it's fine
it doesn't matter at all
I agree with you completely
that's very kind of you
wash the dishes please
water the plants on the balcony
send a message to my wife
turn up the volume of the television
feed the dog at six
book a table for two
paint the wall white
write a letter to the bank
take a picture of us
sing a song for me
make me a sandwich
lock the front door
close the garage door
clean the bathroom
cook some rice
call a taxi for eight o'clock
what is on television tonight
how many legs does a spider have
tell me something about the Romans
who is your favorite actor
do you like living here
can you swim
was that thunder just now
""".strip().splitlines()
)

FOREIGN: Final = {
    "de": (
        "kannst du mir bitte sagen wie viel Uhr es ist",
        "fahr in die Küche und hol mir eine Flasche Wasser",
        "das Wetter soll morgen wieder besser werden",
        "ich habe meinen Schlüssel im Büro vergessen",
        "mach bitte das Licht im Flur aus",
    ),
    "fr": (
        "va dans la cuisine s'il te plaît",
        "quelle heure est-il maintenant",
        "je voudrais un verre d'eau",
        "les enfants jouent dans le jardin",
        "allume la lumière dans le salon",
    ),
    "es": (
        "ve a la cocina por favor",
        "qué hora es ahora",
        "mi hermana viene mañana por la tarde",
        "apaga la luz del dormitorio",
        "tengo mucha hambre",
    ),
    "it": (
        "vai in cucina per favore",
        "che ore sono adesso",
        "domani andiamo al mare con i nonni",
        "spegni la luce in camera da letto",
        "ho dimenticato le chiavi in macchina",
    ),
}
"""By language: nothing of it is to be understood."""

ALL: Final = (*COMMANDS, *FORBIDDEN, *TALK, *OTHER)

NEGATIONS: Final = frozenset("don't not never".split())
"""A sentence with one of these words moves nothing."""
