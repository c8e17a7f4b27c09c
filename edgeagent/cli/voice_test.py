"""``edgeagent voice-test``: how well the ears hear a builder's own people through his own microphone.

Runs on the main thread.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Final

import typer

from edgeagent.cli import exits, options, streams
from edgeagent.cli.help import epilog
from edgeagent.cli.streams import one_line
from edgeagent.errors import AudioError, ConfigError, EdgeAgentError

if TYPE_CHECKING:
    from edgeagent.app.ears_setup import Vocabulary
    from edgeagent.check.voice_advice import Mixer
    from edgeagent.check.voice_kept import KeptTest, VoiceRecordings
    from edgeagent.check.voice_run import VoiceRun
    from edgeagent.check.voice_sound import Tapped
    from edgeagent.cli.voice_test_report import StageView
    from edgeagent.config import Config
    from edgeagent.tts.mouth import Mouth

EPILOG: Final = epilog(
    {
        "edgeagent voice-test": "about five minutes with your microphone and loudspeaker",
        'edgeagent voice-test --person anna --distance "1 m" --distance "3 m"': "at two places",
        "edgeagent voice-test --app my_robot.py --sentences 30": "with the commands of your own robot",
        "edgeagent voice-test --silent": "shows what to say, and needs no loudspeaker",
        "edgeagent voice-test --again --engine whisper": "the kept recordings by another recogniser, without a "
        "microphone",
        "edgeagent voice-test --list": "what is kept on this machine",
        "edgeagent voice-test --delete": "deletes all recordings; with --person those of one person",
    },
    exit_code="0 tested · 1 a recording can't be deleted · 2 wrong usage or settings, nobody to ask, or nothing can "
    "be kept · 3 the app's model · 4 microphone, loudspeaker, recogniser or voice, and 130 Ctrl-C, after the report "
    "of what there is",
)
_KEPT: Final = "Recordings"
_MIXERS: Final = (
    ("wpctl", "wpctl set-volume @DEFAULT_AUDIO_SOURCE@ 10%+", "wpctl set-volume @DEFAULT_AUDIO_SOURCE@ 10%-"),
    ("pactl", "pactl set-source-volume @DEFAULT_SOURCE@ +10%", "pactl set-source-volume @DEFAULT_SOURCE@ -10%"),
    ("alsamixer", "alsamixer, F4, Capture up", "alsamixer, F4, Capture down"),
)
"""Programs that set a microphone's level, and the ways up and down; the first one that is installed is named."""


