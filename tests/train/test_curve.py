"""The picture of a training's loss."""

import math
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from edgeagent import ConfigError
from edgeagent.train import draw_curve

TRAINED, APART = (43, 98, 168), (200, 88, 42)


def test_a_curve_has_both_losses_even_where_one_is_no_number(tmp_path: Path) -> None:
    draw_curve(tmp_path / "c.png", [(1, 2.0), (2, math.nan), (3, 0.5)], [(1, 1.5), (3, 0.4)], "three steps")
    with Image.open(tmp_path / "c.png") as picture:
        colours = {tuple(colour) for colour in np.asarray(picture).reshape(-1, 3).tolist()}
    assert {TRAINED, APART} <= colours
    assert [path.name for path in tmp_path.iterdir()] == ["c.png"]


def test_a_single_step_is_no_error(tmp_path: Path) -> None:
    draw_curve(tmp_path / "c.png", [(1, 2.0)], [], "one step")
    assert (tmp_path / "c.png").stat().st_size


def test_a_folder_that_is_not_there_is_an_error_for_the_builder(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="can't be written"):
        draw_curve(tmp_path / "no" / "c.png", [(1, 2.0)], [], "one step")
