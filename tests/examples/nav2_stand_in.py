"""A stand-in for Nav2: NavigateToPose with the released interface's fields, and an action client of rclpy's signature.

``nav2_msgs`` is no package of the Python index, so the classes below have the fields of
``nav2_msgs/action/NavigateToPose.action`` (navigation2, Jazzy to Rolling) and what ``rclpy.action.ActionClient`` 9.1.2
has of a client, its futures and its goals. One thread works on goals, as an executor does.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

REJECTED, SUCCEEDED, CANCELED, ABORTED = 0, 4, 5, 6


@dataclass
class Point:
    x: float = 0.0
    y: float = 0.0
    z: float = 0.0


@dataclass
class Quaternion:
    x: float = 0.0
    y: float = 0.0
    z: float = 0.0
    w: float = 1.0


@dataclass
class Time:
    sec: int = 0
    nanosec: int = 0


@dataclass
class Header:
    stamp: Time = field(default_factory=Time)
    frame_id: str = ""


@dataclass
class Pose:
    position: Point = field(default_factory=Point)
    orientation: Quaternion = field(default_factory=Quaternion)


@dataclass
class PoseStamped:
    header: Header = field(default_factory=Header)
    pose: Pose = field(default_factory=Pose)


class NavigateToPose:
    """The action's three messages."""

    @dataclass
    class Goal:
        pose: PoseStamped = field(default_factory=PoseStamped)
        behavior_tree: str = ""

    @dataclass
    class Result:
        error_code: int = 0
        error_msg: str = ""

    @dataclass
    class Feedback:
        current_pose: PoseStamped = field(default_factory=PoseStamped)
        navigation_time: Time = field(default_factory=Time)
        estimated_time_remaining: Time = field(default_factory=Time)
        number_of_recoveries: int = 0
        distance_remaining: float = 0.0


@dataclass
class FeedbackMessage:
    feedback: NavigateToPose.Feedback


@dataclass
class ResultResponse:
    status: int
    result: NavigateToPose.Result


class Future:
    """As ``rclpy.task.Future``: a callback that comes late is called at once."""

    def __init__(self) -> None:
        self._lock, self._done, self._result = threading.Lock(), False, None
        self._callbacks: list[Callable[[Future], None]] = []

    def done(self) -> bool:
        return self._done

    def result(self) -> Any:
        return self._result

    def set_result(self, result: Any) -> None:
        with self._lock:
            self._result, self._done = result, True
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self)

    def add_done_callback(self, callback: Callable[[Future], None]) -> None:
        with self._lock:
            if not self._done:
                self._callbacks.append(callback)
                return
        callback(self)


class ClientGoalHandle:
    """A goal that was sent."""

    def __init__(self, accepted: bool) -> None:
        self.accepted = accepted
        self.ended = Future()
        self.cancels = threading.Event()

    def get_result_async(self) -> Future:
        return self.ended

    def cancel_goal_async(self) -> Future:
        self.cancels.set()
        if not self.ended.done():
            self.ended.set_result(ResultResponse(CANCELED, NavigateToPose.Result()))
        return Future()


class ActionClient:
    """A Nav2 that does as a test says.

    Attributes:
        goals: Goals that were sent, with their handles.
    """

    def __init__(self, *, ready: bool = True, accepts: bool = True, answers: bool = True) -> None:
        self._ready, self._accepts, self.answers = ready, accepts, answers
        self.goals: list[tuple[NavigateToPose.Goal, ClientGoalHandle]] = []
        self.came = threading.Event()
        self._feedback: Callable[[FeedbackMessage], None] | None = None
        self._sent = Future()

    def server_is_ready(self) -> bool:
        return self._ready

    def send_goal_async(
        self,
        goal: NavigateToPose.Goal,
        feedback_callback: Callable[[FeedbackMessage], None] | None = None,
        goal_uuid: Any = None,
    ) -> Future:
        self._feedback, self._sent = feedback_callback, Future()
        self.goals.append((goal, ClientGoalHandle(self._accepts)))
        if self.answers:
            self.answer()
        self.came.set()
        return self._sent

    def answer(self) -> None:
        self._sent.set_result(self.goals[-1][1])

    def tell(self, distance_m: float) -> None:
        if self._feedback is not None:
            self._feedback(FeedbackMessage(NavigateToPose.Feedback(distance_remaining=distance_m)))

    def end(self, status: int, error_msg: str = "", error_code: int = 0) -> None:
        self.goals[-1][1].ended.set_result(ResultResponse(status, NavigateToPose.Result(error_code, error_msg)))
