"""Commands and questions to a house robot, of up to 8 words, written by hand without looking at any phrases.

At each bar the words before it are something that a person may say and be done with; at every other boundary a person
who pauses goes on. Some bars were added after the first run, where words that plainly stand alone had been forgotten.

The rules were first run on a list before they were changed because of it. Cuts then taken for whole sentences, of all:

    FIRST    26 of 353
    SECOND   32 of 347
    FRESH    28 of 325
    LAST     21 of 311
    NEVER    10 of 310; since then one rule was changed because of it
"""

FIRST = """
go to the kitchen
drive to the front door
turn left | and stop
turn right | ninety degrees
drive forward | two meters
move back | half a meter
come here | please
follow me | to the office
bring me the red cube
pick up the bottle | from the floor
put the book | on the desk
put it down | here
turn on the light | in the hallway
switch off the bedroom light
set a timer for ten minutes
what time is it | now
how full is your battery
where are you | right now
is there anything | in front of you
look to the left
look up
can you drive to the window
could you please turn around
would you fetch my phone
i want you to go to the garage
please bring the cup | to the living room
robot | go back | to the dock
back up | a little
stop | at the sofa
wait | for me | at the door
tell me the time
tell me where you are
do you know what time it is
how far is it | to the kitchen
what is in front of you
what is your name
who are you
which room are you in
are you charging
is the light in the bathroom on
is the bedroom light on
take the towel | to the bathroom
carry the box to the garage
give me the remote control
find my screwdriver
drive one and a half meters | forward
turn a hundred and eighty degrees
rotate | forty five degrees | to the left
spin | around | once
drive a bit closer
move closer | to the table
go straight | ahead
go over to the dining table
head to the balcony
return | to the charging dock
go and charge
go home
dock | now
wake me in twenty minutes
remind me in one hour
set an alarm for seven thirty
start a timer for thirty seconds
how long will that take
how many rooms are there
what can you do
can you hear me
can you see the ball
where is the apple
where did you put the cup
what are you doing
what are you holding
are you ready
do you have the bottle
is anybody in the office
how are you | today
why did you stop
when will you be back
drive to the bedroom | and turn left
go to the kitchen | and get the apple
take this | to the kitchen
put the apple | in the fridge
put that back
bring it to me
bring them to the sofa
let us go to the balcony
show me the living room
make a full turn
do a half turn | to the right
reverse | one meter
drive slowly | to the door
turn the kitchen light off
turn it off
lights on | in the garage
light off | please
look down | at the floor
scan | the room
check the battery
how much battery is left
stay where you are
please do not go to the bathroom
"""

SECOND = """
move forward | thirty centimeters
drive backwards | for two seconds
turn to the window
face the door
come to the sofa
come with me
come back | here
get the blue ball | from the garage
get me a towel
grab the green box
fetch the phone | from the desk
deliver the book to the office
place the cup | on the table
set the cup down
drop the ball | in the hallway
hand me the bottle
leave the room
leave it | on the couch
switch on the lights | in the kitchen
turn off all the lights
turn on the lamp | in my bedroom
is the kitchen light still on
what is the battery level
are you low on battery
do you need to charge
go charge | yourself
drive to your charger
please go to your dock
how late is it
can you tell me the time
could you tell me where you are
would you please look right
will you follow me | to the garage
can you bring me my phone
could you pick up the red cube
may i ask you something
did you find the screwdriver
have you seen my phone
has the timer started
does the office have a window
what did you say
what is that | over there
what is behind you
what is next | to the sofa
who is in the kitchen
who turned off the light
where should i put this
where is the charging dock
where are you | going
where is everybody
how do i get to the garage
how big is the living room
how far can you see
how fast are you
how long is the timer
how high is the table
which way is the kitchen
which lights are on
why are you so slow
why is the light on
when did you last charge
i need the towel
i would like you to follow me
i want the apple
we need light | in here
let me see the ball
keep going | to the door
go a little further
go around the table
drive past the sofa
drive through the hallway
drive around the chair | slowly
turn around | and come back
turn a little | to the left
turn twenty degrees | right
turn one eighty
rotate | clockwise
look at me
look behind you
look over there
point the camera up
point the camera at the window
set the timer to five minutes
stop | the timer
cancel | the timer
add two minutes | to the timer
wait | ten seconds | then turn left
wait | until i call | you
stand next to the bed
park | by the front door
tell me a joke
tell anna to come | here
say hello | to grandma
call my mother
play some music | in the kitchen
open the door
close the window | please
clean the kitchen | floor
hurry | up | robot
never go into the bedroom | again
"""

