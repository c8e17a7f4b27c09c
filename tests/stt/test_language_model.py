"""The language model: what it says of words, by the ARPA file alone, and what PocketSphinx makes of that."""

import math
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeagent.app import house_phrases
from edgeagent.stt import BEGIN, END, arpa

SENTENCES = ["go to the kitchen", "go to the office", "turn left", "turn left now", "stop", "go"]
WORDS = st.sampled_from(["go", "to", "the", "kitchen", "stop", "left"])
TEXTS = st.lists(st.lists(WORDS, min_size=1, max_size=6).map(" ".join), min_size=1, max_size=30)
Table = dict[tuple[str, ...], tuple[float, float]]


def read(text: str) -> Table:
    """Logarithms of the probability and of the back-off weight of each n-gram."""
    table: Table = {}
    order = 0
    for line in text.splitlines():
        if line.startswith("\\"):
            order = int(line[1]) if line.endswith("-grams:") else 0
        elif order and line:
            probability, *fields = line.split()
            table[tuple(fields[:order])] = float(probability), float(fields[order]) if fields[order:] else 0.0
    return table


def log_probability(table: Table, context: tuple[str, ...], word: str) -> float:
    """As the format says: the longest context that is there, and the weights of those that were tried before."""
    if (*context, word) in table:
        return table[(*context, word)][0]
    weight = table[context][1] if context in table else 0.0
    return weight + log_probability(table, context[1:], word)


def perplexity(table: Table, sentences: list[str]) -> float:
    total, count = 0.0, 0
    for sentence in sentences:
        words = (BEGIN, *sentence.split(), END)
        for at in range(1, len(words)):
            total += log_probability(table, words[max(0, at - 2) : at], words[at])
        count += len(words) - 1
    return 10 ** (-total / count)


@given(TEXTS)
def test_after_any_words_the_probabilities_add_up_to_one(texts: list[str]) -> None:
    table = read(arpa(texts))
    vocabulary = [gram[0] for gram in table if len(gram) == 1 and gram != (BEGIN,)]
    contexts = [(), (BEGIN,), *((word,) for word in vocabulary), *pairwise((BEGIN, *texts[0].split()))]
    for context in contexts:
        total = sum(10 ** log_probability(table, context, word) for word in vocabulary)
        assert total == pytest.approx(1.0, abs=2e-3), context


@given(TEXTS)
def test_the_counts_of_the_head_are_right(texts: list[str]) -> None:
    text = arpa(texts)
    table = read(text)
    for order in (1, 2, 3):
        assert f"ngram {order}={sum(len(gram) == order for gram in table)}\n" in text


def test_what_was_said_often_is_likelier_and_what_never_was_is_possible() -> None:
    table = read(arpa([*SENTENCES, *["go to the kitchen"] * 3]))
    kitchen, office, stop = (log_probability(table, ("to", "the"), word) for word in ("kitchen", "office", "stop"))
    assert kitchen > office > stop > -6


def test_a_sentence_never_begins_in_the_middle() -> None:
    table = read(arpa(SENTENCES))
    assert table[(BEGIN,)][0] < -90
    assert not any(BEGIN in gram[1:] for gram in table)


@pytest.mark.parametrize("nothing", [[], ["", "  "]])
def test_without_words_there_is_no_model(nothing: list[str]) -> None:
    with pytest.raises(ValueError, match="words"):
        arpa(nothing)


def test_pocketsphinx_reads_the_same_numbers(tmp_path: Path) -> None:
    from pocketsphinx import Config, LogMath, NGramModel

    path = tmp_path / "app.arpa"
    path.write_text(arpa(SENTENCES))
    math_ = LogMath()
    model = NGramModel(Config(loglevel="FATAL"), math_, str(path))
    table = read(path.read_text())
    for *context, word in (("go", "to", "the"), ("to", "the", "office"), ("left", "go"), ("stop",)):
        # PocketSphinx wants the last word first
        found = math_.log_to_ln(model.prob([word, *reversed(context)])) / math.log(10)
        assert found == pytest.approx(log_probability(table, tuple(context), word), abs=0.01)


def test_it_expects_more_of_what_was_never_said_before_than_pocketsphinxs_own_builder() -> None:
    from io import StringIO

    from pocketsphinx.lm import ArpaBoLM

    said = house_phrases()
    heard, held_out = [s for n, s in enumerate(said) if n % 5], list(said[::5])
    known = {word for sentence in heard for word in sentence.split()}
    held_out = [sentence for sentence in held_out if known.issuperset(sentence.split())]
    other = ArpaBoLM(text="\n".join(heard), add_start=True)
    other.compute()
    written = StringIO()
    other.write(written)
    assert perplexity(read(arpa(heard)), held_out) < 0.75 * perplexity(read(written.getvalue()), held_out)
