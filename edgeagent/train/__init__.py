"""A builder's own nano: examples from his tools and phrases, a fine-tuning on a CPU, a GGUF that ``--model`` takes.

Only ``edgeagent train`` and the laboratory import this room. ``nano``, ``weights`` and ``tuning`` need the extra
``train`` (torch, gguf); the rest does without.
"""
