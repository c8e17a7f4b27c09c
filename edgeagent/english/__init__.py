"""English as people write it and recognisers hear it: numbers, words and sentences. Rules and rows of data."""

from edgeagent.front import front

__getattr__ = front(
    __name__,
    {
        "amounts": "amounts_in amounts_of derived in_units_of orientation sign_of tells_amount unit_of",
        "answers": "Control Controlled control_of yes_or_no",
        "asking": "Abilities asks_about_facts commands continues is_for_later may_ask requests_in",
        "completeness": "Phrases",
        "inverse": "inverse_normalised",
        "markdown": "holes",
        "normalise": "speakable",
        "numbers": "number",
        "sentence_rules": "bare sentence without_asking",
        "sentences": "LIMIT Piece SentenceStream",
        "stop_phrases": "Grade LOOKED_FOR RELEASES Release STOP_PHRASES Situation StopPhrases",
        "tokens": "NEGATIONS words_of",
        "word_data": "lists rows_of",
    },
)
