"""Measures how well a model understands the tools of a builder's app, without running one of them.

The modules ``voice_*`` measure how well its ears hear its people; they are imported by themselves, since they load what
hears.
"""

from edgeagent.check.cases import Case, Expected, read_cases, starter
from edgeagent.check.doubts import RULES, Doubt, DoubtRule, doubts
from edgeagent.check.trial import Outcome, Report, ToolCost, Trial

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
