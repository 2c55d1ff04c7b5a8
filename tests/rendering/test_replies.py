"""Replies: equal to a label or a failure, for any text whatever."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamedsl.prompting.labels import LabelBook
from gamedsl.prompting.replies import ParseFailure, read_label

BOOK = LabelBook("fixed", (("stag", "bako"), ("hare", "two words"), ("rest", "Ünd")))
ALL = ("stag", "hare", "rest")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("bako", "stag"),
        ("  bako\n", "stag"),
        ("\u3000two words\u2029", "hare"),
        ("Ünd", "rest"),
    ],
)
def test_a_label_is_its_action(text, name):
    assert read_label(text, ALL, BOOK) == name


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        (" \n\t", "empty"),
        ("stag", "unknown"),
        ("Bako", "unknown"),
        ("bako.", "unknown"),
        ("`bako`", "unknown"),
        ("two  words", "unknown"),
        ("two words", "illegal"),
        ("U\u0308nd", "unknown"),
        ("bako\x00", "unknown"),
        ("I choose bako", "unknown"),
    ],
)
def test_non_label_reply_is_a_failure(text, reason):
    assert read_label(text, ("stag", "rest"), BOOK) == ParseFailure(reason, text)


LABELS = [label for _, label in BOOK.pairs]
NEAR = st.builds(
    lambda before, label, after: before + label + after,
    st.sampled_from(["", " ", "\n", ".", "\u200b"]),
    st.sampled_from([*LABELS, *map(str.upper, LABELS), "stag", "hare"]),
    st.sampled_from(["", " ", "\n", "!", "\u0308"]),
)
ANY = st.text(st.characters(exclude_categories=()), max_size=40)


@given(text=NEAR | ANY, legal=st.sets(st.sampled_from(ALL)).map(tuple))
def test_text_never_becomes_an_unnamed_action(text, legal):
    read = read_label(text, legal, BOOK)
    if isinstance(read, ParseFailure):
        assert read.text == text
        assert not any(text.strip() == BOOK.label(name) for name in legal)
    else:
        assert read in legal
        assert text.strip() == BOOK.label(read)
