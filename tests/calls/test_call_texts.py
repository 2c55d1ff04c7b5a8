"""What a text says: the value's text, a name, a match."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamedsl.calls import texts
from gamedsl.calls.registry import CallError, lookup
from gamedsl.calls.search import MAX_SEARCHED
from gamedsl.calls.texts import MAX_TEXT, exact, matches, names
from gamedsl.extras import install_command

EXACT: list[tuple[str, Any, bool]] = [
    (" Yes\n", "yes", True),
    ("STRASSE", "straße", True),
    ("caf\u00e9", "cafe\u0301", True),
    ("x²", "x2", False),
    ("½", Fraction(1, 2), False),
    ("1/2", Fraction(1, 2), True),
    ("12", 12, True),
    ("12.0", 12, False),
    ("True", True, True),
    ("none", None, True),
    ("a, B", ("a", "b"), True),
    ("suit: hearts, rank: 3", {"suit": "hearts", "rank": 3}, True),
    ("a, b", frozenset("ba"), True),
    ("yes yes", "yes", False),
    ("", "", True),
    ("\u0301" * 50_000, "a", False),
    ("a" + "\u0301\u0323" * 15, "a" + "\u0323\u0301" * 15, True),
    ("a" + "\u0301\u0323" * 16, "a" + "\u0323\u0301" * 16, False),
    ("a" + "\u0301\u0323" * 5, "a" + "\u0323" * 5 + "\u0301" * 5, True),
    ("a" + "\u0301\u0323" * 9_000, "a" + "\u0323\u0301" * 9_000, False),
]
NAMES: list[tuple[str, str, bool]] = [
    ("Is it a cat?", "cat", True),
    ("Is it CATS?", "cat", True),
    ("Is it the cat's toy?", "cat", True),
    ("Does it concatenate?", "cat", False),
    ("Is it a cats-eye?", "cat", True),
    ("boxes", "box", True),
    ("berries", "berry", True),
    ("boys", "boy", True),
    ("boies", "boy", False),
    ("box", "boxes", False),
    ("an ice-cream van", "ice cream", True),
    ("ice creams", "ice cream", True),
    ("ices cream", "ice cream", False),
    ("ice, and then cream", "ice cream", False),
    ("Éclair", "e\u0301clair", True),
    ("eclair", "éclair", False),
    ("", "cat", False),
    ("cat", "", False),
    ("cat", "?!", False),
    ("cat " * MAX_TEXT, "cat", False),
    ("cat " + "\u0301\u0323" * 9_000, "cat", False),
]
MATCHES: list[tuple[str, str, bool]] = [
    ("I pay 30 coins", "[0-9]+ coins", True),
    ("I pay 30 coins", "^[0-9]+ coins$", False),
    ("30 coins", "^[0-9]+ coins$", True),
    ("30 coins\n", "^[0-9]+ coins$", False),
    ("YES", "(?i)yes", True),
    ("é", "^.$", True),
    ("\ud800", ".", False),
    ("a" * MAX_TEXT, "(a*)*(a|a)*(a|aa)+$", True),
    ("a" * MAX_TEXT, "(a|a)*(a|aa)+b", False),
    ("a" * (MAX_TEXT + 1), "a", False),
]


@pytest.mark.parametrize(("text", "value", "holds"), EXACT)
def test_exact(text: str, value: Any, holds: bool) -> None:
    assert exact(text, value) is holds


@pytest.mark.parametrize(("text", "name", "holds"), NAMES)
def test_names(text: str, name: str, holds: bool) -> None:
    assert names(text, name) is holds


@pytest.mark.parametrize(("text", "pattern", "holds"), MATCHES)
def test_matches(text: str, pattern: str, holds: bool) -> None:
    assert matches(text, pattern) is holds


@pytest.mark.parametrize("pattern", ["(", r"(a)\1", "(?=a)", "a{2000}", "\ud800", "a" * 2000])
def test_a_wrong_pattern_is_known_beforehand(pattern: str) -> None:
    function = lookup("matches")
    assert function is not None
    assert function.fault_of({"pattern": pattern})
    with pytest.raises(CallError, match="`matches`: "):
        function.call(text="a", pattern=pattern)
    assert function.fault_of({"pattern": "a+"}) is None
    assert function.fault_of({"text": "a"}) is None


def test_where_the_library_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    function = lookup("matches")
    assert function is not None
    assert function.missing_here() is None
    monkeypatch.setattr(texts, "find_spec", lambda name: None)
    said = f"google-re2 is not installed; fix: {install_command('calls')}"
    assert function.missing_here() == said
    assert function.fault_of({"pattern": "never compiled either ("}) is None
    with pytest.raises(CallError) as caught:
        function.call(text="a", pattern="never compiled before")
    assert caught.value.reason == said


@given(st.text(max_size=60), st.text(max_size=20))
def test_no_text_breaks_them(text: str, other: str) -> None:
    assert exact(f" {text} ", text)
    names(text, other)
    matches(text, "a")


@given(st.lists(st.sampled_from(["cat", "box", "ice", "cream", "a"]), max_size=8))
def test_names_is_the_search_for_whole_words(said: list[str]) -> None:
    assert names(" ".join(said), "ice cream") is (" ice cream " in f" {' '.join(said)} ")


FACTS = ("The tower of Ardel is high.", "The tower of Brome", "A bridge", "", "Ardel: a tower")


@pytest.mark.parametrize(
    ("query", "most", "found"),
    [
        ("tower", 5, (0, 1, 4)),
        ("the TOWER of ardel?", 5, (0, 1, 4)),
        ("bridge tower", 5, (2, 0, 1, 4)),
        ("Ardel tower", 1, (0,)),
        ("tower tower tower bridge", 2, (2, 0)),
        ("towers", 5, ()),
        ("", 5, ()),
        ("tower", 0, ()),
        ("tower", -1, ()),
        ("tower " * 9_000, 5, ()),
    ],
)
def test_search_ranks_texts_by_telling_words(query: str, most: int, found: tuple[int, ...]) -> None:
    search = lookup("search")
    assert search is not None
    assert search.call(query=query, texts=FACTS, most=most) == tuple(FACTS[at] for at in found)


def test_search_is_bounded() -> None:
    search = lookup("search")
    assert search is not None
    with pytest.raises(CallError, match="more than 500,000 characters"):
        search.call(query="a", texts=["a" * (MAX_SEARCHED // 2 + 1)] * 2, most=1)
