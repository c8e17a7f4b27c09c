"""The table of ``scripts/bench people``: shares by recogniser, set and condition, of both halves; and the misses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from bench.people_mind import Mind
from bench.people_trials import HALVES, Trial, wanted_calls

from edgeagent.stt import for_error_rate, word_error_rate

Row = tuple[str, ...]
HEADER: Final = ("recogniser", "condition", "measured", "all", *HALVES, "machine voices")
_FALSE_STOP: Final = "stopped without a stop word"
SHIPS: Final = "ships"
"""Commands and talk of this recogniser went through a whole conversation."""


def rows(recogniser: str, trials: Sequence[Trial], came: dict[str, Any], mind: Mind) -> Iterator[Row]:
    """Rows under ``HEADER`` of one recogniser, set and condition.

    "all" and the halves are people and natural voices; flite and espeak-ng stand by themselves.

    Args:
        trials: All that were drawn; those that are not in ``came`` are left out.
        came: What came of each, by the trial's name.
    """
    trials = [trial for trial in trials if came.get(trial.name) is not None]
    if not trials:
        return
    kind, where = trials[0].kind, str(trials[0].condition)
    for name, count in _measures(recogniser, kind, came, mind).items():
        natural = [trial for trial in trials if trial.natural]
        halves = [[trial for trial in natural if trial.half == half] for half in HALVES]
        machines = [trial for trial in trials if not trial.natural]
        yield recogniser, where, f"{kind}: {name}", *(_share(part, count) for part in (natural, *halves, machines))


def misses(recogniser: str, trials: Sequence[Trial], came: dict[str, Any], mind: Mind) -> Iterator[str]:
    """A line for each trial of which something else came than should."""
    for trial in trials:
        result = came.get(trial.name)
        if result is None:
            continue
        who = f"{recogniser}, {trial.condition}, {trial.voice or 'a person'}, {trial.half}"
        if trial.kind == "recordings":
            wrong, words = _words(trial, result)
            if wrong:
                yield f"{who}: {trial.said!r} as {_raw(result)!r} ({wrong:.0f} of {words:.0f} wrong)"
            continue
        outcome = _outcome(recogniser, trial, result, mind)
        if outcome != "right" and (trial.kind == "talk" or mind.right_as_text(trial)):
            yield f"{who}: {outcome}: {trial.text!r}: {_told(recogniser, result)}"


Count = Callable[[Trial], tuple[float, float] | None]
"""Of a trial: how many are so, and of how many; None: it does not count here."""


def _measures(recogniser: str, kind: str, came: dict[str, Any], mind: Mind) -> dict[str, Count]:
    if kind == "recordings":
        return {
            "words wrong": lambda trial: _words(trial, came[trial.name]),
            "understood": lambda trial: (float(all(ok for *_, ok in came[trial.name])), 1.0),
        }

    def share(condition: Callable[[Trial], bool]) -> Count:
        return lambda trial: (float(condition(trial)), 1.0)

    def outcome(name: str) -> Count:
        return share(lambda trial: _outcome(recogniser, trial, came[trial.name], mind) == name)

    stopped: dict[str, Count] = {}
    if recogniser == SHIPS:
        stopped[f"{_FALSE_STOP}, in that"] = share(lambda trial: _false_stop(trial, came[trial.name]))
    if kind == "talk":
        return {"called a tool": outcome("wrong"), **stopped}

    def of_right_as_text(count: Count) -> Count:
        return lambda trial: count(trial) if mind.right_as_text(trial) else None

    if recogniser == SHIPS:
        yes = share(lambda trial: _confirmed(trial, came[trial.name], mind))
        more = {"right, of those right as text": of_right_as_text(outcome("right"))}
        more |= {"the same, or after a yes": of_right_as_text(yes)}
    else:
        alone = share(lambda trial: mind.outcome(trial, [text for text, *_ in came[trial.name]]) == "right")
        more = {
            "words wrong": lambda trial: _words(trial, came[trial.name]),
            "right, of those right as text, understood or not": of_right_as_text(alone),
            "understood and right": of_right_as_text(outcome("right")),
        }
    return {**more, "asked": outcome("asked"), "acted wrongly": outcome("wrong"), **stopped}


def _outcome(recogniser: str, trial: Trial, result: Any, mind: Mind) -> str:
    if recogniser == SHIPS:
        return mind.outcome(trial, result["texts"], stopped=result["stopped"], remarks=result["remarks"])
    understood = [text for text, _, ok in result if ok]
    return mind.outcome(trial, understood, remarks=[raw for _, raw, ok in result if not ok])


def _false_stop(trial: Trial, result: Any) -> bool:
    """True if the robot took something for a stop word where it should not have stopped."""
    wanted = [] if trial.kind == "talk" else wanted_calls()[trial.text]
    return bool(result["stopped"]) and all(call["name"] != "stop" for call in wanted)


def _confirmed(trial: Trial, result: Any, mind: Mind) -> bool:
    """True if it was right at once, or after the person has said yes."""
    texts, stopped = list(result["texts"]), result["stopped"]
    if (after := result.get("yes")) is not None:
        texts, stopped = [*texts, *after["texts"]], stopped or after["stopped"]
    return mind.outcome(trial, texts, stopped=stopped) == "right"


def _words(trial: Trial, result: Any) -> tuple[float, float]:
    """Words that are wrong, and words that were said."""
    words = len(for_error_rate(trial.said).split())
    return words * word_error_rate(trial.said, _raw(result)), float(words)


def _raw(result: Any) -> str:
    return " ".join(raw for _, raw, _ in result)


def _told(recogniser: str, result: Any) -> str:
    if recogniser != SHIPS:
        return "; ".join(f"{'heard' if ok else 'not understood'} {raw!r}" for _, raw, ok in result) or "nothing heard"
    heard = [f"{'heard' if ok else 'not understood'} {text!r}" for text, ok in result["transcripts"]]
    return "; ".join([*heard, *(["stopped"] if result["stopped"] else []), *result["remarks"]]) or "nothing heard"


def _share(trials: Sequence[Trial], count: Count) -> str:
    """A share with its count; what counts at most once is counted whole."""
    found = [pair for trial in trials if (pair := count(trial)) is not None]
    good, all_ = (sum(column) for column in zip(*found, strict=True)) if found else (0.0, 0.0)
    return f"{good / all_:.1%} ({good:.0f} of {all_:.0f})" if all_ else "-"
