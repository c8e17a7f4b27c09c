"""Keeps the base on a polyline: pure pursuit with a short look-ahead (Coulter, 1992), slow in sharp corners.

Computes speeds only; the scene moves the base.
"""

from __future__ import annotations

import itertools
import math
from typing import Final

from edgeagent.house.drivetrain import STEP_S, Drivetrain
from edgeagent.house.geometry import Point

DECELERATION_MPS2: Final = 1.5
"""Comfortable; the brakes can do more."""
_LOOK_AHEAD_M: Final = 0.12
_ON_THE_SPOT: Final = math.radians(40)
"""Beyond this error of direction the base stands and turns."""
_TURN_DECELERATION_RPS2: Final = 4.0
_ARRIVED_M: Final = 0.003
_CORNER_M: Final = 0.005
_SHARP: Final = math.cos(math.radians(50))
"""Round a corner that turns less than this the base goes without a stop; in others it stands and turns."""


def speed_towards(left_m: float, top_mps: float) -> float:
    """The speed, in m/s, from which the base can still stop comfortably in that distance."""
    return min(top_mps, math.sqrt(2 * DECELERATION_MPS2 * left_m), left_m / STEP_S)


class Tracker:
    """Follows a way, and knows how far the base has come on it.

    Attributes:
        heading: Direction to the point that it steers for. left_m: Metres to the end. arrived: Nothing is left.
    """

    __slots__ = (
        "_aim_x",
        "_aim_y",
        "_base",
        "_index",
        "_sharp",
        "_stop_m",
        "_tails",
        "_way",
        "arrived",
        "heading",
        "left_m",
    )

    def __init__(self, base: Drivetrain, way: tuple[Point, ...]) -> None:
        self._base = base
        #: Segments: start, unit vector, length.
        self._way = [
            (a.x, a.y, (b.x - a.x) / a.distance(b), (b.y - a.y) / a.distance(b), a.distance(b))
            for a, b in itertools.pairwise(way)
            if a.distance(b) > _CORNER_M
        ]
        self._tails = [sum(segment[4] for segment in self._way[index + 1 :]) for index in range(len(self._way))]
        pairs = itertools.pairwise(self._way)
        self._sharp = [a[2] * b[2] + a[3] * b[3] < _SHARP for a, b in pairs] + [True]
        self._index = 0
        self._stop_m = 0.0
        self._aim_x, self._aim_y = way[-1].x, way[-1].y
        self.arrived = False
        self.left_m = 0.0
        self.heading = 0.0
        self.update()

    def update(self) -> None:
        """Finds the base on the way and the point to steer for."""
        base, way = self._base, self._way
        while True:
            index = self._index
            if index == len(way):
                self.left_m, self.arrived = 0.0, True
                return
            x0, y0, ux, uy, length = way[index]
            along = (base.x - x0) * ux + (base.y - y0) * uy
            if along < length - (_CORNER_M if index + 1 < len(way) else _ARRIVED_M):
                break
            self._index += 1
        self.left_m = length - along + self._tails[index]
        self._stop_m = length - along if self._sharp[index] else self.left_m
        ahead = max(0.0, along) + _LOOK_AHEAD_M
        while ahead > length and not self._sharp[index]:
            ahead -= length
            index += 1
            x0, y0, ux, uy, length = way[index]
        self._aim_x, self._aim_y = x0 + ux * ahead, y0 + uy * ahead
        self.heading = math.atan2(self._aim_y - base.y, self._aim_x - base.x)

    def command(self, free_m: float = math.inf) -> tuple[float, float]:
        """Speed and turn rate for the next step, slow enough to stop within ``free_m``."""
        base = self._base
        top_turn = base.limits.turn_rate_rps
        error = math.remainder(self.heading - base.heading, math.tau)
        if abs(error) > _ON_THE_SPOT:
            return 0.0, math.copysign(min(top_turn, math.sqrt(2 * _TURN_DECELERATION_RPS2 * abs(error))), error)
        speed = speed_towards(min(self._stop_m, free_m), base.limits.speed_mps)
        bend = 2 * math.sin(error) / _LOOK_AHEAD_M
        if speed * abs(bend) > top_turn:
            speed = top_turn / abs(bend)
        return speed, speed * bend
