"""Seconds of one training step against TRL's `GRPOTrainer`, and against the machine's own limit.

    pip install -c constraints.txt -e ".[bench]"
    python benchmarks/train_step.py --out benchmarks/results/train_step.json
    python benchmarks/train_step.py --game kuhn_poker --out benchmarks/results/train_step.json

Both train the same model with the same LoRA by GRPO, in one process, one after the other: the same
prompts, dtype and threads, as many completions a step (`GAMES`), temperature 1, and no reference
model. TRL generates with transformers and gets its fastest batch size of those tried. A row of its
data set is one prompt, and each completion is played on in our runtime, which pays it (`Payer`).

- Games with listed choices: TRL generates as many tokens as a label has, and ours scores labels.
  The adapted layers are the top ones, and what those below give for a prompt is kept from step to
  step, for training cannot change it. `--no-cache` computes it every time.
- The game in words: both decode, and both train on the tokens that were drawn.

Also printed: how our step grows to `--many` games, and its ratio to a floor: distinct tokens x 6 x
parameters, over the rate of a large matrix product measured in the same run. In words the tokens
are those of prompts and replies, and a further 2 x parameters each is for decoding.

Where `--out` is there already, games that are not run again stay.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as `gamedsl train` does, for both

import torch
from shared import command, keep, machine

import gamedsl
from gamedsl.diagnostics import Problems
from gamedsl.engine.walk import JointNode, walk
from gamedsl.prompting.replies import ParseFailure
from gamedsl.recipe.resolve import override, resolve
from gamedsl.runtime import Action, Decision, Env, Episode
from gamedsl.training import loop
from gamedsl.training.engine import open_policy
from gamedsl.training.loop import train
from gamedsl.training.runfolder import create
from gamedsl.training.trajectories import Batch

LINEAR = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
HERE = Path(__file__).parent
MOST_HISTORIES = 100_000
DEALS = 64
"""Deals of a game in words whose prompts TRL is given."""


class Case(NamedTuple):
    """A game, and a step of about as many completions on both sides: `games` games of ours, and
    `prompts` prompts of TRL with `generations` completions each."""

    file: str | Path
    games: int
    prompts: int
    generations: int
    settings: Mapping[str, Any]


PLAIN = {"method": "grpo", "adapters": "shared"}
BY_PROMPT = {**PLAIN, "baseline": "information_set"}
"""Samples are compared with those of their own prompt, as TRL's are."""
GAMES = {
    "stag_hunt": Case("stag_hunt", 16, 2, 16, PLAIN),
    "kuhn_poker": Case("kuhn_poker", 12, 12, 2, {**BY_PROMPT, "group_by": "deal"}),
    "lewis_32": Case(HERE / "lewis_32.yaml", 6, 6, 2, {**BY_PROMPT, "group_by": "deal"}),
    "debate_24": Case(HERE / "debate_24.yaml", 16, 4, 8, {**PLAIN, "group_size": 8}),
}


def main() -> None:
    parser = command(__doc__)
    parser.add_argument("--game", nargs="*", choices=GAMES, default=list(GAMES))
    parser.add_argument("--many", type=int, default=8192, help="games of a large step of ours")
    parser.add_argument("--steps", type=int, default=5, help="measured steps of ours")
    parser.add_argument("--peer-steps", type=int, default=3, help="measured steps of TRL")
    parser.add_argument(
        "--peer-batch", type=int, nargs="*", default=[8, 16],
        help="batches tried, a step each if there are several; rounded down to divide the step",
    )  # fmt: skip
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--no-cache", action="store_true", help="run all layers in every step")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)

    known = json.loads(args.out.read_text("utf-8")) if args.out and args.out.exists() else {}
    told = machine(f"{args.threads} threads", f"torch {torch.__version__}")
    found: dict[str, Any] = {"model": args.model, "games": known.get("games", {})}
    for name in args.game:
        print(f"{name}; {told}", flush=True)
        found["games"][name] = {"machine": told, **measured(GAMES[name], args)}
        found["games"] = {one: found["games"][one] for one in GAMES if one in found["games"]}
        keep(found, args.out)


