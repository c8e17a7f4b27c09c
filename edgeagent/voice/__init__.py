"""The conversation: turn taking, barge-in, what was heard."""

from edgeagent.front import front

__getattr__ = front(
    __name__,
    {
        "announcer": "Announcer AnnouncerSettings GoalReports",
        "answering": "Guess guessed",
        "chimes": "Chime PEAK chime",
        "dialogue": "Dialogue LEARN_S",
        "rest_of_turn": "RestOfTurn lacks_amount",
        "speech_queue": "SpeechHandle SpeechQueue",
        "spoken_questions": "VoicePerson",
        "spoken_reply": "HeardMessage SpokenLine SpokenReply keep_heard",
        "stop_words": "EARS_S PAUSE_S RECOGNISERS_S SUSPECTED WAIT_S",
        "stopping": "AFTER_SPEECH_S AFTER_WORD_S ALONE_S GUESS_S PROBABLE StopWatch",
        "telling": "Telling announcement command report",
        "turn": "Kind is_called kind_of without_wake_word",
        "turn_end": "DONE RATE_HZ SmartTurn TurnEndModel features",
        "turn_states": "Action Cell State TABLE TableEvent",
        "voice_settings": "DialogueSettings PRESETS Preset preset",
    },
)
