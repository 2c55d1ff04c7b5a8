"""Views after replies that never came, and views of games that declare far more than a play has."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import gamedsl
from gamedsl.ir.types import WHOLE, List, range_type
from gamedsl.runtime.vectors import MOST_FLOATS, VectorTooLarge, code_of

GAMES = Path(__file__).parents[2] / "games"

SAYS = """
game: g
roles: [a]
turns:
  - repeat: 3
    turns:
      - {role: a, say: reply, read: READ, max_tokens: 12}
payoffs: 1
on_invalid: {then: skip, pay: -1}
"""


@pytest.mark.parametrize(
    "read",
    ["{n: 1..9}", "{n: {per: role, of: 0..3}}", "{xs: {list: 1..9, at_most: 3}, t: text(9)}"],
)
def test_skipped_reply_has_a_vector(read: str, tmp_path: Path) -> None:
    path = tmp_path / "g.yaml"
    path.write_text(SAYS.replace("READ", read))
    env = gamedsl.load(path).env()
    episode = env.reset(seed=1)
    before = episode.view("a").vector
    episode.step({"a": "nothing of the kind"})
    after = dict(zip(env.vector_names("a"), episode.view("a").vector, strict=True))
    assert len(after) == len(before)
    assert {name for name, value in after.items() if value} == {
        "me=a", f"asked:{episode.decisions[0].step}", "asked before", "reply is bound",
    }  # fmt: skip
    assert episode.view("a").text
    assert episode.view("a").data["bound"] == {"reply": ""}


def test_guess_in_words_has_vectors_after_skips() -> None:
    episode = gamedsl.load("guess_in_words").env().reset(seed=1)
    sizes = {len(episode.view("guesser").vector)}
    while not episode.done:
        episode.step({"guesser": "no number"})
        sizes.add(len(episode.view("guesser").vector))
    assert len(sizes) == 1


def test_skipped_choice_of_many_numbers_has_a_vector(tmp_path: Path) -> None:
    path = tmp_path / "g.yaml"
    path.write_text(
        "game: g\nroles: [a]\nturns:\n  - repeat: 2\n    turns:\n"
        "      - {role: a, choose: n, from: 1..90}\npayoffs: 1\non_invalid: {then: skip, pay: -1}\n"
    )
    episode = gamedsl.load(path).env().reset(seed=1)
    episode.step({"a": "?"})
    assert episode.view("a").vector


VIEW_OF_MANY_GOODS = """
import resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
import gamedsl
view = gamedsl.load(sys.argv[1]).env().reset(seed=1).view("ann")
print(len(view.bound), len(view.vector) > 16_000, len(view.text) > 16_000, len(view.data["bound"]))
"""


def test_view_of_thousands_of_draws(tmp_path: Path) -> None:
    path = tmp_path / "bargaining.yaml"
    text = (GAMES / "bargaining_in_words.yaml").read_text(encoding="utf-8")
    path.write_text(text.replace("[book, hat, ball]", "1..4000"), encoding="utf-8")
    run = [sys.executable, "-c", VIEW_OF_MANY_GOODS, str(path)]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["8000", "True", "True", "2"], done.stderr


def test_vector_of_a_huge_list_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "g.yaml"
    path.write_text(
        "game: g\nroles: [a]\ntypes: {R: {p: 1..30, q: 1..30, r: 1..30, s: 1..30}}\n"
        "state: {xs: {list: R, at_most: 10000}}\nturns:\n"
        "  - {role: a, choose: n, from: [l, r]}\n  - do: add (1, 2, 3, 4) to xs\n"
        "payoffs: size(xs)\n"
    )
    view = gamedsl.load(path).env().reset(seed=1).view("a")
    with pytest.raises(VectorTooLarge, match=r"1,200,003 floats, most of them for `xs`"):
        _ = view.vector
    assert view.data["state"] == {"xs": []}
    assert view.text


def test_widths_are_counted_without_listing() -> None:
    for type in (WHOLE, range_type(1, 5), List(range_type(1, 5), at_most=3), List(WHOLE, 4)):
        code = code_of(type, ("a",))
        assert code.width == len(list(code.components("x")))
    assert code_of(List(range_type(1, 5), at_most=MOST_FLOATS), ("a",)).width > MOST_FLOATS
