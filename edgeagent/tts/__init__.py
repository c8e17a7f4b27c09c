"""Text to speech."""

from edgeagent.front import front

__getattr__ = front(
    __name__,
    {
        "espeak": "EspeakSpeaker voices",
        "hibari": "HibariSpeaker",
        "mouth": "AHEAD_S Mouth Speech",
        "piper": "PiperSpeaker",
        "speaker": "Speaker SpeechChunk UnreadableError WordTime",
        "voice_choice": "WithLastResort make_speaker",
    },
)
