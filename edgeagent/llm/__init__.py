"""Models: the protocol, and the engines behind it."""

from edgeagent.front import front
from edgeagent.llm.protocol import (
    LLM,
    End,
    Error,
    LLMEvent,
    LLMRequest,
    TextDelta,
    TextEnd,
    ThinkingDelta,
    ThinkingEnd,
    ToolCallEnd,
    ToolSpec,
)

__all__ = [
    "LLM",
    "End",
    "Error",
    "LLMEvent",
    "LLMRequest",
    "TextDelta",
    "TextEnd",
    "ThinkingDelta",
    "ThinkingEnd",
    "ToolCallEnd",
    "ToolSpec",
]

__getattr__ = front(
    __name__,
    {
        "constraint": "untagged_name",
        "earlier_turns": "retold",
        "engine": "Engine Logits common_prefix",
        "engine_settings": "EngineSettings KvType Memory choose default_threads memory_needed sizes_of",
        "gbnf": "Rules",
        "generation": "LONGEST_PERIOD SHORTEST_RUN TIMES repeats",
        "gguf": "read_header",
        "grammar": "Grammar TokenVocabulary",
        "llama": "LlamaLLM",
        "opening": "DEFAULT_GATE call_threshold only_read reading_threshold",
        "parsers": "FORMATS format_named",
        "parsers.call_format": "CallFormat Found NotACall",
        "parsers.grammars": "call_grammar",
        "parsers.tool_call_tags": "HERMES",
        "pattern": "Bound integer_range number_range",
        "prefixes": "PrefixFiles",
        "prompt": "ChatTemplate Prompter as_chat as_tools",
        "protocol": "ToolChoice drain",
        "quirks": "Adapter Quirks detect_format probe written_by write_granite write_hermes write_pythonic",
        "reply_reader": "read_reply",
        "schema": "SchemaError expression",
        "stream_gate": "CLOSES OPENS THINKING_MARKERS StreamGate thinking_apart",
        "window": "RequestSizes",
    },
)