def measured(case: Case, args: Any) -> dict[str, Any]:
    """Returns what a step of a game takes on both sides."""
    found: dict[str, Any] = {"matmul_gflops": matmul_rate() / 1e9}
    ours = Ours(args.model, case, case.games, args.steps, not args.no_cache)
    found["ours"] = ours.measure()
    found["floor_seconds"] = ours.flop / (found["matmul_gflops"] * 1e9)
    report("ours", found["ours"])
    print(
        f"  {ours.tokens:.0f} distinct tokens, {ours.parameters / 1e6:.1f}M parameters, "
        f"{found['matmul_gflops']:.0f} GFLOP/s: floor {found['floor_seconds']:.2f} s; ours takes "
        f"{found['ours']['median'] / found['floor_seconds']:.2f}x"
    )
    if not ours.in_words:
        many = Ours(args.model, case, args.many, args.steps, not args.no_cache)
        found["ours_many"] = many.measure()
        report("ours", found["ours_many"])
        found["growth"] = found["ours_many"]["cpu_median"] / found["ours"]["cpu_median"]
    if not args.no_peer:
        found["peer"] = peer(ours, args.peer_batch, args.peer_steps)
        report(f"TRL {found['peer']['version']}", found["peer"])
        for key, median in (("ratio", "median"), ("cpu_ratio", "cpu_median")):
            found[key] = found["peer"][median] / found["ours"][median]
        print(f"TRL takes {found['ratio']:.1f} times as long, {found['cpu_ratio']:.1f} of CPU time")
    return found


def report(name: str, times: Mapping[str, Any]) -> None:
    seconds = ", ".join(f"{s:.2f}" for s in times["seconds"])
    step = f"{times['completions']:.0f} completions a step"
    print(f"{name}, {step}: {times['median']:.2f} s (median of {seconds})", flush=True)


def matmul_rate() -> float:
    """FLOP/s of the best of a few large float32 matrix products."""
    best = 0.0
    for size in (1024, 2048):
        a, b = torch.randn(size, size), torch.randn(size, size)
        for _ in range(8):
            start = time.perf_counter()
            a @ b
            best = max(best, 2 * size**3 / (time.perf_counter() - start))
    return best


class Clock:
    """Seconds between marks, and CPU seconds, which other processes do not lengthen."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.cpu_seconds: list[float] = []

    def start(self) -> None:
        self._begun = time.perf_counter(), time.process_time()

    def mark(self) -> None:
        self.seconds.append(time.perf_counter() - self._begun[0])
        self.cpu_seconds.append(time.process_time() - self._begun[1])

    def times(self, first: int = 1) -> dict[str, Any]:
        """Returns the times of all steps but the `first` ones."""
        return {
            "seconds": self.seconds[first:], "median": statistics.median(self.seconds[first:]),
            "cpu_median": statistics.median(self.cpu_seconds[first:]),
        }  # fmt: skip


class Ours:
    """`gamedsl train` from Python: the same loop with run folder, checkpoints and transcripts."""

    def __init__(self, model: str, case: Case, games: int, steps: int, cache: bool) -> None:
        self.case, self.game = case, gamedsl.load(case.file)
        settings = {"model": model, "games": games, "steps": steps + 1, **case.settings}
        problems = Problems()
        self.recipe = resolve(self.game.ir, (override(*s) for s in settings.items()), problems)
        if problems.errors:
            raise SystemExit(f"{case.file} takes no such recipe: {problems.errors}")
        self.in_words = self.recipe.in_words(self.game.ir)
        self.policy = open_policy(self.game, self.recipe, lambda text: None)
        if not cache:
            self.policy._network.cut(0)
        self.env = self.game.env(run_seed=self.recipe.seed, tokenizer=self.policy.tokenizer)
        self.parameters = sum(p.numel() for p in self.policy._network.model.parameters())
        self.clock = Clock()
        self._batches: list[dict[str, int]] = []

    def measure(self) -> dict[str, Any]:
        """Seconds of each step but the first, everything between two steps' ends included."""

        def counting(*given: Any, **named: Any) -> Batch:
            batch = play(*given, **named)
            self._batches.append(counts(batch))
            return batch

        play = loop.play
        with (
            tempfile.TemporaryDirectory() as folder,
            patch("gamedsl.training.loop.play", counting),
        ):
            run = create(
                self.game, self.recipe, Path(folder) / "run", {}, self.policy.tokenizer,
                torch.get_num_threads(),
            )  # fmt: skip
            train(self.game, self.recipe, run, self.policy, observers=[self])
        return {
            "games": self.recipe.games, **{key: self._mean(key) for key in self._batches[0]},
            **self.clock.times(),
        }  # fmt: skip

    @cached_property
    def asked(self) -> list[Asked]:
        """The prompts of the game, which TRL trains on too."""
        return asked_in(self.env, self.recipe.seed, DEALS)

    @property
    def tokens(self) -> float:
        """Distinct tokens of a step, on average."""
        return self._mean("tokens")

    @property
    def flop(self) -> float:
        """The least operations of a step; see the module docstring."""
        return self.tokens * (8 if self.in_words else 6) * self.parameters

    def _mean(self, key: str) -> float:
        return statistics.mean(one[key] for one in self._batches[1:])

    def start(self, record: dict[str, Any]) -> None:
        self.clock.start()

    def step(self, record: dict[str, Any]) -> None:
        self.clock.mark()
        self.clock.start()

    def progress(self, record: dict[str, Any]) -> None:
        pass

    def end(self, record: dict[str, Any]) -> None:
        pass


