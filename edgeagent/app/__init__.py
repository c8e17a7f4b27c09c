"""The one place that knows every part and puts them together."""

from edgeagent.app.app import INSTRUCTIONS, MAX_TOOL_HOPS, NAME, App, build
from edgeagent.app.outfit import configured_llm
from edgeagent.front import front

__all__ = ["INSTRUCTIONS", "MAX_TOOL_HOPS", "NAME", "App", "build", "configured_llm"]

__getattr__ = front(
    __name__,
    {
        "agent_phrases": "app_phrases conversation_phrases ears_phrases house_heard house_phrases name_groups",
        "conversation": "Conversation RECORDED",
        "ears_setup": """
            ENGINES Vocabulary build_ears check chosen_engine ears_settings hot_words key_phrases
            make_transcriber open_device stop_words vocabulary wake_words whisper_folder
        """,
        "eventlog": "EventWriter event_fields",
        "file": "AppFile",
        "guards": "RECOMMENDED add_guards",
        "outfit": "Outfit SMALL_WEIGHTS",
    },
)
