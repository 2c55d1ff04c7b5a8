"""Labels: seeded, distinct, equal in tokens, never a name of the game, the same everywhere."""

from __future__ import annotations

from collections import Counter as Tally
from itertools import islice, permutations

import pytest

from gamedsl.prompting.labels import (
    DENIED,
    STYLES,
    _admissible,
    _avoided,
    _stream,
    capacity,
    draw_labels,
    option_names,
    secret_words,
)
from tests.rendering.games import STAG_HUNT, ULTIMATUM, Counter, options_game

MASKED = STAG_HUNT + "labels: masked\n"


def test_first_labels_of_the_stream_are_pinned(ir):
    """The stream is SHA-256: a change here changes every transcript ever recorded."""
    book = draw_labels(ir(MASKED), run_seed=0, seed=0)
    words = draw_labels(ir(STAG_HUNT + "labels: {masked: syllables}\n"), run_seed=0, seed=0)
    alien = draw_labels(ir(STAG_HUNT + "labels: {masked: alien}\n"), run_seed=0, seed=0)
    assert dict(book.pairs) == {"stag": "P", "hare": "L"}
    assert dict(words.pairs) == {"stag": "voko", "hare": "tesi"}
    assert dict(alien.pairs) == {"stag": "temditu", "hare": "dizkazu"}
    assert book.order("move", "hunter_1", ("stag", "hare")) == ("hare", "stag")


def test_plain_labels_are_names_in_declared_order(ir):
    book = draw_labels(ir(ULTIMATUM), run_seed=3, seed=1)
    names = ("low", "fair", "high")
    assert [book.label(name) for name in names] == list(names)
    assert book.order("offer", "proposer", names) == names


def test_fixed_labels_are_the_texts_given(ir):
    book = draw_labels(ir(STAG_HUNT + "labels: {hare: Two words, stag: A}\n"), run_seed=0, seed=0)
    assert book.label("hare") == "Two words"
    assert book.name("A") == "stag"
    assert book.order("move", "hunter_1", ("stag", "hare")) == ("stag", "hare")


@pytest.mark.parametrize(
    ("per", "by_run", "by_seed"),
    [("game", False, False), ("run", True, False), ("episode", True, True)],
)
def test_labels_are_redrawn_at_the_declared_rate(ir, per, by_run, by_seed):
    game = ir(options_game(8, f"labels: {{masked: syllables, per: {per}}}"))
    names = option_names(game)

    def drawn(run_seed: int, seed: int):
        book = draw_labels(game, run_seed=run_seed, seed=seed)
        return book.pairs, book.order("move", "ann", names)

    first = drawn(1, 1)
    for changed, other in ((by_run, drawn(2, 1)), (by_seed, drawn(1, 2))):
        assert (first[0] != other[0], first[1] != other[1]) == (changed, changed)


def test_labels_per_game_depend_on_the_rules_alone(ir):
    text = STAG_HUNT + "labels: {masked: syllables, per: game}\n"
    same, other = ir(text + "rules: Choose.\n"), ir(text.replace("4, 4", "5, 5"))
    pairs = [draw_labels(game, run_seed=0, seed=0).pairs for game in (ir(text), same, other)]
    assert pairs[0] == pairs[1] != pairs[2]


def test_a_book_is_drawn_once(ir):
    game = ir(MASKED)
    assert draw_labels(game, run_seed=1, seed=1) is draw_labels(game, run_seed=1, seed=2)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("run_seed", range(5))
def test_labels_are_a_bijection_and_prefix_free(ir, style, run_seed):
    count = {"letters": 20, "syllable": 40}.get(style, 300)
    book = draw_labels(
        ir(options_game(count, f"labels: {{masked: {style}}}")), run_seed=run_seed, seed=0
    )
    labels = [label for _, label in book.pairs]
    assert len({label.casefold() for label in labels}) == count
    assert len({len(label) for label in labels}) == 1
    assert all(book.name(book.label(name)) == name for name, _ in book.pairs)
    assert not {label.casefold() for label in labels} & DENIED


