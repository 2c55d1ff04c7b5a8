"""Games in TRL's `GRPOTrainer`: its own loop generates, scores and updates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.peers import by_hand, running
from tests.peers.plays import (
    GAMES,
    SEEDS,
    Play,
    chat_of,
    loaded,
    played,
    replayed,
    reply_to,
    speaking_game,
)

with running.needed("trl"):
    import torch
    import trl
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer
    from trl.chat_template_utils import add_response_schema

    from gamedsl.export.trl import CALL_ACT, OVER, Rollout, seat_environment, seat_rows
    from gamedsl.policies.random_models import build_tiny

GROUP = 2


def trainer_of(rollout: Rollout, folder: Path, deals: int, **settings: Any) -> GRPOTrainer:
    model, tokenizer = build_tiny()
    arguments = GRPOConfig(
        output_dir=str(folder), use_cpu=True, report_to="none", shuffle_dataset=False,
        num_generations=GROUP, per_device_train_batch_size=GROUP * rollout.rows_per_deal,
        max_completion_length=8, save_strategy="no", **settings,
    )  # fmt: skip
    return GRPOTrainer(
        model, rollout.reward, arguments, Dataset.from_list(rollout.rows(deals)),
        processing_class=tokenizer, rollout_func=rollout,
    )  # fmt: skip


def scripted(trainer: GRPOTrainer, play: Play) -> None:
    """Has the trainer's model write the script's replies to the prompts of a play, and fail at any
    other prompt."""
    tokenizer = trainer.processing_class
    said = {
        tokenizer.apply_chat_template(t.messages, add_generation_prompt=True, tokenize=False):
        t.reply for t in play.turns
    }  # fmt: skip

    def generate(prompts: Any, images: Any, fields: Any, number: int) -> Any:
        texts = [said[tokenizer.decode(ids)] for ids in prompts]
        ids = [tokenizer.encode(t, add_special_tokens=False) for t in texts]
        return [[*one, tokenizer.eos_token_id] for one in ids], [[-1.0] * (len(o) + 1) for o in ids]

    trainer._generate_single_turn = generate


@pytest.mark.parametrize("name", GAMES)
def test_plays_agree_with_the_runtime(name: str, tmp_path: Path) -> None:
    """Prompts, replies, refusals, forfeits and rewards of 50 deals, through the trainer's scoring;
    rows without a reward get no advantage, and count in no baseline."""
    rollout = Rollout(loaded(name))
    trainer = trainer_of(rollout, tmp_path, len(SEEDS))
    kept: list[dict[str, Any]] = []
    call, refused, void = rollout.__call__, 0, 0
    trainer.rollout_func = lambda prompts, it: kept.append(call(prompts, it)) or kept[-1]
    decode = trainer.processing_class.decode
    for seed in SEEDS:
        ours = played(name, seed, trainer.processing_class)
        rows = rollout.rows(1, seed)
        scripted(trainer, ours)
        inputs = [dict(row) for row in rows for _ in range(GROUP)]
        scored = trainer._generate_and_score_completions(inputs)
        found = kept.pop()
        turns = {seat: ours.turns_of(seat) for seat in rollout.turns}
        for place, row in enumerate(inputs):
            seat, number = row["prompt"].split()[2], int(row["prompt"].split()[3])
            reward = ours.rewards[seat]
            reached = number < len(turns[seat])
            expected = float(reward) if reached and reward is not None else None
            assert found["reward"][place] == expected
            assert set(found["env_mask"][place]) == {int(reached)}
            assert found["refused"][place] == sum(who == seat for who, _ in ours.refused)
            assert found["forfeited"][place] == (seat in ours.failures)
            if expected is None:
                assert scored["advantages"][place] == 0
            if reached:
                turn = turns[seat][number]
                asked = trainer.processing_class.apply_chat_template(
                    turn.messages, add_generation_prompt=True, tokenize=False
                )
                assert decode(found["prompt_ids"][place]) == asked
                text = decode(found["completion_ids"][place], skip_special_tokens=True)
                assert text == turn.reply
        refused, void = refused + len(ours.refused), void + bool(ours.void)
    assert refused


def test_innocent_row_is_in_no_baseline(tmp_path: Path) -> None:
    """Two plays of a deal: a seat's reward in one, and none in the other, where it is innocent."""
    rollout = Rollout(loaded("stag_hunt"))
    trainer = trainer_of(rollout, tmp_path, 1)
    tokenizer, labels = trainer.processing_class, loaded("stag_hunt").env().reset().decisions[0]
    stag = labels.labels[labels.legal.index("stag")]

    def generate(prompts: Any, images: Any, fields: Any, number: int) -> Any:
        texts = [stag, stag, stag, "?"]  # of the seats of the first play, then of the second
        assert len(prompts) == 4
        return [tokenizer.encode(t, add_special_tokens=False) for t in texts], None

    trainer._generate_single_turn = generate
    inputs = [dict(row) for row in rollout.rows(1) for _ in range(GROUP)]
    scored = trainer._generate_and_score_completions(inputs)
    first, innocent, second, guilty = scored["advantages"].tolist()
    assert (first, innocent) == (0.0, 0.0)
    assert second > 0 > guilty