def counts(batch: Batch) -> dict[str, int]:
    """Counts what a step of ours is made of: the decisions that are trained, their prompts, and
    distinct tokens; in words also the tokens of replies."""
    written = [one.written for _, one in batch.samples if one.written is not None]
    found = {
        "completions": sum(batch.trajectories[at].games for at, _ in batch.samples),
        "prompts": len(batch.queries), "tokens": batch.tokens,
    }  # fmt: skip
    if not written:
        return found
    texts = {(*one.prompt_ids, *one.reply_ids) for one in written}
    beginnings = {text[:end] for text in texts for end in range(1, len(text) + 1)}
    return found | {
        "prompts": len({one.prompt_ids for one in written}), "tokens": len(beginnings),
        "reply_tokens": sum(len(one.reply_ids) for one in written),
    }  # fmt: skip


class Asked(NamedTuple):
    """A decision, and histories in which its seat is asked for it."""

    decision: Decision
    histories: list[Episode]


def asked_in(env: Env, seed: int, deals: int) -> list[Asked]:
    """Returns all decisions of a game with listed choices, in random order; of a game in words
    those at the start of so many deals."""
    found: dict[str, Asked] = {}
    if env.ir.open:
        starts = [env.reset(seed=number) for number in range(deals)]
        return [Asked(decision, [start]) for start in starts for decision in start.decisions]
    for node in walk(env.reset(seed=seed, chance="asked"), MOST_HISTORIES, "depth"):
        for decision in node.point.decisions if isinstance(node, JointNode) else ():
            one = found.setdefault(decision.information_set, Asked(decision, []))
            one.histories.append(node.point.resumed())
    rows = list(found.values())
    random.Random(seed).shuffle(rows)
    return rows


class Payer:
    """The game as TRL wants it: a reward function. A completion is given in one of the histories
    that its prompt is asked in, after one another. The other seats, and later decisions, take the
    completions to their own prompts in turn, or where there are none, any choice. A text that
    reached `limit` tokens without an end is refused, as it is when ours trains."""

    __name__ = "payoff"

    def __init__(self, rows: Sequence[Asked], limit: int, stops: Sequence[int]) -> None:
        self._rows, self._limit, self._stops = rows, limit, frozenset(stops)
        self._random = random.Random(0)
        self.reply_tokens: list[int] = []

    def __call__(
        self, completions: Sequence[Any], row: Sequence[int],
        completion_ids: Sequence[Sequence[int]] = (), **columns: Any,
    ) -> list[float | None]:  # fmt: skip
        replies: list[str | ParseFailure] = [one[0]["content"] for one in completions]
        if self._rows[0].decision.legal == ():
            for at, ids in enumerate(completion_ids):
                if len(ids) >= self._limit and ids[-1] not in self._stops:
                    replies[at] = ParseFailure("truncated", str(replies[at]))
        self.reply_tokens.append(sum(map(len, completion_ids)))
        by_row: dict[int, list[str | ParseFailure]] = defaultdict(list)
        for number, reply in zip(row, replies, strict=True):
            by_row[number].append(reply)
        others = {
            self._rows[number].decision.messages: itertools.cycle(said)
            for number, said in by_row.items()
        }
        histories = {number: itertools.cycle(self._rows[number].histories) for number in by_row}
        return [
            self._paid(self._rows[number], next(histories[number]), reply, others)
            for number, reply in zip(row, replies, strict=True)
        ]

    def _paid(
        self, row: Asked, history: Episode, reply: str | ParseFailure,
        others: Mapping[Any, Iterator[str | ParseFailure]],
    ) -> float | None:  # fmt: skip
        """Returns what a reply earns its seat, None where another's forfeit makes it void."""
        played, seat = history.fork(), row.decision.seat

        def given(decision: Decision) -> Action | str | ParseFailure:
            if decision.messages in others:
                return next(others[decision.messages])
            return Action(self._random.choice(decision.legal))

        played.step({d.seat: reply if d.seat == seat else given(d) for d in played.decisions})
        while not played.done:
            played.step({d.seat: given(d) for d in played.decisions})
        amount = played.rewards[seat]
        return None if amount is None else float(amount)


