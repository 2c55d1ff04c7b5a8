"""Games in tinker-cookbook: its own rollouts, advantages and training data, with a stand-in for
the sampling client of its service."""

from __future__ import annotations

import asyncio
import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.peers import running
from tests.peers.plays import GAMES, SEEDS, Play, loaded, played, speaking_game

with running.needed("tinker"):
    import tinker
    from tinker_cookbook.completers import TinkerTokenCompleter
    from tinker_cookbook.renderers import get_renderer
    from tinker_cookbook.rl.data_processing import assemble_training_data, compute_advantages
    from tinker_cookbook.rl.rollouts import do_group_rollout

    from gamedsl.export.tinker import DealDataset, DealGroup, open_table, table_of
    from gamedsl.policies.random_models import build_tiny

LOGPROB = -0.5


@pytest.fixture(scope="module")
def renderer() -> Any:
    return get_renderer("role_colon", build_tiny()[1])


class Sampler:
    """Stands in for `tinker.SamplingClient`: writes the script's reply to each prompt of plays, as
    the renderer ends messages, and fails at any other prompt. `replies` takes its turn where one
    prompt has several replies."""

    finish = "stop"

    def __init__(self, renderer: Any, plays: list[Play]) -> None:
        self.renderer = renderer
        self.replies: dict[tuple[int, ...], list[str]] = {}
        for turn in (turn for play in plays for turn in play.turns):
            self.add(turn.messages, turn.reply)

    def add(self, messages: Any, *replies: str) -> None:
        self.replies[tokens_of(self.renderer, messages)] = list(replies)

    async def sample(
        self, prompt: tinker.ModelInput, num_samples: int, sampling_params: Any
    ) -> Any:
        assert sampling_params.stop == self.renderer.get_stop_sequences()
        found = self.replies[tuple(prompt.to_ints())]
        reply = found.pop(0) if len(found) > 1 else found[0]
        tokens = written(self.renderer, reply)
        sequence = SimpleNamespace(
            tokens=tokens,
            logprobs=[LOGPROB] * len(tokens),
            stop_reason=self.finish,
            sequence_id=None,
        )
        return SimpleNamespace(sequences=[sequence], prompt_cache_hit_tokens=0)

    sample_async = sample  # as it is called in 0.5


def tokens_of(renderer: Any, messages: Any) -> tuple[int, ...]:
    return tuple(renderer.build_generation_prompt(messages).to_ints())


def written(renderer: Any, reply: str) -> list[int]:
    return list(renderer.tokenizer.encode(f" {reply}\n\nUser:", add_special_tokens=False))


def rollout(group: DealGroup, sampler: Sampler) -> Any:
    return asyncio.run(do_group_rollout(group, TinkerTokenCompleter(sampler, max_tokens=64)))


def seats_of(found: Any, held: tuple[str, ...]) -> list[tuple[str, Any, float, dict[str, float]]]:
    rows = zip(found.trajectories_G, found.final_rewards_G, found.metrics_G, strict=True)
    return [(held[place % len(held)], *row) for place, row in enumerate(rows)]


@pytest.mark.parametrize("name", GAMES)
def test_plays_agree_with_the_runtime(name: str, renderer: Any) -> None:
    """Prompts, replies, refusals, forfeits, payoffs and rewards of 50 deals."""
    table = table_of(name)
    held, role_of = open_table(table).held, loaded(name).ir.role_of
    refused = 0
    for seed in SEEDS:
        ours = played(name, seed, renderer.tokenizer)
        group = DealGroup(table, seed, 1, renderer)
        for seat, trajectory, reward, metrics in seats_of(
            rollout(group, Sampler(renderer, [ours])), held
        ):
            asked = [t for t in trajectory.transitions if t.ac.tokens]
            assert [(tuple(t.ob.to_ints()), t.ac.tokens) for t in asked] == [
                (tokens_of(renderer, turn.messages), written(renderer, turn.reply))
                for turn in ours.turns_of(seat)
            ]
            role, own = role_of[seat], ours.rewards.get(seat)
            assert metrics.get(f"{role}/reward") == (None if own is None else float(own))
            paid = ours.payoffs.get(seat)
            assert metrics.get(f"{role}/payoff") == (None if paid is None else float(paid))
            assert metrics[f"{role}/trains"] == (own is not None)
            assert metrics[f"{role}/forfeited"] == (seat in ours.failures)
            assert metrics[f"{role}/refused"] == sum(who == seat for who, _ in ours.refused)
            assert reward == 0, "the only play is its own baseline"
        refused += len(ours.refused)
    assert refused


