"""The units that recognisers write, long and short. Data only."""

from __future__ import annotations

from typing import Final

from edgeagent.tts.text.units import UNITS as _WRITTEN

_SYMBOLS: Final = "m cm mm km s sec secs ms min mins h hr hrs kg ° deg % °C °F".split()
"""Units that are written short, where no other meaning of the letters is likelier."""
SHORT: Final = {symbol: _WRITTEN[symbol] for symbol in _SYMBOLS}
SPELLINGS: Final = {
    f"{before}{british}{end}": f"{before}{american}{end}"
    for before in ("", "centi", "milli", "kilo")
    for british, american in (("metre", "meter"), ("litre", "liter"))
    for end in ("", "s")
}
UNITS: Final = frozenset(
    "meter meters centimeter centimeters millimeter millimeters kilometer kilometers second seconds minute minutes "
    "hour hours degree degrees percent kilogram kilograms kilo kilos gram grams liter liters inch inches feet "
    "mile miles o'clock volts watts".split()
) | frozenset(SPELLINGS)
"""After these, "one" is a number. Not foot, time, day, step: one foot, one time, one day, one step."""