@pytest.mark.parametrize(("count", "length"), [(20, 1), (21, 4), (3500, 4), (3700, 7)])
def test_masked_takes_first_style_with_enough_words(ir, count, length):
    book = draw_labels(ir(options_game(count)), run_seed=0, seed=0)
    assert {len(label) for _, label in book.pairs} == {length}


def words_of(style, game, count=None, scope="x"):
    stream = _stream(STYLES[style], scope, _avoided(game))
    return list(stream) if count is None else list(islice(stream, count))


def test_no_label_is_a_name_of_the_game(ir):
    game = ir("""
game: bako
roles: [k, zulo]
actions: [p, mi_naru]
protocol: simultaneous
payoffs: 1 if move.k == move.zulo else 0
labels: masked
""")
    assert set(secret_words(game)) == {"p", "mi_naru", "k", "zulo", "bako"}
    assert "".join(sorted(words_of("letters", game))) == "BCDFGHJLMNQRSTVWXZ"
    assert capacity(game, STYLES["letters"]) == 18
    syllables = words_of("syllables", game)
    assert {"zulu", "bako", "zulo", "naru"}.isdisjoint(syllables)
    assert {"baka", "zula", "minu"} <= set(syllables)


def test_long_name_stays_out_of_labels():
    assert not _admissible("zarvoki", frozenset({"arv"}))
    assert _admissible("zarvoki", frozenset({"ar"}))


def test_tokenizer_selects_labels_of_equal_length(ir):
    game = ir(STAG_HUNT + "labels: {masked: syllables}\n")
    one, two = Counter("low", lambda text: 1 + (text[0] > "m")), Counter("one", lambda text: 1)
    low, high = [], []
    for word in words_of("syllables", game, 3, "run 8"):
        (high if word[0] > "m" else low).append(word)
    drawn = draw_labels(game, run_seed=8, seed=0, tokenizer=one)
    assert [label for _, label in drawn.pairs] == max(low, high, key=len)
    plain = draw_labels(game, run_seed=8, seed=0)
    assert plain.pairs == draw_labels(game, run_seed=8, seed=0, tokenizer=two).pairs
    assert [label for _, label in plain.pairs] == words_of("syllables", game, 2, "run 8")
    assert drawn.pairs != plain.pairs


@pytest.mark.parametrize("count", [2, 10, 64, 256])
def test_all_labels_have_one_token_count(ir, count):
    counter = Counter("uneven", lambda text: 1 + sum(map(ord, text)) % 3)
    game = ir(options_game(count, "labels: {masked: syllables}"))
    for run_seed in range(4):
        book = draw_labels(game, run_seed=run_seed, seed=0, tokenizer=counter)
        assert len({counter.count(label) for _, label in book.pairs}) == 1


def test_too_few_equal_length_labels_are_reported(ir):
    counter = Counter("all differ", lambda text: sum(ord(c) * 100**i for i, c in enumerate(text)))
    game = ir(STAG_HUNT + "labels: {masked: letters}\n")
    with pytest.raises(ValueError, match="has no 2 words of one token count in this tok"):
        draw_labels(game, run_seed=0, seed=0, tokenizer=counter)


def test_uneven_tokenizer_falls_back_to_later_style(ir):
    counter = Counter("uneven letters", lambda text: ord(text[0]) if len(text) == 1 else 2)
    book = draw_labels(ir(MASKED), run_seed=0, seed=0, tokenizer=counter)
    assert [len(label) for _, label in book.pairs] == [4, 4]


def test_label_order_is_drawn_per_seat_and_step(ir):
    game = ir(options_game(3))
    names = option_names(game)
    orders = Tally()
    same = 0
    for run_seed in range(300):
        book = draw_labels(game, run_seed=run_seed, seed=0)
        ann, bob = (book.order("move", seat, names) for seat in ("ann", "bob"))
        orders[ann] += 1
        same += ann == bob
        assert book.order("move", "ann", names[:2]) == tuple(n for n in ann if n in names[:2])
    assert set(orders) == set(permutations(names))
    assert min(orders.values()) > 25
    assert 25 < same < 80


def test_a_book_can_be_written_down(ir):
    book = draw_labels(ir(MASKED), run_seed=0, seed=0)
    assert book.as_dict() == {
        "kind": "masked",
        "labels": {"stag": "P", "hare": "L"},
        "order": book.key,
    }
