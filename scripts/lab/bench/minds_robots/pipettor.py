"""A pipetting robot: a list, optional arguments, units in the names, and a tool without a docstring."""

from edgeagent import Agent, tool


@tool(motion=True)
def aspirate(well: str, microlitres: float) -> str:
    """Draw liquid from a well into the tip.

    Args:
        well: Row and column, such as A1.
        microlitres: Volume.
    """
    return "Drawn."


@tool(motion=True)
def dispense(wells: list[str], microlitres: float) -> str:
    """Give the same volume into each of some wells."""
    return "Dispensed."


@tool(motion=True)
def change_tip() -> str:
    return "A new tip is on."


@tool
def agitate(rpm: int, seconds: int) -> str:
    """Shake the plate."""
    return "Shaken."


@tool(read_only=True)
def read_absorbance(well: str, wavelength_nm: int = 600) -> str:
    """Optical density of a well.

    Args:
        well: Row and column, such as A1.
        wavelength_nm: Wavelength in nanometres.
    """
    return "0.43"


@tool
def incubate(minutes: int, celsius: float = 37.0) -> str:
    """Keep the plate warm."""
    return "The incubator runs."


agent = Agent(
    "pipettor",
    "You are a pipetting robot in a biology lab. Do what the scientist asks with your tools, nothing else.",
    tools=[aspirate, dispense, change_tip, agitate, read_absorbance, incubate],
)