def words_of(
    tmp_path: Path, reply: str, *, ended: bool, room: int, tokens: int = 40
) -> tuple[dict[str, Any], int]:
    """What the rollout gives TRL for one reply to a step with a limit of `tokens`, and its size."""
    rollout = Rollout(speaking_game(tmp_path, tokens))
    trainer = trainer_of(rollout, tmp_path, 1)
    trainer.max_completion_length = room
    tokenizer = trainer.processing_class
    ids = tokenizer.encode(reply, add_special_tokens=False)
    said = [*ids, tokenizer.eos_token_id] if ended else ids
    trainer._generate_single_turn = lambda prompts, *_: ([said] * len(prompts), None)
    return rollout([row["prompt"] for row in rollout.rows(1)], trainer), len(ids)


def test_limits_count_tokens_of_the_trained_model(tmp_path: Path) -> None:
    """A letter is a token of the tiny model: five words of 29 tokens fit 40 and not 20."""
    reply = "five words with many letters."
    fits, size = words_of(tmp_path, reply, ended=True, room=64)
    assert (size, fits["refused"]) == (29, [0])
    over, _ = words_of(tmp_path, reply, ended=True, room=64, tokens=20)
    assert (over["refused"], over["forfeited"]) == ([1], [1])


def test_completion_that_was_cut_off_is_refused(tmp_path: Path) -> None:
    cut, size = words_of(tmp_path, "a pitch that stops in", ended=False, room=21)
    assert (size, cut["refused"], cut["forfeited"]) == (21, [1], [1])
    ended, _ = words_of(tmp_path, "a pitch that ends in", ended=True, room=21)
    assert ended["refused"] == [0], "the last token that there was room for ends it"
    stopped, _ = words_of(tmp_path, "a pitch", ended=False, room=21)
    assert stopped["refused"] == [0], "a string of the settings ended it"


def test_seat_counts_tokens_of_the_tokenizer_that_is_given(tmp_path: Path) -> None:
    game, reply = speaking_game(tmp_path, 20), "five words with many letters."
    counted = seat_environment(game, tokenizer=build_tiny()[1])()
    counted.reset(seed=0)
    assert counted.act(reply) == OVER
    assert counted._play.episode.failures["speaker"].reason == "tokens"
    by_words = seat_environment(game)()
    by_words.reset(seed=0)
    by_words.act(reply)
    assert not by_words._play.episode.failures


def test_two_steps_of_training_change_the_model(tmp_path: Path) -> None:
    trainer = trainer_of(Rollout(loaded("stag_hunt")), tmp_path, 2, max_steps=2, learning_rate=1e-2)
    before = {n: p.detach().clone() for n, p in trainer.model.named_parameters()}
    call, tokenizer = trainer._generate_single_turn, trainer.processing_class
    decision = loaded("stag_hunt").env().reset().decisions[0]
    stag = decision.labels[decision.legal.index("stag")]

    def varied(prompts: Any, images: Any, fields: Any, number: int) -> Any:
        """The model's own replies, but for the first play's: random weights write no label."""
        written, logprobs = call(prompts, images, fields, number)
        said = [*tokenizer.encode(stag, add_special_tokens=False), tokenizer.eos_token_id]
        return [said, said, *written[2:]], logprobs

    trainer._generate_single_turn = varied
    assert trainer.train().global_step == 2
    changed = [n for n, p in trainer.model.named_parameters() if not torch.equal(p, before[n])]
    assert changed
    assert any("hunter_1/reward" in entry for entry in trainer.state.log_history)