def peer(ours: Ours, batches: Sequence[int], steps: int) -> dict[str, Any]:
    """TRL's step: one at each batch size, if there are several, then more at the fastest, which
    count."""
    import trl

    case = ours.case
    completions = case.prompts * case.generations
    sizes = {max(n for n in range(1, most + 1) if completions % n == 0) for most in batches}
    tried: dict[int, float] = {}
    for batch in sorted(sizes) if len(sizes) > 1 else ():
        tried[batch] = peer_steps(ours, batch, 1)[0].times(0)["median"]
        print(f"  TRL with batch {batch}: {tried[batch]:.1f} s", flush=True)
    batch = min(tried or sizes, key=lambda size: tried.get(size, 0.0))
    clock, payer = peer_steps(ours, batch, steps)
    return {
        "version": trl.__version__, "batch": batch, "tried": tried, "completions": completions,
        "prompts": case.prompts, "generations": case.generations,
        "completion_tokens": completion_tokens(ours),
        "reply_tokens": statistics.mean(payer.reply_tokens), **clock.times(0),
        "engine": "transformers generate, KV cache", "beta": 0.0,
    }  # fmt: skip


def completion_tokens(ours: Ours) -> int:
    """The most tokens of a reply: TRL generates exactly as many as a label has."""
    if ours.in_words:
        return max(one.said.max_tokens for one in ours.game.ir.steps if one.said is not None)
    count = ours.policy.tokenizer.count
    return max(count(label) for one in ours.asked for label in one.decision.labels)


def peer_steps(ours: Ours, batch: int, steps: int) -> tuple[Clock, Payer]:
    """The clock of so many steps of `GRPOTrainer`, and what paid its completions."""
    from datasets import Dataset
    from peft import LoraConfig
    from transformers import TrainerCallback
    from trl import GRPOConfig, GRPOTrainer

    from gamedsl.policies.models import load

    case, limit = ours.case, completion_tokens(ours)
    asked = ours.asked
    rows = [
        {"prompt": [{"role": r, "content": c} for r, c in one.decision.messages], "row": number}
        for number, one in enumerate(asked)
    ]
    loaded = load(ours.recipe.model, dtype=torch.float32, device=torch.device("cpu"))
    lora = ours.recipe.lora
    layers = loaded.model.config.num_hidden_layers
    payer = Payer(asked, limit, ours.policy.tokenizer.stops)
    clock = Clock()

    class Marks(TrainerCallback):
        def on_step_begin(self, *_: Any, **__: Any) -> None:
            clock.start()

        def on_step_end(self, *_: Any, **__: Any) -> None:
            clock.mark()

    with tempfile.TemporaryDirectory() as folder:
        config = GRPOConfig(
            output_dir=folder, max_steps=steps, per_device_train_batch_size=batch,
            gradient_accumulation_steps=case.prompts * case.generations // batch,
            num_generations=case.generations, max_completion_length=limit, beta=0.0,
            scale_rewards=False, learning_rate=ours.recipe.lr, lr_scheduler_type="constant",
            use_cpu=True, bf16=False, gradient_checkpointing=False, shuffle_dataset=False,
            save_strategy="no", report_to=[], logging_strategy="no", disable_tqdm=True,
            temperature=1.0, dataloader_pin_memory=False,
        )  # fmt: skip
        trainer = GRPOTrainer(
            model=loaded.model,
            reward_funcs=payer,
            args=config,
            train_dataset=Dataset.from_list(rows),
            processing_class=loaded.tokenizer,
            peft_config=LoraConfig(
                r=lora.rank, lora_alpha=lora.alpha, lora_dropout=0.0,
                target_modules=list(lora.targets or LINEAR),
                layers_to_transform=list(range(max(layers - (lora.layers or layers), 0), layers)),
            ),
            callbacks=[Marks()],
        )  # fmt: skip
        trainer.train()
    return clock, payer


if __name__ == "__main__":
    main()
