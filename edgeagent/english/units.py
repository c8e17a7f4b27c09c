"""Units, long and short. Data only."""

# ruff: noqa: RUF001 - the micro signs and the ohm signs look alike

from __future__ import annotations

from typing import Final

_PREFIXED: Final = """
    nm nanometer, µm micrometer, μm micrometer, um micrometer, mm millimeter, cm centimeter, dm decimeter, m meter,
    km kilometer, mi mile, yd yard, µg microgram, μg microgram, mg milligram, g gram, kg kilogram, t ton, lb pound,
    lbs pound, oz ounce, ns nanosecond, µs microsecond, μs microsecond, us microsecond, ms millisecond, s second,
    sec second, secs second, min minute, mins minute, h hour, hr hour, hrs hour, mV millivolt, V volt, kV kilovolt,
    µA microamp, mA milliamp, A amp, Ah amp hour, mAh milliamp hour, mW milliwatt, W watt, kW kilowatt, MW megawatt,
    Wh watt hour, mWh milliwatt hour, kWh kilowatt hour, MWh megawatt hour, Ω ohm, Ω ohm, kΩ kiloohm, MΩ megaohm,
    µF microfarad, nF nanofarad, pF picofarad, J joule, kJ kilojoule, cal calorie, kcal kilocalorie, B byte,
    kB kilobyte, KB kilobyte, MB megabyte, GB gigabyte, TB terabyte, KiB kibibyte, MiB mebibyte, GiB gibibyte,
    kbit kilobit, Mbit megabit, Gbit gigabit, Pa pascal, hPa hectopascal, kPa kilopascal, bar bar, mbar millibar,
    N newton,
    kN kilonewton, Nm newton meter, l liter, L liter, ml milliliter, mL milliliter, cl centiliter, dl deciliter,
    dB decibel, rad radian, deg degree, px pixel, ° degree, º degree
"""
_OWN: Final = {
    "°C": ("degree Celsius", "degrees Celsius"),
    "°F": ("degree Fahrenheit", "degrees Fahrenheit"),
    "K": ("kelvin", "kelvin"),
    "Hz": ("hertz", "hertz"),
    "kHz": ("kilohertz", "kilohertz"),
    "MHz": ("megahertz", "megahertz"),
    "GHz": ("gigahertz", "gigahertz"),
    "lx": ("lux", "lux"),
    "lm": ("lumen", "lumens"),
    "dBm": ("decibel milliwatt", "decibel milliwatts"),
    "psi": ("pound per square inch", "pounds per square inch"),
    "ft": ("foot", "feet"),
    "″": ("inch", "inches"),
    "′": ("foot", "feet"),
    "%": ("percent", "percent"),
    "‰": ("per mille", "per mille"),
    "rpm": ("revolution per minute", "revolutions per minute"),
    "RPM": ("revolution per minute", "revolutions per minute"),
    "fps": ("frame per second", "frames per second"),
    "mph": ("mile per hour", "miles per hour"),
    "kph": ("kilometer per hour", "kilometers per hour"),
    "kmh": ("kilometer per hour", "kilometers per hour"),
    "mps": ("meter per second", "meters per second"),
    "kbps": ("kilobit per second", "kilobits per second"),
    "Mbps": ("megabit per second", "megabits per second"),
    "Gbps": ("gigabit per second", "gigabits per second"),
    "bpm": ("beat per minute", "beats per minute"),
    "sq ft": ("square foot", "square feet"),
    "sq m": ("square meter", "square meters"),
    "sq km": ("square kilometer", "square kilometers"),
    "fl oz": ("fluid ounce", "fluid ounces"),
    "tbsp": ("tablespoon", "tablespoons"),
    "Tbsp": ("tablespoon", "tablespoons"),
    "tsp": ("teaspoon", "teaspoons"),
    "gal": ("gallon", "gallons"),
    "x": ("time", "times"),
}


def _table() -> dict[str, tuple[str, str]]:
    table = dict(_OWN)
    for entry in _PREFIXED.split(","):
        symbol, _, words = entry.strip().partition(" ")
        table[symbol] = (words, f"{words}s")
    return table | {"℃": _OWN["°C"], "º C": _OWN["°C"], "° C": _OWN["°C"], "℉": _OWN["°F"], "° F": _OWN["°F"]}


SYMBOLS: Final = _table()
"""Units as they are written short, each with its words for one and for several."""
_HEARD: Final = "m cm mm km s sec secs ms min mins h hr hrs kg ° deg % °C °F".split()
"""Units that are written short, where no other meaning of the letters is likelier."""
SHORT: Final = {symbol: SYMBOLS[symbol] for symbol in _HEARD}
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
