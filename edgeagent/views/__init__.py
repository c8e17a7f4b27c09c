"""Other ways to follow a run, each a view on its one event log: callbacks, text streams, a prompt's event stream."""

from edgeagent.views.callbacks import Answer, Callbacks, Unanswered, Writers
from edgeagent.views.prompt_stream import PromptEvent, PromptStream, prompt

__all__ = ["Answer", "Callbacks", "PromptEvent", "PromptStream", "Unanswered", "Writers", "prompt"]
