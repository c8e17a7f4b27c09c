"""A builder's own nano: examples from his tools and phrases, a fine-tuning on a CPU, a GGUF that ``--model`` takes.

Only ``edgeagent train`` and the laboratory import this room. ``course``, ``fine_tuning``, ``nano`` and ``weights``
need the extra ``train`` (torch, gguf); the rest does without.
"""

from edgeagent.front import front

__getattr__ = front(
    __name__,
    {
        "app_dialogues": "TaughtApp AppAuthor templates_of",
        "course": "Course write_listed",
        "curve": "draw_curve",
        "dressing": "cardinal decimal_words digits number",
        "encoding": "Batch EncodedDialogue Encoder TrainingRow",
        "fine_tuning": "TrainingBudget Loss Muon Optimizer LossPoint tensors tune",
        "frames": "SentenceFrame FrameText Slot Values fill frame_of",
        "lessons": "Lessons",
        "nano": "Nano Shape block_mask",
        "phrases_file": "TaughtCall Phrase cases_of kept_apart read_phrases",
        "reminders": "OfferedTool Reminder read_replay replay_path write_replay",
        "weights": "Weights read_weights retrained tensor_name write_gguf",
        "wording": "negated not_asked reworded",
    },
)