def hunt(renderer: Any, *pairs: tuple[str, str]) -> tuple[Any, Sampler]:
    """A group of stag hunts in which the hunters choose these, and the sampler that says so."""
    sampler = Sampler(renderer, [])
    for place, decision in enumerate(loaded("stag_hunt").env().reset(seed=0).decisions):
        label = dict(zip(decision.legal, decision.labels, strict=True))
        messages = [{"role": role, "content": text} for role, text in decision.messages]
        sampler.add(messages, *(label.get(pair[place], "?") for pair in pairs))
    return DealGroup(table_of("stag_hunt"), 0, len(pairs), renderer), sampler


def test_each_role_has_its_own_baseline(renderer: Any) -> None:
    """Advantages by the cookbook are ours: a reward less the mean of its seat."""
    pairs = ("stag", "stag"), ("stag", "hare"), ("hare", "hare"), ("stag", "stag")
    found = rollout(*hunt(renderer, *pairs))
    earned = {
        seat: [m[k] for s, _, _, m in seats_of(found, ("hunter_1", "hunter_2")) if s == seat
               for k in m if k.endswith("/reward")]
        for seat in ("hunter_1", "hunter_2")
    }  # fmt: skip
    (advantages,) = compute_advantages([found])
    for place, values in enumerate(earned.values()):
        assert len(set(values)) > 1
        mean = sum(values) / len(values)
        assert advantages[place::2].tolist() == pytest.approx([v - mean for v in values], abs=1e-6)


def test_reply_that_was_cut_off_is_refused(renderer: Any) -> None:
    group, sampler = hunt(renderer, ("stag", "stag"))
    sampler.finish = "length"
    found = rollout(group, sampler)
    for seat, _, _, metrics in seats_of(found, ("hunter_1", "hunter_2")):
        assert metrics[f"{seat}/refused"] == 1


def test_limits_count_tokens_of_the_renderer(renderer: Any, tmp_path: Path) -> None:
    """A letter is a token of the tiny model: 29 fit 40, and not 20."""
    reply = "five words with many letters."
    for limit, refused in ((40, 0), (20, 1)):
        game = speaking_game(tmp_path, limit)
        sampler = Sampler(renderer, [])
        (decision,) = game.env().reset(seed=0).decisions
        messages = [{"role": role, "content": text} for role, text in decision.messages]
        sampler.add(messages, reply)
        found = rollout(DealGroup(table_of(str(game.files[0])), 0, 1, renderer), sampler)
        assert found.metrics_G[0]["speaker/refused"] == refused


def test_innocent_tokens_are_masked(renderer: Any) -> None:
    pairs = ("stag", "stag"), ("stag", "?"), ("hare", "stag")
    found = rollout(*hunt(renderer, *pairs))
    advantages = compute_advantages([found])
    assert advantages[0][2] == 0, "the innocent hunter of the second play"
    assert advantages[0][3] < 0, "the guilty one"
    data, places = assemble_training_data([found], advantages)
    masks = {
        place["traj_idx"]: datum.loss_fn_inputs["mask"].to_torch()
        for datum, place in zip(data, places, strict=True)
    }
    assert masks[2].sum() == 0
    for trajectory in (0, 1, 3, 4, 5):
        tokens = found.trajectories_G[trajectory].transitions[0].ac.tokens
        assert masks[trajectory].sum() == len(tokens)
        assert masks[trajectory][-len(tokens) :].all()
    first = data[0].loss_fn_inputs
    reply = found.trajectories_G[0].transitions[0].ac.tokens
    assert first["target_tokens"].to_torch()[-len(reply) :].tolist() == reply
    assert first["logprobs"].to_torch()[-len(reply) :].unique().tolist() == [LOGPROB]


def test_batches_are_deals_in_order(renderer: Any) -> None:
    data = DealDataset(table_of("kuhn_poker"), renderer, deals=3, plays=2, batches=2, first_seed=5)
    assert [[group.seed for group in data.get_batch(i)] for i in range(len(data))] == [
        [5, 6, 7], [8, 9, 10],
    ]  # fmt: skip
    group = data.get_batch(0)[0]
    assert len(asyncio.run(group.make_envs())) == 4


def test_tables_can_be_sent_to_processes() -> None:
    table = table_of("guess_in_words", held=["guesser"], params={"top": 3, "tries": 2})
    assert open_table(pickle.loads(pickle.dumps(table))).game.params == {"top": 3, "tries": 2}


def test_commands_of_a_package_run(tmp_path: Path) -> None:
    """The training script up to its configuration: training needs the service."""
    folder = running.exported("stag_hunt", "tinker", tmp_path / "package")
    _, show, train = running.readme_commands(folder)
    running.build(folder, tmp_path / "bare")
    assert "2 environments a play" in running.run(show, folder)
    assert train[1] == "train.py"
    code = (
        "import sys, chz, train; config = train.build_config(chz.entrypoint(train.Settings));"
        "print(config.dataset_builder.batches, config.model_name, config.renderer_name)"
    )
    printed = running.run(["python", "-c", code, *train[2:]], folder)
    assert printed == "100 Qwen/Qwen3-4B-Instruct-2507 qwen3_instruct\n"
