from fractions import Fraction

import pytest
from runs import pure, record, records

import gamedsl
from gamedsl.solve import pure_equilibria, tabulate
from gamedsl.training.summary import mixture, names_of, predicted, summarise

PREDICTION = {
    "kind": "pure", "text": "(hare, hare)", "margin": 0.166, "confidence": "clear",
    "profile": {"hunter_1:move": "hare", "hunter_2:move": "hare"}, "probabilities": {},
}  # fmt: skip


def tree_of(name, **params):
    return tabulate(gamedsl.load(name, params).env())


def told(name, names, weight=0.99, **prediction):
    tree = tree_of(name)
    start = {"prediction": {**PREDICTION, **prediction}} if prediction else {}
    return summarise(start, record(tree, pure(tree, names, weight), 30), tree)


HARE = {"hunter_1:move": "hare", "hunter_2:move": "hare"}


def test_coordination_on_the_risk_dominant_outcome():
    assert told("stag_hunt", HARE, kind="pure") == (
        "Both hunters learned hare: (hare, hare), the risk-dominant equilibrium, played 98.0% of "
        "the time. (stag, stag) would pay every role more. Reward 1.99 of at most 4.00 per role; "
        "exploitability 0.020 (NashConv / 2). Predicted before training: (hare, hare) — came true."
    )


def test_a_prediction_that_failed_is_said_to_have():
    stag = dict.fromkeys(HARE, "stag")
    text = told("stag_hunt", stag, kind="pure")
    assert "the payoff-dominant equilibrium" in text
    assert "would pay every role more" not in text
    assert text.endswith("did not come true, though the start was 0.17 from the boundary.")
    near = told("stag_hunt", stag, margin=0.01, confidence="too close to call")
    assert near.endswith(
        "Before training: too close to call (margin 0.01), leaning hare; play went the other way."
    )
    near = told("stag_hunt", HARE, margin=0.05, confidence="near the boundary")
    assert near.endswith("too close to call (margin 0.05), leaning hare; play went there.")
    for final, weight in ((stag, 0.99), (HARE, 0.99), (HARE, 0.6)):
        text = told("stag_hunt", final, weight, margin=0.01, confidence="too close to call")
        assert "come true" not in text


def test_not_settled_below_nine_in_ten():
    text = told("stag_hunt", HARE, weight=0.89, kind="pure")
    assert text.startswith("Not settled after 30 steps: hunter_1:move hare 89%, stag 11%;")
    assert text.endswith("(hare, hare) — open, as play has not settled.")
    assert told("stag_hunt", HARE, weight=0.9).startswith("Both hunters learned hare")


def test_dominance_and_what_would_have_been_better():
    text = told("prisoners_dilemma", {"row:move": "defect", "column:move": "defect"})
    assert "Both roles learned defect: (defect, defect), the equilibrium in dominant" in text
    assert "(cooperate, cooperate) would pay every role more." in text


def test_settled_non_equilibrium_is_named_so():
    text = told("stag_hunt", {"hunter_1:move": "stag", "hunter_2:move": "hare"})
    assert text.startswith("hunter_1 learned stag and hunter_2 learned hare: (stag, hare), ")
    assert "which is not an equilibrium (hunter_1 would gain 2 by hare)" in text


def test_conventions_name_the_label():
    tree = tree_of("pure_coordination")
    last = record(tree, pure(tree, {s.key: "s3" for s in tree.info_sets}), 5)
    text = summarise(None, last, tree, labels={"s3": "veck"})
    assert text.startswith(
        "Both players learned s3 (shown as “veck”): (s3, s3), one of ten equally good conventions,"
    )


def test_mixed_games_report_the_distance_from_equilibrium():
    tree = tree_of("biased_rock_paper_scissors")
    policy = {s.key: {"rock": 0.5, "paper": 0.4, "scissors": 0.1} for s in tree.info_sets}
    policy["right:move"] = {"rock": 3 / 7, "paper": 3 / 7, "scissors": 1 / 7}
    text = summarise(None, record(tree, policy, 9), tree)
    assert text.startswith("The game has no pure equilibrium; after 9 steps play is mixed:")
    assert "left:move with rock at 50% instead of 43%" in text


