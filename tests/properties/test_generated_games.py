"""What holds of every game: the properties of the architecture, over generated files."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from random import Random

import pytest
from hypothesis import Phase, event, given, reject, seed, settings
from hypothesis import strategies as st

import gamedsl
from gamedsl import Action, ParseFailure
from gamedsl.diagnostics.render import render
from gamedsl.runtime.kernels import BACKENDS
from tests.properties.strategies import bold_files, features, game_files
from tests.properties.walking import (
    MOST,
    compiled,
    fates,
    finish,
    load,
    make,
    moves,
    nodes,
    same_where_it_looks_the_same,
    standing,
)

SAMPLE = 150
"""Files of which the shares are counted."""

OTHERS = [name for name in BACKENDS if name != "interpreter"]

randoms = st.integers(0, 10**6).map(Random)

few = settings(
    max_examples=settings().max_examples * 2 // 3, phases=[Phase.explicit, Phase.generate]
)
"""Without shrinking, which takes minutes: generated files are small as they are."""


@pytest.mark.slow
def test_generated_games_have_everything_often_enough(
    record_property: pytest.RecordProperty, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a fixed sample at least a fifth has each: chance, secrets, decisions at once, loops."""
    found: Counter[str] = Counter()

    @seed(20)
    @settings(max_examples=SAMPLE, phases=[Phase.generate])
    @given(game_files())
    def count(text: str) -> None:
        result = compiled(text)
        assert result.ir is not None, text + render(result.diagnostics)
        found.update(["games", *(n for n, there in vars(features(result.ir)).items() if there)])

    count()
    total = found.pop("games")
    shares = {name: found[name] / total for name in ("chance", "hidden", "simultaneous", "loops")}
    line = ", ".join(f"{name} {share:.0%}" for name, share in shares.items())
    with capsys.disabled():
        print(f"\n{total} generated games: {line}")
    for name, share in shares.items():
        record_property(name, share)
    assert min(shares.values()) >= 0.2


@few
@given(game_files())
def test_chance_is_exact_and_sums_to_one(text: str) -> None:
    """At each chance node probabilities sum to exactly 1, and so do those of all plays."""
    game = load(text)
    for name, there in vars(features(game.ir)).items():
        event(f"{name}: {there}")
    total, count = Fraction(0), 0
    for node in nodes(game.env()):
        count += 1
        episode = node.episode
        chance, asked = episode.chance, episode.decisions
        assert [bool(chance), bool(asked), episode.done].count(True) == 1
        if chance:
            assert sum(outcome.probability for outcome in chance) == 1
            assert min(outcome.probability for outcome in chance) > 0
            assert len({outcome.name for outcome in chance}) == len(chance)
        for decision in asked:
            assert len(set(decision.legal)) == len(decision.legal) > 0
            assert len(set(decision.labels)) == len(decision.labels) == len(decision.legal)
            assert set(decision.legal) <= set(game.env().action_names(decision.seat))
        if episode.done:
            total += node.probability
            assert set(episode.payoffs) == set(episode.rewards) == set(game.ir.seats)
            assert None not in episode.payoffs.values()
    assert total == 1 or count == MOST


@few
@given(game_files())
def test_histories_that_look_the_same_ask_the_same(text: str) -> None:
    """Within an information set: the same options, labels, prompt and view."""
    same_where_it_looks_the_same(load(text).env(run_seed=1), 300)


@few
@given(game_files())
def test_nobody_forgets(text: str) -> None:
    """What a seat has seen only grows, and what it chose is in it."""
    env = load(text).env()
    for node in nodes(env, 200):
        before = {d.seat: d for d in node.episode.decisions}
        for move, _ in moves(node.episode):
            after = node.episode.fork()
            make(after, move)
            for seat, decision in before.items():
                assert isinstance(move, dict)
                information = after.information(seat)
                assert f"{seat}.{decision.step}={move[seat]}" in information
                old = node.episode.information(seat).removesuffix("]")
                assert information.startswith(old)


@pytest.mark.parametrize("backend", OTHERS)
@few
@given(game_files())
def test_backends_agree_on_every_history(backend: str, text: str) -> None:
    """What is asked, drawn, known, seen, paid and trained on, in every history that is reached."""
    game = load(text)
    other = game.env(backend=backend)
    if backend == "generated":
        assert other.kernel.written
    pairs = zip(nodes(game.env(backend="interpreter"), 300), nodes(other, 300), strict=True)
    for ours, theirs in pairs:
        assert ours.path == theirs.path
        assert standing(ours.episode) == standing(theirs.episode)
        for seat in game.ir.seats:
            one, two = ours.episode.view(seat), theirs.episode.view(seat)
            assert (one.data, one.text, one.vector) == (two.data, two.text, two.vector)


