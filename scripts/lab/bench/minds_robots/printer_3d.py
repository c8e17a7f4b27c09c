"""A 3D printer: files, degrees, choices, copies with a default."""

from typing import Literal

from edgeagent import Agent, tool


@tool
def print_model(file: str, copies: int = 1) -> str:
    """Print a model from the library.

    Args:
        file: Name of the model, such as gear or vase.
        copies: How many.
    """
    return f"{file} is being printed."


@tool
def nozzle_heat(celsius: int) -> str:
    """Heat the nozzle to a temperature in degrees Celsius."""
    return "The nozzle is warming up."


@tool(motion=True)
def probe_bed() -> str:
    """Measure how level the print bed is and correct for it."""
    return "The bed is level."


@tool
def load_filament(material: Literal["PLA", "PETG", "ABS", "TPU"], colour: str) -> str:
    """Change the filament."""
    return "The filament is loaded."


@tool(read_only=True)
def layers_done() -> str:
    """Number of layers that are printed."""
    return "112 layers"


@tool
def part_fan(percent: int) -> str:
    """Speed of the fan that cools the part."""
    return "The fan is set."


agent = Agent(
    "printer_3d",
    "You are a 3D printer in a makerspace. Keep answers to one sentence.",
    tools=[print_model, nozzle_heat, probe_bed, load_filament, layers_done, part_fan],
)
