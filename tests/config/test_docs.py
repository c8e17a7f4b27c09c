"""docs/reference/config.md says what is so."""

import re
from pathlib import Path

from edgeagent.config import load_config

from .settings_page import HEADING, PAGE, every_setting


def test_the_example_loads(tmp_path: Path) -> None:
    examples = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert examples
    for example in examples:
        path = tmp_path / "config.toml"
        path.write_text(example, encoding="utf-8")
        assert load_config(path, environ={}).given


def test_every_setting_is_on_the_page_as_the_table_has_it() -> None:
    _, heading, written = PAGE.read_text(encoding="utf-8").partition(HEADING)
    assert heading + written == every_setting(), "write it anew with python -m tests.config.settings_page"