FRESH = """
advance | by three meters
roll | to the fridge
travel to the garage
sneak up on the cat
get out of the bathroom | please
get closer | to me
bring the apple | over | here
pass me the screwdriver
take me to the office
lead me to the front door
pick the cup up
pick that up | for me
put everything back | in the box
leave the book | where it is
hold the bottle | for a moment
throw the ball
turn to your left
turn the other way
turn toward the sofa
make a left | turn
spin | twice | please
stop | turning
stop | right there
look around | the kitchen
look under the bed
watch the door | for me
check if the window is open
check whether anybody is home
see if the light is on
find out where my keys are
go see who is at the door
switch everything off
dim the lights | in the living room
make it brighter | in here
light up the hallway
lights out
set the kitchen light to fifty percent
wake me up | at half past seven
count down | from ten
timer for five minutes
how is the weather
how old are you
how many meters did you drive
how many apples are in the fridge
how come | you stopped
how do you feel | today
what should i cook
what day is it | today
what happened | in the garage
what did you see | in the office
what have you done
what else | can you do
what is on the desk
what makes that noise
what are the rooms | called
which door is open
which of the boxes is green
where can i find the towel
where was the phone
where does this go
who put the book there
who is that
whose phone is this
why can't you move
why not
when does the timer end
when can you start
is it warm | outside
is this the kitchen
is the dock free
is my phone on the sofa
are there any obstacles
are we in the hallway
am i in your way
was that you
did anyone call
do i need an umbrella
do not touch the red cube
don't move
have you charged | enough
can i have the remote control
can robots swim
could you come closer | please
will it rain
shall we go
should i help | you
may i pass
would you like a break
i need help
i lost my phone | in the bedroom
i would like some light
let me through
let us dance
please be careful
never mind | the cup
after that come back
first go left | then right
when you are done | come back
as soon as you can | follow me
quickly drive to the door
"""

LAST = """
slow down | a bit
speed up | please
drive three steps | forward
go two meters | to the left
take two steps | back
move out | of the way
make way | please
drive under the table
go upstairs
get up | from there
stay behind me
keep away | from the stairs
wait | by the window
wait | outside | the bathroom
stop | moving
stop | the music
hold still
raise your arm
lift the box | carefully
push the chair | to the wall
pull the cart | into the garage
open your gripper
close the gripper
release the ball
let go | of the cup
pour me a glass of water
feed the cat
water the plants
empty the bin
dust the shelf
bring my wife her coffee
give it to anna
give the book to my son
show anna the balcony
tell the kids dinner is ready
ask my wife where she is
remind me to call the doctor
put two apples in the box
put the red one back
swap the cup and the bottle
find the ball | and bring it here
is dinner ready
is the bottle empty
is it raining
is there enough light
are the lights in the office off
are you stuck
are you sure | about that
was the door open
were you in the garage
does the cup belong here
do you like music
do the lights work
did the timer ring
did you hear that | noise
have you finished
has anyone been here
can you reach the shelf
can you hold this | for me
can you turn a bit further
could you be quick
could you check the garage door
would you look after the cat
will you be long
shall i open the door
should we wait | for you
what time will you be back
what is wrong | with you
what is the temperature | outside
what is your speed
what is under the bed
what did the doctor say
what should you do | now
what were you doing | there
where does the cat sleep
where in the kitchen is it
where else did you look
which book did you take
which one | is mine
who told you that
who lives here
who else is here
why did the timer stop
why are the lights off
why do you turn
how far did you drive
how much does it weigh
how high can you reach
how often do you charge
how warm is it | in here
how do i stop you
how are the kids
when is it time to leave
when do you go | to bed
forward
half a turn | left
two meters | back
the other way
to the left | a bit
now | the bedroom
"""

NEVER = """
go into the living room
drive up to the fridge
take me home
get the phone | off the desk
bring the screwdriver back | to the garage
move a meter | to the right
turn forty degrees | to the left
come a little closer | to me
go and see who is there
look for the remote control
look out | of the window
put the towel next to the sink
put my book away
give my phone to anna
turn the lights off | in the office
switch the bathroom light on
leave the light on | tonight
set a ten minute timer
set another timer for an hour
ask me again | in five minutes
tell me when the timer is over
tell me if somebody comes
let me know when you are there
keep an eye on the door
stop | following me
start | the timer
start driving | to the dock
try again | please
do that | again
do it | more slowly
how much time is left
how many timers are running
how do you know that
how come the light is off
what are your tools
what can you see | from there
what happened | to the light
what did you put in the fridge
what should we do | about it
where is the nearest chair
where will you go next
where have you been | today
which room is the biggest
which way did he go
who was at the door
who gave you the book
whose cup is that
why is it so dark
why have you stopped | here
when is the next timer
are you on your way
are you able to hear me
is your gripper empty
is the door to the garage open
is that the red cube
does the robot need a break
did you turn the light off
do we have any apples
have you got the bottle
can i get past you
can you show me the map
could you wait | in the hallway
would you bring it here
will you come with me
should i move the chair
may i have the apple
i need you in the kitchen
i want to see the balcony
i am in the bedroom
we are out of milk
there is a box in your way
the light is too bright | in here
let us start | with the kitchen
no | not that one
one more meter | please
straight on | then left
all the way back
further | to the right
as far as the sofa
until you see the door
"""
