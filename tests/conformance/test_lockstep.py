"""The comparison itself: it accepts an engine that is right, and sees each kind of fault."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pyspiel
import pytest

from tests.conformance.lockstep import Difference, compare
from tests.conformance.sides import Agreement
from tests.conformance.stubs import SpielEnv

AGREED = Agreement(action=lambda seat, name: int(name))
KUHN = pyspiel.load_game("kuhn_poker")
RPS = pyspiel.load_game("matrix_rps")


class LosesAnAction(SpielEnv):
    def legal(self, state, seat):
        return super().legal(state, seat)[: 1 if len(state.history()) == 4 else None]


class HasAnActionMore(SpielEnv):
    def legal(self, state, seat):
        return [*super().legal(state, seat), 7]


class NamesAnActionTwice(SpielEnv):
    def legal(self, state, seat):
        return [0, 0]


class LosesAnOutcome(SpielEnv):
    def outcomes(self, state):
        return super().outcomes(state)[1:]


class SkewsTheOdds(SpielEnv):
    def outcomes(self, state):
        (a, p), (b, q), *rest = super().outcomes(state)
        return [(a, p + Fraction(1, 10**9)), (b, q - Fraction(1, 10**9)), *rest]


class AsksTheOther(SpielEnv):
    def actors(self, state):
        return [1 - seat for seat in super().actors(state)]

    def legal(self, state, seat):
        return list(state.legal_actions())


class EndsEarly(SpielEnv):
    def done(self, state):
        return len(state.history()) >= 4


class PaysTheOther(SpielEnv):
    def payoffs(self, state):
        return super().payoffs(state)[::-1]


class PaysOneHistoryWrong(SpielEnv):
    def payoffs(self, state):
        wrong = state.history() == [2, 1, 1, 1]
        return [x * 2 if wrong else x for x in super().payoffs(state)]


class ForgetsTheCard(SpielEnv):
    def known(self, state, seat):
        return super().known(state, seat)[1:]


class SeesTheOthersCard(SpielEnv):
    def known(self, state, seat):
        return str(state)


class OnlyDecisionsLeak(SpielEnv):
    def decided(self, state, seat):
        return str(state)


class LeaksAnOutcomeLate(SpielEnv):
    """The seat learns the other's card once somebody has bet."""

    def known(self, state, seat):
        known = super().known(state, seat)
        return known + f" {state.history()[1 - seat]}" if "b" in known else known


WRONG = [
    (LosesAnAction, "legal actions differ"),
    (HasAnActionMore, "legal actions differ"),
    (NamesAnActionTwice, "legal actions differ"),
    (LosesAnOutcome, "chance outcomes differ"),
    (SkewsTheOdds, "probabilities differ"),
    (AsksTheOther, "who moves differs"),
    (EndsEarly, "who moves differs"),
    (PaysTheOther, "returns differ"),
    (PaysOneHistoryWrong, "returns differ"),
    (ForgetsTheCard, "one information set of ours"),
    (SeesTheOthersCard, "two of ours"),
    (OnlyDecisionsLeak, r"two of ours \(Decision.information_set\)"),
    (LeaksAnOutcomeLate, "two of ours"),
]


@pytest.mark.parametrize(("engine", "text"), WRONG, ids=[w[0].__name__ for w in WRONG])
@pytest.mark.parametrize("mode", ["tree", "random"])
def test_a_wrong_engine_is_seen(engine, text, mode):
    with pytest.raises(Difference, match=text):
        compare(engine(KUHN), KUHN, AGREED, mode, games=200)


@pytest.mark.parametrize(
    ("name", "histories", "sets"),
    [
        ("kuhn_poker", 58, {0: 6, 1: 6}),
        ("kuhn_poker(players=3)", 617, {0: 16, 1: 16, 2: 16}),
        ("tiny_hanabi", 55, {0: 2, 1: 6}),
        ("first_sealed_auction(players=2,max_value=3)", None, {0: 3, 1: 3}),
        ("matrix_rps", 13, {0: 1, 1: 1}),
    ],
)
def test_a_right_engine_is_accepted(name, histories, sets):
    game = pyspiel.load_game(name)
    walked = compare(SpielEnv(game), game, AGREED)
    assert histories in (None, walked.histories)
    assert walked.sets == sets


def test_simultaneous_steps_agree_with_the_turn_based_form():
    joint = pyspiel.load_game("goofspiel(num_cards=3,imp_info=True,points_order=random)")
    in_turn = pyspiel.convert_to_turn_based(joint)

    class InTurn(SpielEnv):
        def known(self, state, seat):
            return str(state.information_state_string(seat)).split("\n", 1)[1]

    for ours, theirs in [(SpielEnv(joint), in_turn), (InTurn(in_turn), joint)]:
        walked = compare(ours, theirs, AGREED)
        assert (walked.histories, walked.sets) == (418, {0: 45, 1: 45})


