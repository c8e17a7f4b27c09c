"""Speech to text."""

from edgeagent.front import front

__getattr__ = front(
    __name__,
    {
        "app_model": "build general_model known_words",
        "choice": "Choice Hypotheses Hypothesis LEAD",
        "confirming": "OwnVoice confirm forbids missed nothing_like occurrences starts unlike",
        "decoding": "Spotter",
        "doze": "Doze LEAD_S",
        "ears": "Ears EarsSettings STALL_S START_S",
        "fused": "FusedTranscriber",
        "hearing": """
            EarlyLook FinalTranscript HardEnd HeardWord HearingEvent Judged KeywordSpotted LEVEL_S Level
            PartialTranscript RATE_HZ RecognisedText SoftEnd SpeechResumed SpeechStarted SpottedPhrase Transcriber
            Trouble WaitSpotted
        """,
        "key_phrases": "KeywordSpotter STOP_WORDS SpotterOptions TUNED",
        "language_model": "BEGIN END arpa",
        "level_meter": "Levelling snr_db",
        "patterns": "phone_patterns",
        "phrases": "NEGATIONS sentences spoken_words",
        "pronounce": "PHONES phones_of_ipa pronunciations",
        "recordings": "Recordings for_error_rate word_error_rate",
        "rescoring": "AppSentences as_spoken as_written best_of means_another with_phrase written_with",
        "sphinx": "SphinxOptions SphinxTranscriber",
        "spotters": "KeyPhraseSpotter",
        "stop_network": "StopNetwork WAITS WORDS learnt",
        "transcription": "Transcription",
        "tuning": "tune",
        "vital_signs": "BEHIND_S LOOK_S LOST_S Lateness STILL_S Stillness VitalSigns unread_bytes",
        "whisper": "WhisperTranscriber open_model",
        "whisper_model": "Fit WhisperModel WhisperOptions release_memory share_arenas",
        "whisper_speed": "MOST_S Speed known_speed speed",
        "whisper_weights": "add_learnt hardened read_weights",
        "worker": "MOST_FAILURES Worker WorkerEvent",
    },
)