def voice_test(
    person: Annotated[
        str | None, typer.Option("--person", metavar="NAME", help="Who speaks; kept with the recordings.")
    ] = None,
    sentences: Annotated[
        int | None, typer.Option("--sentences", metavar="N", min=1, max=200, help="At each distance. [dim](20)[/]")
    ] = None,
    distance: Annotated[
        list[str] | None,
        typer.Option("--distance", metavar="TEXT", help="Where the person stands, such as 1 m; may be repeated."),
    ] = None,
    silent: Annotated[
        bool, typer.Option("--silent", help="Only show what to say; the robot's voice and its echo are left out.")
    ] = False,
    app: options.App = None,
    json: Annotated[bool, typer.Option("--json", help="The report as a JSON object.")] = False,
    again: Annotated[
        bool,
        typer.Option("--again", help="Score the kept recordings anew, by the settings of now.", rich_help_panel=_KEPT),
    ] = False,
    listed: Annotated[
        bool, typer.Option("--list", help="Show which recordings are kept.", rich_help_panel=_KEPT)
    ] = False,
    delete: Annotated[
        bool, typer.Option("--delete", help="Delete the recordings, after asking.", rich_help_panel=_KEPT)
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Delete without asking.", rich_help_panel=_KEPT)] = False,
    input: options.Input = None,  # noqa: A002 - the name of the option
    output: options.Output = None,
    engine: options.Engine = None,
    model: options.WhisperModel = None,
    voice: options.Voice = None,
    log_level: options.LogLevel = None,
    config: options.ConfigFile = None,
) -> None:
    """Say sentences to the robot, and learn how well it hears you, and what to change. Recordings stay on this
    machine."""
    with exits.guarded():
        if sum((again, listed, delete)) > 1:
            raise ConfigError("--again, --list and --delete are three things: one at a time")
        if listed:
            _show_kept(person, json=json)
        elif delete:
            _delete(person, yes=yes)
        else:
            chosen = options.settings(
                config,
                app=app,
                audio__input=input,
                audio__output=output,
                ears__engine=engine,
                ears__model=model,
                speech__voice=voice,
            )
            if again:
                _again(chosen, person, json=json)
            else:
                _test(
                    chosen,
                    person=person or "",
                    distances=distance or [],
                    count=sentences,
                    silent=silent,
                    json=json,
                )


def _test(
    config: Config, *, person: str, distances: Sequence[str], count: int | None, silent: bool, json: bool
) -> None:
    """Has a person say sentences, and reports; Ctrl-C and a device that is lost report of what there is.

    Raises:
        AudioError: Microphone, loudspeaker, recogniser or voice can't be used.
        ConfigError, ModelError: A setting is wrong, the app can't be used, or nothing can be kept.
    """
    from edgeagent.app import ears_setup as parts
    from edgeagent.app.agent_phrases import conversation_phrases
    from edgeagent.check.voice_kept import VoiceRecordings
    from edgeagent.check.voice_plan import SENTENCES, plan
    from edgeagent.check.voice_run import VoiceRun
    from edgeagent.cli.voice_test_report import StageView

    parts.check(config)
    _check_names(person, distances)
    _check_files(config, silent=silent)
    streams.told_by_events()
    stage = StageView(json=json)
    kept = VoiceRecordings(streams.warn, person=person)
    vocabulary = replace(parts.vocabulary(config), often=conversation_phrases())
    stops, wakes = parts.stop_words(config), parts.wake_words(config)
    lines = plan(
        _commands(vocabulary),
        stop_words=stops,
        wake_words=wakes,
        count=count or SENTENCES,
        over=not silent,
        distances=distances,
    )
    interrupted, failure = False, None
    with ExitStack() as open_parts:
        open_parts.callback(kept.close)
        kept.begin()
        device = _device(config, silent=silent)
        mouth = None if silent else open_parts.enter_context(_mouth(config, device))
        run = VoiceRun(
            device,
            mouth,
            stage,
            kept.keep,
            person=person,
            stop_words=stops,
            wake_words=wakes,
            in_step=_in_step(config, silent=silent),
        )
        with streams.patience("getting the ears ready; the first time, their language model is built …"):
            ears = parts.build_ears(config, device, vocabulary, run.put, in_step=_in_step(config, silent=silent))
        open_parts.callback(ears.close)
        stage.begin(device.name, len(lines))
        try:
            run.run(ears, lines)
        except KeyboardInterrupt:
            interrupted = True
            stage.tell("ended early; here is what there is")
        except AudioError as error:
            if run.room is None:
                raise
            failure = error
            stage.tell(f"ended early: {error}; here is what there is")
        finally:
            stage.end()
    if run.room is not None:
        kept.keep_room(run.room)
    if _report(config, vocabulary, run, kept, stage, interrupted=interrupted):
        raise KeyboardInterrupt
    if failure is not None:
        raise failure


def _commands(vocabulary: Vocabulary) -> list[str]:
    """Phrases of the app that a person may be asked to say: of the house robot its commands only, not the talk."""
    from edgeagent.app.agent_phrases import house_phrases

    house = house_phrases()
    return list(house) if set(house).issubset(vocabulary.phrases) else list(vocabulary.phrases)


def _again(config: Config, person: str | None, *, json: bool) -> None:
    """Scores the kept recordings with the settings of now.

    Raises:
        ConfigError: There are none.
        AudioError: The recogniser can't be had.
    """
    from edgeagent.app import ears_setup as parts
    from edgeagent.app.agent_phrases import conversation_phrases
    from edgeagent.check.voice_again import better_thresholds, compared, heard_again, read_recordings
    from edgeagent.check.voice_kept import kept_attempts, kept_room
    from edgeagent.check.voice_score import VoiceReport, VoiceScore
    from edgeagent.cli.voice_test_report import StageView, show_report

    parts.check(config)
    tests = _kept(person)
    stage = StageView(json=json)
    vocabulary = replace(parts.vocabulary(config), often=conversation_phrases())
    recorded = read_recordings(one for test in tests for one in kept_attempts(test))
    attempts = heard_again(recorded, config, vocabulary, stage.doing)
    engines = compared(recorded, config, vocabulary, attempts, stage.doing)
    thresholds = better_thresholds(recorded, config, stage.doing)
    stage.end()
    report = VoiceReport(
        VoiceScore(attempts),
        kept_room(tests[-1]),
        parts.chosen_engine(config)[0],
        engines,
        thresholds,
        again=True,
    )
    show_report(report, config, _mixer(), json=json)


def _show_kept(person: str | None, *, json: bool) -> None:
    """Shows what is kept, a line for each test."""
    from edgeagent.check.voice_kept import kept_tests

    tests = kept_tests(person)
    if json:
        rows = [
            {
                "folder": str(test.folder),
                "when": test.when,
                "person": test.person,
                "distances": [one for one in test.distances if one],
                "recordings": test.count,
                "seconds": round(test.seconds, 1),
                "bytes": test.size_bytes,
            }
            for test in tests
        ]
        streams.answer_json(rows, indent=2)
        return
    if not tests:
        streams.answer("no recordings are kept")
        return
    for test in tests:
        who = ", ".join(one_line(part) for part in (test.person, *test.distances) if part) or "nobody named"
        size = f"{test.count} recordings, {test.seconds / 60:.1f} minutes, {test.size_bytes / 1e6:.1f} MB"
        streams.answer(f"{test.when}  {who}: {size}  {test.folder}")


def _delete(person: str | None, *, yes: bool) -> None:
    """Deletes what is kept, after asking.

    Raises:
        ConfigError: Nobody is there to be asked.
        EdgeAgentError: Something can't be deleted; all else was.
    """
    from edgeagent.check.voice_kept import delete_kept, kept_folder, kept_tests

    tests = kept_tests(person)
    if not tests:
        streams.answer("no recordings are kept")
        return
    whose = f" of {person}" if person else ""
    what = f"{sum(test.count for test in tests)} recordings{whose} of {len(tests)} test{'s' * (len(tests) > 1)}"
    if not yes and not streams.allowed(f"delete {what} in {kept_folder()}? [y/N] "):
        streams.answer("nothing was deleted")
        return
    deleted, left = delete_kept(tests)
    recordings = sum(test.count for test in deleted)
    streams.answer(f"deleted {recordings} recordings{whose} of {len(deleted)} test{'s' * (len(deleted) != 1)}")
    if left:
        raise EdgeAgentError("not deleted: " + "; ".join(f"{folder}: {reason}" for folder, reason in left.items()))


def _mixer() -> Mixer:
    """Ways to change the microphone's level by a program of this machine."""
    from edgeagent.check.voice_advice import Mixer

    return next((Mixer(*ways) for program, *ways in _MIXERS if shutil.which(program)), Mixer())


def _report(
    config: Config,
    vocabulary: Vocabulary,
    run: VoiceRun,
    kept: VoiceRecordings,
    stage: StageView,
    *,
    interrupted: bool,
) -> bool:
    """Compares what can be compared on the recordings, unless somebody is impatient, and prints the report.

    Returns:
        True if Ctrl-C came, before or meanwhile.
    """
    from edgeagent.app import ears_setup as parts
    from edgeagent.check.voice_again import better_thresholds, compared, read_recordings
    from edgeagent.check.voice_score import VoiceReport, VoiceScore
    from edgeagent.cli.voice_test_report import show_report

    report = VoiceReport(VoiceScore(run.attempts), run.room, parts.chosen_engine(config)[0])
    if not interrupted and kept.count:
        try:
            recorded = read_recordings((kept.folder / one.file, one) for one in run.attempts if one.file)
            report = replace(report, engines=compared(recorded, config, vocabulary, run.attempts, stage.doing))
            report = replace(report, thresholds=better_thresholds(recorded, config, stage.doing))
        except KeyboardInterrupt:
            interrupted = True
        except AudioError as error:
            streams.warn(f"the recordings can't be compared: {error}")
    stage.end()
    show_report(report, config, _mixer(), json=stage.json, folder=kept.folder if kept.count else None)
    return interrupted


def _kept(person: str | None) -> list[KeptTest]:
    from edgeagent.check.voice_kept import kept_tests

    tests = [test for test in kept_tests(person) if test.count]
    if not tests:
        whose = f" of {person!r}" if person else ""
        raise ConfigError(f"no recordings{whose} are kept: edgeagent voice-test makes some")
    return tests


def _check_names(person: str, distances: Sequence[str]) -> None:
    """Refuses names that can't be written into a file."""
    for option, name in (("--person", person), *(("--distance", one) for one in distances)):
        try:
            name.encode()
        except UnicodeEncodeError:
            raise ConfigError(f"{option} {name!r} is no text in UTF-8") from None


def _check_files(config: Config, *, silent: bool) -> None:
    """Refuses a file whose other end is none, and pipes."""
    from edgeagent.audio.files import is_file

    ends = {end: config.audio.get(end) for end in ("input", "output")}
    if "-" in ends.values():
        raise ConfigError("a voice test needs a microphone, or files with names")
    if is_file(ends["input"]) and ends["output"] is None and not silent:
        raise ConfigError("--input is a file, so --output has to be one too: --output FILE.wav, or --silent")
    if is_file(ends["output"]) and ends["input"] is None:
        raise ConfigError("--output is a file, so --input has to be one too: --input FILE.wav")


def _in_step(config: Config, *, silent: bool) -> bool:
    """True where a file is heard as fast as it can be."""
    from edgeagent.audio.files import is_file

    return silent and is_file(config.audio.get("input"))


def _device(config: Config, *, silent: bool) -> Tapped:
    """The devices of the settings.

    Raises:
        AudioError: There is none.
    """
    from edgeagent.app import ears_setup as parts
    from edgeagent.check.voice_sound import Tapped

    try:
        return Tapped(
            parts.open_device(
                config,
                ends=("input",) if silent else ("input", "output"),
                paced=not _in_step(config, silent=silent),
                on_state=lambda state, told: streams.warn(told),
            )
        )
    except AudioError as error:
        if "loudspeaker" in str(error) and not silent:
            raise AudioError(f"{error}; --silent does without a loudspeaker") from error
        raise


@contextmanager
def _mouth(config: Config, device: Tapped) -> Iterator[Mouth]:
    from edgeagent.audio.playback import PlaybackQueue
    from edgeagent.tts.mouth import Mouth
    from edgeagent.tts.voice_choice import make_speaker

    voice = make_speaker(**config.speech)
    try:
        with Mouth(voice, PlaybackQueue(device.output_rate_hz or voice.rate_hz)) as mouth:
            yield mouth
    finally:
        voice.close()
