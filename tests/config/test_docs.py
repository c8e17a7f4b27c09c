"""docs/config.md says what is so."""

import re
from pathlib import Path

from edgeagent.config import _SETTINGS, load_config


def test_the_example_loads_and_has_every_setting(checkout: Path, tmp_path: Path) -> None:
    text = (checkout / "docs/config.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    path = tmp_path / "config.toml"
    path.write_text(example, encoding="utf-8")
    assert load_config(path, environ={}).given == set(_SETTINGS)


def test_the_table_has_every_variable_and_option(checkout: Path) -> None:
    text = (checkout / "docs/config.md").read_text(encoding="utf-8")
    for name, setting in _SETTINGS.items():
        option = f" `{setting.flag}` " if setting.flag else " "
        assert f"| `{name}` | `{setting.variable}` |{option}|" in text
