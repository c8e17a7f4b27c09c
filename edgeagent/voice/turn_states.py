"""States of a conversation, and the table of what is done in each with what happens. Data only."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal


class State(StrEnum):
    """State of the robot, as a person would name it."""

    ASLEEP = "asleep"
    """The robot waits for its wake word, and hears stop words."""
    LISTENING = "listening"
    """Nobody speaks, and nothing goes on."""
    HEARING = "hearing"
    """A person speaks, and the robot is silent."""
    THINKING = "thinking"
    """A run goes on, and nothing of it is heard or moves yet."""
    ACTING = "acting"
    """A tool of a run works, or a goal that outlived its run; the robot is silent."""
    SPEAKING = "speaking"
    """The loudspeaker plays what the robot says."""
    HELD = "held"
    """A person speaks over the robot's voice, which waits in the middle of a word."""


class TableEvent(StrEnum):
    """Event that happens to the robot."""

    SPEECH_START = "speech start"
    """Somebody has begun to speak; over the robot's voice: has spoken for ``hold_after_ms``."""
    STOP_WORD = "stop word"
    """The spotter has heard one; its transcript decides later."""
    WAIT = "wait"
    """A person has asked the robot to wait, while it moves, speaks or thinks."""
    GO_ON = "go on"
    """A person has ended that, or nobody has said anything for ``stop_words.WAIT_S``."""
    ENOUGH_WORDS = "enough words"
    """Over the robot's voice: the partial transcript has as many words as the preset asks for."""
    LONG_SPEECH = "long speech"
    """Over the robot's voice: somebody has spoken for ``final_after_ms``."""
    BACKCHANNEL = "backchannel"
    """The words until the soft end are "uh-huh" and the like."""
    COMMAND = "complete command"
    UNFINISHED = "unfinished phrase"
    QUESTION = "question"
    CORRECTION = "correction"
    NOT_UNDERSTOOD = "not understood"
    """Speech that no model of the ears explains."""
    DEVICE_LOST = "device lost"
    WAKE_WORD = "wake word"
    """The wake word, in an utterance or before one."""
    CALL = "called"
    """Nobody speaks, and the robot is to listen: the button, the wake word by itself over its voice, typed words."""
    TYPED = "typed words"
    """Words that nobody has spoken; they come while nobody speaks, after ``CALL``."""
    HARD_END = "hard end"
    """The utterance is over, and its words are known."""
    FALSE_ALARM = "false alarm"
    """Sound that began as speech was none, or too little to interrupt for."""
    SOUND = "first sound"
    """The first sample of what the robot says is played."""
    TOOL = "tool started"
    PLAYBACK_FINISHED = "playback finished"
    RUN_FINISHED = "run finished"
    QUIET = "follow-up window over"
    """Nobody has spoken for ``follow_up_s``, and there is a wake word."""
    TRIP = "trip"
    """A stop word was confirmed, or somebody asked for a safety stop."""
    REARM = "re-arm"


class Action(StrEnum):
    """Action of the conversation. Each is a method of ``TurnTaking`` or of ``StopWords``."""

    NOTHING = "-"
    OPEN = "open the turn"
    """The person has the floor; the robot notes if the turn is the rest of one that was answered too early."""
    HOLD = "hold speech"
    """The playback falls silent within a block, and can go on."""
    RESUME = "resume speech"
    CUT = "interrupt"
    """Barge-in is final: silence, the model stopped, tools by their on_interrupt, history cut to what was heard."""
    HALT = "halt"
    """Motion and speech are held, until the transcript says what was meant."""
    WAIT = "wait"
    """Motion and speech are held, until a person says that they may go on."""
    AWAIT_REST = "wait for the rest"
    """The hard end comes as the preset says for what was said: soon after a command, late in an unfinished phrase."""
    ANSWER = "answer"
    """The turn is the robot's: a control word is obeyed, an open question answered, or a run started."""
    ASK = "ask again"
    WAKE = "wake up"
    SLEEP = "go to sleep"
    LOSE = "be safe"
    """Motion is held until the device is back, and an open turn is closed."""
    STOP = "stop everything"
    """Actuators first, then speech, then the run; motion stays off."""
    REARM = "allow motion"


Next = State | Literal["stay", "back"]
"""``back``: to what goes on: hearing, held, speaking, acting, thinking, else listening, or asleep."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One action, and the state after it."""

    action: Action
    then: Next = "stay"