def test_in_play_payments_are_compared_where_agreed():
    stage = pyspiel.load_game("matrix_pd")
    game = pyspiel.create_repeated_game(stage, {"num_repetitions": 2, "recall": 2})
    agreed = Agreement(lambda seat, name: int(name), information="observation", paid="payoffs")

    class Observes(SpielEnv):
        def known(self, state, seat):
            return str(state.observation_string(seat))

    class PaysAtTheEnd(Observes):
        def payoffs(self, state):
            earned = super().payoffs(state)
            return earned if state.is_terminal() else [Fraction(0)] * 2

    assert compare(Observes(game), game, agreed).histories == 31
    with pytest.raises(Difference, match="returns so far differ"):
        compare(PaysAtTheEnd(game), game, agreed)
    assert compare(PaysAtTheEnd(game), game, replace(agreed, paid=None)).histories == 31


class TakesForcedMoves(SpielEnv):
    """Nim whose last move, where only one is left, is made without asking."""

    def reset(self, seed=0, **how):
        episode = super().reset(seed, **how)
        episode.__class__ = _Forced
        return episode


class _Forced(type(SpielEnv(RPS).reset(chance="asked", forced="asked"))):
    def step(self, replies):
        super().step(replies)
        while not self.done and len(self.state.legal_actions()) == 1:
            self.state.apply_action(self.state.legal_actions()[0])

    def fork(self):
        twin = super().fork()
        twin.__class__ = _Forced
        return twin


def test_one_sided_nodes_are_skipped_only_where_agreed():
    nim = pyspiel.load_game("nim(pile_sizes=1;2)")
    with pytest.raises(Difference, match="who moves differs"):
        compare(TakesForcedMoves(nim), nim, AGREED)
    agreed = Agreement(lambda seat, name: int(name), theirs_has=frozenset({"decision"}))
    assert compare(TakesForcedMoves(nim), nim, agreed).histories > 0


def test_observations_stand_in_for_an_information_state():
    game = pyspiel.load_game(
        "hanabi(colors=1,ranks=2,hand_size=1,max_information_tokens=2,max_life_tokens=2)"
    )
    agreed = Agreement(lambda seat, name: int(name), information="observations")

    class Recalls(SpielEnv):
        """All observations of a seat, and all actions: by playing the history again."""

        def known(self, state, seat):
            at, seen = game.new_initial_state(), []
            for action in state.history():
                public = None if at.is_chance_node() else action
                at.apply_action(action)
                seen.append((public, at.observation_string(seat)))
            return str(seen)

    class Forgets(SpielEnv):
        def known(self, state, seat):
            return str(state.observation_string(seat))

    class Omniscient(SpielEnv):
        def known(self, state, seat):
            return str(state.history())

    walked = compare(Recalls(game), game, agreed)
    assert walked.histories == 3_729
    assert walked.shared > 0
    for wrong in (Forgets, Omniscient):
        with pytest.raises(Difference, match="information of p"):
            compare(wrong(game), game, agreed)


def test_positions_are_walked_once():
    game = pyspiel.load_game("tic_tac_toe")
    agreed = Agreement(lambda seat, name: int(name), information=None)
    walked = compare(SpielEnv(game), game, agreed, "positions")
    assert (walked.histories, walked.nodes["terminal"]) == (5_478, 958)


def test_random_walks_repeat_by_seed_and_revisit_infosets():
    game = pyspiel.load_game("leduc_poker")
    first = compare(SpielEnv(game), game, AGREED, "random", games=50)
    again = compare(SpielEnv(game), game, AGREED, "random", games=50)
    assert first.nodes == again.nodes
    assert first.shared > 50
    assert compare(SpielEnv(game), game, AGREED, "random", games=50, seed=1).nodes != first.nodes


def test_a_difference_shows_where_it_is():
    with pytest.raises(Difference) as found:
        compare(PaysOneHistoryWrong(KUHN), KUHN, AGREED)
    assert str(found.value).splitlines() == [
        "returns differ",
        "  against: kuhn_poker()",
        "  history, ours:   chance 2 · chance 1 · p0 1 · p1 1",
        "  history, theirs: Deal:2 · Deal:1 · Bet · Bet",
        "  ours:   4 -4",
        "  theirs: [2.0, -2.0]",
        "  their state:",
        "    2 1 bb",
    ]


def test_an_engine_that_breaks_says_where():
    class Breaks(SpielEnv):
        def reset(self, seed=0, **how):
            episode = super().reset(seed, **how)
            episode.fork = lambda: 1 / 0
            return episode

    with pytest.raises(ZeroDivisionError) as found:
        compare(Breaks(KUHN), KUHN, AGREED)
    assert found.value.__notes__ == ["history: chance 2"]