@pytest.mark.parametrize("backend", OTHERS)
@few
@given(bold_files())
def test_backends_fail_alike(backend: str, text: str) -> None:
    """Where the rules have no value, at the same place and for the same reason."""
    try:
        game = load(text)
    except gamedsl.CompileError:  # it may have been seen already that there is no value
        reject()
    found = Counter(fates(game.env(backend="interpreter")))
    event(f"fails: {any(isinstance(fate, tuple) for fate in found)}")
    assert Counter(fates(game.env(backend=backend))) == found


@pytest.mark.parametrize("backend", OTHERS)
@few
@given(game_files(), st.integers(0, 2**63), st.integers(0, 10**6))
def test_backends_draw_alike(backend: str, text: str, number: int, choices: int) -> None:
    game = load(text)
    envs = [game.env(backend=name) for name in (backend, "interpreter")]
    played = [finish(env.reset(number), Random(choices)) for env in envs]
    assert played[0].transcript == played[1].transcript


@few
@given(game_files(), st.lists(st.integers(0, 10**6), min_size=2, max_size=2, unique=True))
def test_relabelling_leaves_the_tree_alone(text: str, runs: list[int]) -> None:
    game = load(text)
    first, second = (nodes(game.env(run_seed=run), 200) for run in runs)
    for ours, theirs in zip(first, second, strict=True):
        assert ours.path == theirs.path
        left, right = standing(ours.episode), standing(theirs.episode)
        for one, other in zip(left.pop("decisions"), right.pop("decisions"), strict=True):
            assert one[:-1] == other[:-1]
        assert left == right


@few
@given(game_files(), randoms, st.integers(0, 99))
def test_a_label_is_the_action_that_it_names(text: str, random: Random, run: int) -> None:
    env = load(text).env(run_seed=run)
    spoken, named = env.reset(seed=3), env.reset(seed=3)
    while not spoken.done:
        asked = spoken.decisions
        places = {d.seat: random.randrange(len(d.legal)) for d in asked}
        spoken.step({d.seat: f" {d.labels[places[d.seat]]}\n" for d in asked})
        named.step({d.seat: Action(d.legal[places[d.seat]]) for d in named.decisions})
    assert spoken.transcript == named.transcript


replies = st.one_of(
    st.text(max_size=8),
    st.text(alphabet="abcdeghiklmnoprstuxyz ,.()1234567890_", max_size=6),
    st.sampled_from(["", "\x00", "\ud800", "none", "0", "true", "()", "🂡", "ａｓｈ"]),
)


@few
@given(game_files(), randoms, replies, st.integers(0, 5))
def test_text_never_becomes_an_unnamed_action(
    text: str, random: Random, reply: str, change: int
) -> None:
    episode = load(text).env(run_seed=2).reset(seed=random.randrange(100))
    while not episode.done and random.random() < 0.7:
        make(episode, random.choice(moves(episode))[0])
    if episode.done:
        return
    asked = episode.decisions
    said = random.choice(asked[0].labels)
    reply = (reply, said + reply, said.upper(), said[:-1], said + said, f"`{said}`")[change]
    episode.step({asked[0].seat: reply, **{d.seat: d.labels[0] for d in asked[1:]}})
    if reply.strip() in asked[0].labels:
        assert not episode.failures
        return
    failed = episode.failures[asked[0].seat]
    assert isinstance(failed, ParseFailure)
    assert failed.text == reply
    assert episode.done
    assert all(paid is None for seat, paid in episode.payoffs.items() if seat != asked[0].seat)
    json.dumps(episode.transcript)


@few
@given(game_files(), st.integers(0, 2**63), st.integers(0, 10**6))
def test_equal_seeds_give_equal_transcripts(text: str, number: int, choices: int) -> None:
    """Whatever was played before in the same environment."""
    fresh = finish(load(text).env(run_seed=5).reset(number), Random(choices))
    env = load(text).env(run_seed=5)
    finish(env.reset(number + 1), Random(choices + 1))
    again = finish(env.reset(number), Random(choices))
    assert json.dumps(fresh.transcript) == json.dumps(again.transcript)


@few
@given(game_files(), st.integers(0, 99), randoms)
def test_forks_go_their_own_ways(text: str, number: int, random: Random) -> None:
    episode = load(text).env().reset(number)
    while not episode.done and random.random() < 0.6:
        make(episode, random.choice(moves(episode))[0])
    before, told = standing(episode), json.dumps(episode.transcript)
    fork, rest = episode.fork(), random.randrange(99)
    ended = finish(fork, Random(rest)).transcript
    assert standing(episode) == before
    assert json.dumps(episode.transcript) == told
    assert finish(episode, Random(rest)).transcript == ended


def test_row_shares_match_played_games() -> None:
    """The walk meets chance and decisions at once where the program has them."""
    seen: Counter[str] = Counter()

    @seed(21)
    @settings(max_examples=20, phases=[Phase.generate])
    @given(game_files())
    def look(text: str) -> None:
        game: gamedsl.Game = load(text)
        for node in nodes(game.env(), 100):
            seen["chance"] += len(node.episode.chance) > 1
            seen["at once"] += len(node.episode.decisions) > 1

    look()
    assert min(seen["chance"], seen["at once"]) > 0