def test_a_predicted_mixture_comes_true_or_not():
    tree = tree_of("chicken")
    half = {s.key: {"swerve": 0.5, "straight": 0.5} for s in tree.info_sets}
    start = {"prediction": {**PREDICTION, "kind": "mixed", "margin": None, "profile": None,
                            "probabilities": half}}  # fmt: skip
    near = {s.key: {"swerve": 0.55, "straight": 0.45} for s in tree.info_sets}
    far = {s.key: {"swerve": 0.65, "straight": 0.35} for s in tree.info_sets}
    assert summarise(start, record(tree, near, 4), tree).endswith("— came true.")
    assert summarise(start, record(tree, far, 4), tree).endswith("— did not come true.")


def test_many_players():
    text = told("public_goods", {f"player_{i}:move": "keep" for i in range(1, 5)})
    assert text.startswith("All four players learned keep: (keep, keep, keep, keep),")
    assert "(NashConv / 4)" in text


def test_rewards_alone_where_there_is_no_tree():
    tree = tree_of("stag_hunt")
    rows = records(tree, pure(tree, HARE), 4)
    text = summarise(rows[0], rows[-1], None, first=rows[1])
    begun = "After 4 steps, mean reward per game in the last: hunter_1 1.99 (2.05 in the first)"
    assert text.startswith(begun)
    assert "rose" not in text
    assert "learned" not in text
    first = {**rows[1], "reward": {"hunter_1": 0.4561, "hunter_2": 0.25}}
    last = {**rows[-1], "reward": {"hunter_1": 0.4579, "hunter_2": 0.5}}
    text = summarise(rows[0], last, None, first=first)
    assert "hunter_1 0.46 (0.46 in the first) and hunter_2 0.50 (0.25 in the first)" in text
    assert f"Each step has {last['games']:,} games of its own, and luck" in text


def test_partial_policy_is_not_judged_by_tree():
    tree = tree_of("stag_hunt")
    last = record(tree, pure(tree, HARE), 4)
    del last["policy"]["hunter_2:move"]
    assert summarise(None, last, tree).startswith("After 4 steps, mean reward")


def test_nothing_done():
    assert summarise(None, None) == "No step of training was completed."


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({}, "(hare, hare) (clear: a change of 0.17 in the start would tip it)"),
        ({"margin": None}, "no other start that was tried leads elsewhere"),
        ({"margin": 0.004, "confidence": "too close to call"}, "(margin below 0.01), leaning hare"),
        ({"kind": "moving"}, "keep moving"),
        ({"kind": "mixed", "margin": 0}, "on the boundary"),
        ({"kind": "mixed", "margin": None, "probabilities": {"k": {"a": 0.25, "b": 0.75}}},
         "a mixture, as no pure outcome attracts this start (k b 75%, a 25%)"),
    ],
)  # fmt: skip
def test_predictions_in_words(change, says):
    assert says in predicted({**PREDICTION, **change})


def test_certainty_is_never_rounded_up():
    assert mixture({"a": 0.99996, "b": 0.00004}) == "a over 99.9%, b under 0.1%"
    assert mixture({"a": 0.987, "b": 0.013}) == "a 98.7%, b 1.3%"
    assert mixture({"a": Fraction(1), "b": Fraction(0)}) == "a 100%, b 0%"
    assert mixture({"a": 0.4, "b": 0.3, "c": 0.2, "d": 0.1}).endswith("c 20% and 1 less likely")


def test_names_of_equilibria():
    every = pure_equilibria(tree_of("stag_hunt_n"))
    assert [names_of(one, every) for one in every.found] == [
        "the payoff-dominant equilibrium", "one of two pure equilibria"
    ]  # fmt: skip
