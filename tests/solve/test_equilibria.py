from fractions import Fraction
from types import SimpleNamespace

from small_games import (
    BIASED_ROCK,
    HAWK_DOVE,
    PENNIES,
    PRISONERS,
    ROCK,
    STAG_HUNT,
    matrix_tree,
    public_goods_env,
    ultimatum_env,
)

from gamedsl.solve import (
    dominant_actions,
    mixed_equilibria,
    pure_equilibria,
    tabulate,
)
from gamedsl.solve import equilibria as module


def names(tree):
    return {e.text: e.names for e in pure_equilibria(tree).found}


def test_prisoners_dilemma():
    tree = matrix_tree(*PRISONERS)
    assert names(tree) == {"(defect, defect)": ("dominant-strategy",)}
    assert dominant_actions(tree) == {
        "row": ("defect", "strictly"), "column": ("defect", "strictly")
    }  # fmt: skip


def test_stag_hunt_names_and_mixture():
    tree = matrix_tree(*STAG_HUNT)
    assert names(tree) == {"(stag, stag)": ("payoff-dominant",), "(hare, hare)": ("risk-dominant",)}
    assert dominant_actions(tree) == {}
    (mixed,) = mixed_equilibria(tree)
    assert mixed["row"] == mixed["column"] == {"stag": Fraction(2, 3), "hare": Fraction(1, 3)}


def test_matching_pennies_has_only_a_mixture():
    tree = matrix_tree(*PENNIES)
    assert pure_equilibria(tree).found == ()
    assert mixed_equilibria(tree)[0]["row"] == {"heads": Fraction(1, 2), "tails": Fraction(1, 2)}


def test_hawk_dove_is_asymmetric_and_strict():
    found = pure_equilibria(matrix_tree(*HAWK_DOVE)).found
    assert [(e.text, e.strict, e.names) for e in found] == [
        ("(dove, hawk)", True, ()), ("(hawk, dove)", True, ())
    ]  # fmt: skip


def test_weak_dominance_and_non_strict_equilibrium():
    tree = matrix_tree([[(1, 1), (0, 1)], [(0, 0), (0, 0)]], ("up", "down"), ("left", "right"))
    assert dominant_actions(tree) == {"row": ("up", "weakly")}
    strict = {e.text: e.strict for e in pure_equilibria(tree).found}
    assert strict == {"(up, left)": False, "(up, right)": False, "(down, right)": False}


def test_rock_paper_scissors_mixtures():
    third, seventh = Fraction(1, 3), Fraction(1, 7)
    (plain,) = mixed_equilibria(matrix_tree(*ROCK))
    assert set(plain["row"].values()) == {third}
    (biased,) = mixed_equilibria(matrix_tree(*BIASED_ROCK))
    assert list(biased["column"].values()) == [3 * seventh, 3 * seventh, seventh]


def test_mixture_beaten_by_unused_action_is_refused():
    actions = ("heads", "tails", "out")
    rows = [[(1, -1), (-1, 1), (-9, -9)], [(-1, 1), (1, -1), (-9, -9)], [(3, 0), (3, 0), (3, 3)]]
    tree = matrix_tree(rows, actions)
    assert mixed_equilibria(tree) == ()
    assert list(names(tree)) == ["(out, out)"]


def test_ultimatum_equilibria_and_the_perfect_one():
    found = pure_equilibria(tabulate(ultimatum_env())).found
    perfect = [e for e in found if "subgame-perfect" in e.names]
    assert [(e.text, e.values["proposer"]) for e in perfect] == [("low → accept", 8)]
    assert {e.text for e in found} == {"low → accept", "fair → accept", "high → accept"}


def test_public_goods_of_three_has_one_dominant_equilibrium():
    tree = tabulate(public_goods_env(3, Fraction(2)))
    (only,) = pure_equilibria(tree).found
    assert only.text == "(keep, keep, keep)"
    assert only.names == ("dominant-strategy",)
    assert mixed_equilibria(tree) is None


def test_too_many_profiles_is_said(monkeypatch):
    monkeypatch.setattr(module, "MANY_PROFILES", 23)
    result = pure_equilibria(tabulate(ultimatum_env()))
    assert result.found is None
    assert "24 pure profiles" in result.note
    monkeypatch.setattr(module, "MANY_PROFILES", 24)
    assert pure_equilibria(tabulate(ultimatum_env())).found


def test_equilibria_of_payoffs_differ_from_those_of_rewards():
    tree = tabulate(
        public_goods_env(2, Fraction(3, 2), split=lambda p: dict.fromkeys(p, sum(p.values()) / 2))
    )
    assert [e.text for e in pure_equilibria(tree).found] == ["(give, give)"]
    assert [e.text for e in pure_equilibria(tree, "payoffs").found] == ["(keep, keep)"]


def test_profiles_beyond_counting_are_a_power_of_ten():
    """Their number has more digits than Python writes."""
    tree = SimpleNamespace(info_sets=[SimpleNamespace(actions=("left", "right"))] * 20_000)
    every = pure_equilibria(tree)
    assert every.found is None
    assert every.note == "there are about 10^6021 pure profiles: too many to try each"
