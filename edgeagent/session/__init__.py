"""Many runs with one history."""

from edgeagent.front import front
from edgeagent.session.session import Session

__all__ = ["Session"]

__getattr__ = front(
    __name__,
    {
        "audit": "AuditFile AuditTrail OUTCOMES",
        "foresight": "Foresight",
        "spoken": "DATA spoken_text",
    },
)