def test_commands_of_a_package_run(tmp_path: Path) -> None:
    folder = running.exported("stag_hunt", "trl", tmp_path / "package")
    _, show, train = running.readme_commands(folder)
    running.build(folder, tmp_path / "bare")
    assert "stag_hunt 0 hunter_1 0\nstag_hunt 0 hunter_2 0\n2 rows a deal" in running.run(
        show, folder
    )
    model, tokenizer = build_tiny()
    model.save_pretrained(folder / "tiny")
    tokenizer.save_pretrained(folder / "tiny")
    assert train[-4:] == ["--model", "MODEL", "--steps", "100"]
    small = ["--model", "tiny", "--steps", "2", "--deals", "1", "--plays", "2", "--tokens", "4"]
    running.run([*train[:-4], *small], folder, CUDA_VISIBLE_DEVICES="")
    assert list((folder / "output").glob("checkpoint-2"))


@pytest.mark.parametrize("name", GAMES)
def test_seats_agree_with_the_runtime(name: str) -> None:
    """Prompts, refusals, forfeits and rewards of 50 plays of one seat, by calls of the tool."""
    table = seat_environment(loaded(name))()
    seat, refused = table._table.held[0], 0
    for seed in SEEDS:
        shown, prompts = table.reset(seed=seed, prompt="unused"), []
        while shown != OVER:
            decision = table._play.waiting[0]
            contents = [one["content"] for one in chat_of(decision)]
            assert shown == "\n\n".join([*contents, CALL_ACT])
            prompts.append(chat_of(decision))
            shown = table.act(reply_to(decision, seed))
        ours = replayed(name, table._play.episode, seat)
        assert prompts == [turn.messages for turn in ours.turns]
        reward = ours.rewards[seat]
        assert table.get_reward() == (None if reward is None else float(reward))
        assert table.act("late") == OVER
        refused += len(ours.refused)
    assert refused


def test_unfinished_play_is_forfeited() -> None:
    table = seat_environment(loaded("kuhn_poker"), seat="first")()
    table.reset(seed=0)
    reward = table.get_reward()
    assert "first" in table._play.episode.failures
    assert reward == float(table._play.episode.rewards["first"])


def test_trainer_plays_a_seat_by_tool_calls(tmp_path: Path) -> None:
    """TRL's own loop: of a group, one completion hunts by a call, and one makes no call."""
    model, tokenizer = build_tiny()
    templates = Path(trl.__file__).parent / "chat_templates"
    tokenizer.chat_template = (templates / "qwen3_instruct_2507.jinja").read_text()
    tokenizer = add_response_schema(tokenizer)
    factory = seat_environment(loaded("stag_hunt"), seat="hunter_1")
    arguments = GRPOConfig(
        output_dir=str(tmp_path), use_cpu=True, report_to="none", num_generations=GROUP,
        per_device_train_batch_size=GROUP, max_completion_length=512, save_strategy="no",
    )  # fmt: skip
    trainer = GRPOTrainer(
        model, args=arguments, train_dataset=Dataset.from_list(seat_rows(1)),
        processing_class=tokenizer, environment_factory=factory,
    )  # fmt: skip
    decision = loaded("stag_hunt").env().reset(seed=0).decisions[0]
    stag = decision.labels[decision.legal.index("stag")]
    call = json.dumps({"name": "act", "arguments": {"reply": stag}})
    scripts = [[f"<tool_call>\n{call}\n</tool_call><|im_end|>", "no call<|im_end|>"], ["Done."]]

    def generate(prompts: Any, images: Any, fields: Any, *args: Any, **more: Any) -> Any:
        texts = scripts.pop(0)
        ids = [tokenizer.encode(t, add_special_tokens=False) for t in texts]
        assert len(ids) == len(prompts)
        return ids, None

    trainer._generate_single_turn = generate
    inputs = [dict(row) for row in seat_rows(1) for _ in range(GROUP)]
    scored = trainer._generate_and_score_completions(inputs)
    hunted, silent = trainer.environments
    assert hunted._play.episode.transcript["steps"][0]["choices"]["hunter_1"] == "stag"
    assert "hunter_1" in silent._play.episode.failures
    first, second = scored["advantages"].tolist()
    assert first > 0 > second


def test_kuhn_by_hand_pays_alike() -> None:
    made = by_hand.module("kuhn_in_trl")

    def pays(cards: tuple[str, ...], play: str) -> list[float]:
        hand = made.Hand(0)
        hand.cards = list(cards)
        for letter in play:
            assert not hand.over
            hand.answer([1], [2], [0.0], by_hand.WORDS[letter])
        assert hand.over
        assert [sum(mask) for mask in hand.mask] == [len(play[0::2]), len(play[1::2])]
        return list(hand.paid())

    by_hand.check(pays)
