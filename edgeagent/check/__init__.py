"""Measures how well a model understands the tools of a builder's app, without running one of them.

The modules ``voice_*`` measure how well its ears hear its people; they are imported by themselves, since they load what
hears.
"""

from edgeagent.check.cases import Case, Expected, read_cases, starter
from edgeagent.check.doubts import RULES, Doubt, DoubtRule, doubts
from edgeagent.check.trial import Outcome, Report, ToolCost, Trial
from edgeagent.front import front

__all__ = [
    "RULES",
    "Case",
    "Doubt",
    "DoubtRule",
    "Expected",
    "Outcome",
    "Report",
    "ToolCost",
    "Trial",
    "doubts",
    "read_cases",
    "starter",
]

__getattr__ = front(
    __name__,
    {
        "doubts": "LONG_DESCRIPTION_WORDS MANY_PARAMETERS MANY_TOOLS",
        "trial": "RESULT difference",
        "voice_advice": "Mixer VOICE_RULES advice",
        "voice_again": "KeptUtterance better_thresholds compared heard_again read_recordings",
        "voice_kept": "VoiceRecordings delete_kept kept_attempts kept_room kept_tests",
        "voice_plan": "Kind PlannedLine STORIES plan",
        "voice_run": "VoiceRun",
        "voice_score": "Attempt RecogniserScore Tally Threshold VoiceReport VoiceScore judged",
        "voice_sound": "RoomSound Tapped VoiceSound",
    },
)
