"""What holds of every small game: spellings agree, seeds repeat, labels change nothing."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

import gamedsl
from gamedsl import ParseFailure
from gamedsl.ir.outcome import evaluate_outcome
from tests.properties.games import Table, as_expressions, as_lists, as_text, load, play, tables


def paid(game: gamedsl.Game, profile: tuple[str, ...]) -> tuple[Fraction, ...]:
    payoffs, _ = evaluate_outcome(game.ir, (profile,))
    return tuple(Fraction(payoffs[seat]) for seat in game.ir.seats)


@given(tables(), st.data())
def test_all_spellings_of_a_game_pay_the_same(table: Table, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(table.roles))))
    games = [load(as_text(table, order)), load(as_lists(table)), load(as_expressions(table))]
    for profile, amounts in table.payoffs.items():
        assert [paid(game, profile) for game in games] == [amounts] * 3
    assert games[0].ir.rules_hash == games[1].ir.rules_hash
    assert games[2].ir.rules_hash != games[0].ir.rules_hash


@given(tables(), st.integers(0, 99), st.integers(0, 99), st.randoms(use_true_random=False))
def test_equal_seeds_give_equal_episodes(table: Table, run: int, seed: int, random) -> None:
    text = as_lists(table, "labels: {masked: syllables, per: episode}\n")
    profile = {r: random.choice(a) for r, a in zip(table.roles, table.actions, strict=True)}
    first = play(load(text).env(run_seed=run), profile, seed)
    second = play(load(text).env(run_seed=run), profile, seed)
    assert repr(first.transcript) == repr(second.transcript)
    start = load(text).env(run_seed=run)
    asked = [start.reset(seed).decisions, load(text).env(run_seed=run).reset(seed).decisions]
    assert [d.messages for d in asked[0]] == [d.messages for d in asked[1]]


@given(tables(), st.lists(st.integers(0, 10**6), min_size=2, max_size=2, unique=True))
def test_relabelling_changes_no_payoff(table: Table, runs: list[int]) -> None:
    game = load(as_lists(table, "labels: masked\n"))
    envs = [game.env(run_seed=run) for run in runs]
    for profile, amounts in table.payoffs.items():
        for env in envs:
            episode = env.reset(0)
            names = dict(zip(table.roles, profile, strict=True))
            if not episode.done:
                episode.step({
                    d.seat: d.labels[d.legal.index(names[d.seat])] for d in episode.decisions
                })  # fmt: skip
            assert tuple(episode.payoffs.values()) == amounts
    keys = [[d.information_set for d in env.reset(0).decisions] for env in envs]
    assert keys[0] == keys[1]


@given(tables(most_roles=2), st.text(), st.sampled_from(["plain", "masked"]))
def test_text_never_becomes_an_unnamed_action(table: Table, text: str, labels: str) -> None:
    env = load(as_lists(table, f"labels: {labels}\n")).env()
    episode = env.reset(0)
    if episode.done:
        return
    asked = episode.decisions
    rest = {d.seat: d.labels[0] for d in asked[1:]}
    episode.step({asked[0].seat: text, **rest})
    if text.strip() in asked[0].labels:
        assert not episode.failures
        assert None not in episode.payoffs.values()
        return
    seat = asked[0].seat
    least = min(amounts[env.ir.seats.index(seat)] for amounts in table.payoffs.values())
    assert isinstance(episode.failures[seat], ParseFailure)
    assert episode.payoffs == {**dict.fromkeys(env.ir.seats), seat: least}


@given(tables(most_roles=3))
def test_rewards_follow_the_reward_file(table: Table) -> None:
    count = len(table.roles)
    shared = load(as_lists(table, "rewards: shared\n"))
    swap = [[int(j == (i + 1) % count) for j in range(count)] for i in range(count)]
    mixed = load(as_lists(table, f"rewards: {{use: mixing, matrix: {swap}}}\n"))
    for profile, amounts in table.payoffs.items():
        _, rewards = evaluate_outcome(shared.ir, (profile,))
        assert set(rewards.values()) == {sum(amounts) / count}
        _, rewards = evaluate_outcome(mixed.ir, (profile,))
        assert list(rewards.values()) == [*amounts[1:], amounts[0]]
