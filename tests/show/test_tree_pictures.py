"""Trees as they are drawn: they are the game's trees, laid out tidily, and nothing overlaps."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gamedsl.solve import tabulate
from gamedsl.view.game.extensive import DrawnNode, draw_tree, order_outcomes
from gamedsl.view.game.layout import rows_of, tidy
from gamedsl.view.game.tree_picture import tree_picture
from gamedsl.view.game.tree_shape import shape_of
from tests.show.pictures import Picture, views

LEWIS = {"words": "2", "objects": "2", "shown": "2"}
SMALL = [
    ("kuhn_poker", {}),
    ("ultimatum", {}),
    ("ultimatum_n", {}),
    ("matching_pennies", {}),
    ("stag_hunt", {}),
    ("stag_hunt_n", {}),
    ("public_goods", {}),
    ("biased_rock_paper_scissors", {}),
    ("lewis_signaling", LEWIS),
    ("centipede", {}),
    ("tiny_hanabi", {}),
    ("advice", {"states": "3"}),
    ("information_cascade", {"players": "2"}),
    ("goofspiel", {"n": "2"}),
]
LARGE = ["goofspiel", "leduc_poker", "tic_tac_toe", "lewis_signaling", "commons"]


@pytest.mark.parametrize(("name", "params"), SMALL)
def test_a_whole_tree_is_that_of_the_solver(name: str, params: dict[str, str]) -> None:
    shown = views(name, params)
    drawn, tree = shown.tree, tabulate(shown.game.env())
    assert drawn.whole
    assert drawn.nodes == len(tree)
    assert sorted(i.actions for i in drawn.info) == sorted(i.actions for i in tree.info_sets)
    ends = Counter(node.payoffs for node in drawn.root.walk() if node.kind == "end")
    assert ends == Counter(tree.payoffs[n] for n in tree.terminals)
    for node in drawn.root.walk():
        if node.kind == "chance":
            assert sum(child.odds for child in node.children) == 1
    members = Counter(node.info for node in drawn.root.walk() if node.info >= 0)
    assert sorted(members.values()) == sorted(map(len, tree.members))


@pytest.mark.parametrize(("name", "params"), SMALL)
def test_small_tree_has_no_overlaps(name: str, params: dict[str, str]) -> None:
    picture = Picture(views(name, params).picture("tree"))
    assert picture.overlaps() == []
    assert picture.outside() == []


@pytest.mark.parametrize(
    ("name", "params"),
    [("ultimatum", {}), ("matching_pennies", {}), ("stag_hunt_n", {}), ("lewis_signaling", LEWIS)],
)
def test_no_line_runs_through_a_name(name: str, params: dict[str, str]) -> None:
    assert Picture(views(name, params).picture("tree")).crossed() == []


@pytest.mark.parametrize("name", LARGE)
def test_large_tree_top_has_no_overlaps(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gamedsl.view.game.extensive.COUNTED", 150)
    shown = views(name, limit=60)
    assert not shown.tree.whole
    picture = Picture(shown.picture("tree"))
    assert picture.overlaps() == []
    assert picture.outside() == []


def test_the_same_game_gives_the_same_picture() -> None:
    assert views("kuhn_poker").picture("tree") == views("kuhn_poker").picture("tree")


@pytest.mark.parametrize(
    ("name", "direction"),
    [("ultimatum", "down"), ("kuhn_poker", "right"), ("centipede", "spine")],
)
def test_the_shape_fits_the_game(name: str, direction: str) -> None:
    assert shape_of(views(name).tree, 760).direction == direction


def test_each_information_set_is_named_once_and_joined() -> None:
    picture = Picture(views("kuhn_poker").picture("tree"))
    named = [label for label in picture.labels if re.fullmatch(r"f\d it", label.style)]
    names = Counter(label.text for label in named if not label.text.isdigit())
    assert names == Counter(
        [f"{seat} {number}" for seat in ("first", "second") for number in range(1, 7)]
    )
    assert len(picture.dashed()) == 12  # two histories each
    others = Counter(label.text for label in named if label.text.isdigit())
    assert others == Counter("123456456")  # where curves join the two


def test_one_dashed_set_says_that_moves_are_simultaneous() -> None:
    assert len(Picture(views("matching_pennies").picture("tree")).dashed()) == 1
    assert len(Picture(views("ultimatum").picture("tree")).dashed()) == 0


def test_deals_are_ordered_by_information_set() -> None:
    root = views("kuhn_poker").tree.root
    apart = 0
    homes: dict[int, list[int]] = {}
    for place, deal in enumerate(root.children):
        for info in {node.info for node in deal.walk() if node.info >= 0}:
            homes.setdefault(info, []).append(place)
    for home in homes.values():
        apart += sum(right - left > 1 for left, right in pairwise(home))
    assert apart == 2  # the ring of six deals must be cut once, through two sets


def test_what_is_cut_is_counted() -> None:
    kernel = views("goofspiel").game.kernel()
    top = draw_tree(kernel, depth=2)
    below = [node.beyond for node in top.root.walk() if node.kind != "more"]
    assert None not in below
    assert sum(below) + len(below) == top.nodes == 418


def test_long_child_lists_are_folded_with_count() -> None:
    root = views("lewis_signaling", limit=20).tree.root
    assert [child.kind for child in root.children] == ["chance"] * 3 + ["more"]
    assert root.children[-1].beyond == 35_960 - 3


def trees() -> st.SearchStrategy[DrawnNode]:
    leaf = st.builds(DrawnNode, st.just("end"))
    return st.recursive(
        leaf,
        lambda inner: st.builds(
            lambda below: DrawnNode("decision", children=below),
            st.lists(inner, min_size=1, max_size=4),
        ),
        max_leaves=25,
    )


@settings(max_examples=60, deadline=None)
@given(trees(), st.data())
def test_nodes_of_a_row_keep_distance(root: DrawnNode, data: st.DataObject) -> None:
    nodes = list(root.walk())
    wide = data.draw(st.lists(st.sampled_from([6.0, 20.0, 40.0]), min_size=len(nodes),
                              max_size=len(nodes)))  # fmt: skip
    breadth = dict(zip(nodes, wide, strict=True))
    rows = rows_of(root)
    across = tidy(root, rows, breadth.__getitem__, 2, 5)
    for row in range(max(rows.values()) + 1):
        beside = sorted((n for n in nodes if rows[n] == row), key=across.__getitem__)
        for left, right in pairwise(beside):
            assert across[right] - across[left] >= (breadth[left] + breadth[right]) / 2 + 2 - 1e-6
    for node in nodes:
        if node.children:
            ends = across[node.children[0]], across[node.children[-1]]
            assert across[node] == pytest.approx(sum(ends) / 2)


def test_nodes_of_an_information_set_share_a_row() -> None:
    late = DrawnNode("decision", info=1, seat=1)
    early = DrawnNode("decision", info=1, seat=1)
    root = DrawnNode("chance", children=[DrawnNode("chance", children=[late]), early])
    rows = rows_of(root)
    assert rows[late] == rows[early] == 2
    across = tidy(root, rows, lambda node: 10.0, 0, 0)
    assert abs(across[late] - across[early]) >= 10


def test_mutually_preceding_sets_are_drawn_by_depth() -> None:
    first = DrawnNode("decision", info=0, children=[DrawnNode("decision", info=1)])
    second = DrawnNode("decision", info=1, children=[DrawnNode("decision", info=0)])
    rows = rows_of(DrawnNode("chance", children=[first, second]))
    assert (rows[first], rows[first.children[0]]) == (1, 2)


def spread(children: list[DrawnNode]) -> int:
    """How far histories of one set are apart, all together."""
    homes: dict[int, list[int]] = {}
    for place, child in enumerate(children):
        for node in child.children:
            homes.setdefault(node.info, []).append(place)
    return sum(max(home) - min(home) for home in homes.values())


def test_the_order_of_many_outcomes_gets_better() -> None:
    sets = [(i, (i * 5) % 9) for i in range(9)]
    ring = [
        DrawnNode("decision", children=[DrawnNode("decision", info=i) for i in own]) for own in sets
    ]
    root = DrawnNode("chance", children=list(ring))
    order_outcomes(root)
    assert set(root.children) == set(ring)
    assert spread(root.children) < spread(ring)


def test_horizontal_tree_is_as_wide_as_rows() -> None:
    figure = tree_picture(views("kuhn_poker").tree)
    assert figure.width < 600
    assert figure.height < 760
