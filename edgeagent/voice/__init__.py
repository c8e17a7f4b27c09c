"""The conversation: turn taking, barge-in, what was heard."""