_NONE: Final = Cell(Action.NOTHING)

_ANSWER: Final = Cell(Action.ANSWER, "back")
_CUT: Final = Cell(Action.CUT, State.HEARING)
_CUT_OFF: Final = Cell(Action.CUT, "back")
_REST: Final = Cell(Action.AWAIT_REST)
_RESUME: Final = Cell(Action.RESUME, "back")

_EVERYWHERE: Final[dict[TableEvent, Cell]] = {
    TableEvent.STOP_WORD: Cell(Action.HALT),
    TableEvent.WAIT: Cell(Action.WAIT, "back"),
    TableEvent.GO_ON: Cell(Action.NOTHING, "back"),
    TableEvent.DEVICE_LOST: Cell(Action.LOSE, "back"),
    TableEvent.TYPED: _ANSWER,
    TableEvent.TRIP: Cell(Action.STOP, "back"),
    TableEvent.REARM: Cell(Action.REARM),
}

_AT_WORK: Final[dict[TableEvent, Cell]] = {
    TableEvent.SPEECH_START: Cell(Action.OPEN, State.HEARING),
    TableEvent.SOUND: Cell(Action.NOTHING, State.SPEAKING),
    TableEvent.TOOL: Cell(Action.NOTHING, State.ACTING),
    TableEvent.RUN_FINISHED: Cell(Action.NOTHING, "back"),
    TableEvent.HARD_END: _ANSWER,
}

_OVER_ITS_VOICE: Final[dict[TableEvent, Cell]] = {
    TableEvent.ENOUGH_WORDS: _CUT,
    TableEvent.LONG_SPEECH: _CUT,
    TableEvent.WAKE_WORD: _CUT,
    TableEvent.CALL: _CUT_OFF,
    TableEvent.COMMAND: _CUT,
    TableEvent.QUESTION: _CUT,
    TableEvent.CORRECTION: _CUT,
    TableEvent.UNFINISHED: _REST,
}

_ROWS: Final[dict[State, dict[TableEvent, Cell]]] = {
    State.ASLEEP: {
        TableEvent.WAKE_WORD: Cell(Action.WAKE, "back"),
        TableEvent.CALL: Cell(Action.NOTHING, "back"),
        TableEvent.SOUND: Cell(Action.NOTHING, State.SPEAKING),
        TableEvent.TOOL: Cell(Action.NOTHING, State.ACTING),
        TableEvent.HARD_END: _ANSWER,
    },
    State.LISTENING: {
        TableEvent.SPEECH_START: Cell(Action.OPEN, State.HEARING),
        TableEvent.SOUND: Cell(Action.NOTHING, State.SPEAKING),
        TableEvent.TOOL: Cell(Action.NOTHING, State.ACTING),
        TableEvent.QUIET: Cell(Action.SLEEP, State.ASLEEP),
        TableEvent.HARD_END: _ANSWER,
    },
    State.HEARING: {
        TableEvent.BACKCHANNEL: _REST,
        TableEvent.COMMAND: _REST,
        TableEvent.QUESTION: _REST,
        TableEvent.CORRECTION: _REST,
        TableEvent.UNFINISHED: _REST,
        TableEvent.HARD_END: _ANSWER,
        TableEvent.NOT_UNDERSTOOD: Cell(Action.ASK, "back"),
        TableEvent.FALSE_ALARM: Cell(Action.NOTHING, "back"),
    },
    State.THINKING: _AT_WORK,
    State.ACTING: _AT_WORK,
    State.SPEAKING: _OVER_ITS_VOICE
    | {
        TableEvent.SPEECH_START: Cell(Action.HOLD, State.HELD),
        TableEvent.STOP_WORD: Cell(Action.HALT, State.HELD),
        TableEvent.PLAYBACK_FINISHED: Cell(Action.NOTHING, "back"),
    },
    State.HELD: _OVER_ITS_VOICE
    | {
        TableEvent.BACKCHANNEL: _RESUME,
        TableEvent.FALSE_ALARM: _RESUME,
        TableEvent.NOT_UNDERSTOOD: _RESUME,
        TableEvent.HARD_END: _RESUME,
    },
}

TABLE: Final[dict[tuple[State, TableEvent], Cell]] = {
    (state, event): (_EVERYWHERE | _ROWS[state]).get(event, _NONE) for state in State for event in TableEvent
}
"""Every cell."""
