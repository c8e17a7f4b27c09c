"""The settings: one table of them, and its reader."""

from edgeagent.config.reader import CONFIG_FILE, line_of_key, load_config, read_toml
from edgeagent.config.rows import LIST_TOLD, LISTS, SETTINGS, TABLES, Config, Setting

__all__ = [
    "CONFIG_FILE",
    "LISTS",
    "LIST_TOLD",
    "SETTINGS",
    "TABLES",
    "Config",
    "Setting",
    "line_of_key",
    "load_config",
    "read_toml",
]
