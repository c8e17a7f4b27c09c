"""Many runs with one history."""

from edgeagent.session.session import Session

__all__ = ["Session"]
