"""A shuttle in a library's stacks: shelf marks and card numbers, letter by letter."""

from edgeagent import LLM, Agent, tool


@tool(motion=True)
def fetch_volume(shelfmark: str) -> str:
    """Fetch a book from the stacks.

    Args:
        shelfmark: The book's shelf mark, such as QA76.9.
    """
    return "Fetched."


@tool(motion=True)
def shelve(shelfmarks: list[str], urgent: bool = False) -> str:
    """Put books back into the stacks.

    Args:
        shelfmarks: Shelf mark of each book.
        urgent: Before everything else.
    """
    return "Shelved."


@tool
def reserve(card: str, title: str, days: int = 14) -> str:
    """Reserve a title for a reader.

    Args:
        card: Number on the reader's card.
        title: Title of the book.
        days: Days for which the book is kept.
    """
    return "Reserved."


@tool(read_only=True)
def free_seats(floor: int) -> str:
    """Count the free seats of a floor."""
    return "17 seats"


def build(llm: LLM) -> Agent:
    """Build the agent of the book shuttle."""
    return Agent(
        "book_shuttle",
        "You are the book shuttle of a library. Serve the librarian with your tools.",
        llm=llm,
        tools=[fetch_volume, shelve, reserve, free_seats],
    )
