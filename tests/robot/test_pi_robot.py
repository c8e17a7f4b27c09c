"""The example on a Raspberry Pi's pins: buttons, light, sensor, servo and motors together with a conversation."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from gpiozero import Device
from gpiozero.pins.mock import MockFactory, MockPWMPin

from edgeagent import Conversation
from edgeagent.app import AppFile
from edgeagent.config import Config
from edgeagent.robot import LatchState
from edgeagent.testing import Room, RoomSettings, ScriptedLLM, call, speechlike

from .bases import LIMIT_S, until
from .sabertooth_board import SabertoothBoard
from .test_gpio_parts import EchoPin, TriggerPin, colour, told_by

CONFIG = Config(
    conversation={"chimes": False, "push_to_talk": True}, ears={"stop_words": "stop"}, speech={"voice": "en"}
)
RATE_HZ = 16_000
STEP_S = 0.04


def drive_when_asked(request):
    return [call("drive", distance_m=8.0)] if request.messages[-1].role == "user" else "Done."


class Robot:
    """The example with a board at its port, mock pins, and a room for its voice. It talks when it is made."""

    def __init__(self, folder: Path, example: str, board: SabertoothBoard, pins: MockFactory) -> None:
        self.board, self.pins = board, pins
        self.trigger = pins.pin(23, pin_class=TriggerPin)
        self.trigger.echo = pins.pin(24, pin_class=EchoPin)
        self.obstacle(2.0)
        stop = pins.pin(6)
        stop.pull = "up"
        stop.drive_low()
        stop._set_pull = lambda value: setattr(stop, "_pull", value)  # normally closed, against the pull-up
        file = folder / "pi_robot.py"
        file.write_text(example.replace('"/dev/serial0"', repr(board.port)), encoding="utf-8")
        self.app = AppFile.load(file).module
        self.room = Room(RoomSettings(rate_hz=RATE_HZ, record=False))
        self.app.agent.llm = ScriptedLLM(*[drive_when_asked] * 9)
        self.conversation = Conversation(self.app.agent, config=CONFIG, input=self.room)
        self.thread = threading.Thread(target=self.app.talk, args=(self.conversation,), daemon=True)
        self.thread.start()
        self.passes(lambda: self.colour != (0, 0, 0))

    def obstacle(self, metres: float | None) -> None:
        self.trigger.pulse_s = None if metres is None else metres * 2 / 343.0

    @property
    def colour(self) -> tuple[float, ...]:
        return colour(self.pins)

    def passes(self, is_so) -> None:
        """Lets time pass in the room until something is so."""

        def stepped() -> bool:
            self.room.run(STEP_S)
            assert self.conversation.dialogue.settle(LIMIT_S)
            return is_so()

        assert until(stepped), f"the conversation is {self.conversation.state}"

    def results(self) -> list[str]:
        return [message.text for message in self.conversation.session.messages() if message.role == "tool"]

    def close(self) -> None:
        self.conversation.close()
        self.thread.join(LIMIT_S)
        self.app.driver.close()
        self.app.stop_button.close()
        self.app.ahead.close()
        self.app.neck.close()


@pytest.fixture
def robot(monkeypatch: pytest.MonkeyPatch, checkout: Path, tmp_path: Path) -> Iterator[Robot]:
    factory = MockFactory(pin_class=MockPWMPin)
    monkeypatch.setattr(Device, "pin_factory", factory)
    example = (checkout / "examples" / "pi_robot.py").read_text(encoding="utf-8")
    assert len(example.splitlines()) < 50
    with SabertoothBoard() as board:
        made = Robot(tmp_path, example, board, factory)
        yield made
        made.close()
    factory.reset()


def test_the_stop_button_stops_the_wheels_and_a_person_lets_them_go_on(robot):
    robot.conversation.hear("drive on")
    robot.passes(lambda: robot.board.wheels[0] > 0)
    robot.pins.pin(6).drive_high()
    assert until(lambda: robot.board.wheels == (0, 0))
    assert until(lambda: robot.colour == (1, 0, 0))
    assert not robot.conversation.rearm()
    robot.pins.pin(6).drive_low()
    assert robot.app.latch.state is LatchState.TRIPPED
    assert robot.conversation.rearm()
    robot.conversation.hear("drive on")
    robot.passes(lambda: robot.board.wheels[0] > 0)


def test_it_stops_before_an_obstacle_and_when_the_sensor_tells_nothing(robot):
    ends = {0.2: "blocked by an obstacle after", None: "the sensor does not answer"}
    for done, (metres, told) in enumerate(ends.items(), 1):
        robot.obstacle(2.0)
        robot.passes(lambda: told_by(robot.app.ahead) == 2.0 and robot.conversation.state == "listening")
        robot.conversation.hear("drive on")
        robot.passes(lambda: robot.board.wheels[0] > 0)
        robot.obstacle(metres)
        robot.passes(lambda done=done: len(robot.results()) == done)
        assert until(lambda: robot.board.wheels == (0, 0))
        assert told in robot.results()[-1]


def test_it_hears_while_the_button_is_pressed(robot):
    heard: list[str] = []
    robot.conversation.subscribe(lambda event: heard.append(event.kind))
    speech = speechlike(1, 0.8, RATE_HZ)

    def speak() -> None:
        robot.room.say(speech, RATE_HZ)
        robot.room.run(1.2)
        assert robot.conversation.dialogue.settle(LIMIT_S)

    speak()
    assert "speech_start" not in heard
    robot.pins.pin(5).drive_low()
    robot.passes(lambda: True)
    speak()
    assert "speech_start" in heard
    robot.pins.pin(5).drive_high()
    robot.passes(lambda: True)
    heard.clear()
    speak()
    assert "speech_start" not in heard


def test_the_head_turns_as_far_as_it_can_and_says_so(robot):
    robot.app.agent.llm = ScriptedLLM([call("look", angle_deg=30)], "Done.")
    (made,) = robot.app.agent.run("look left").tool_calls
    assert made.result.text == "looking at 30 degrees"
    robot.app.agent.llm = ScriptedLLM([call("look", angle_deg=120)], "Done.")
    (made,) = robot.app.agent.run("look behind you").tool_calls
    assert "beyond the servo's ends" in made.result.text
