"""Seconds of one training step against TRL's `GRPOTrainer`, and against the machine's own limit.

    pip install -c constraints.txt -e ".[bench]"
    python benchmarks/train_step.py --out benchmarks/results/train_step.json

Both train the same model with the same LoRA on the same game, from the same prompts, with the same
number of games, dtype, threads and completion length (a label's tokens), in one process, one after
the other. TRL generates with transformers and gets its fastest batch size of those tried. Ours runs
with default labels and recipe. These adapt the top layers only, so what the layers below give for a
prompt is kept from step to step: training cannot change it. `--no-cache` computes it every time.

Also printed: how our step grows from 128 to 8,192 games, and its ratio to a floor: distinct tokens
x 6 x parameters, over the rate of a large matrix product measured in the same run.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as `gamedsl train` does, for both

import torch
from shared import command, keep, machine

import gamedsl
from gamedsl.diagnostics import Problems
from gamedsl.recipe.resolve import override, resolve
from gamedsl.runtime import Episode
from gamedsl.training.engine import open_policy
from gamedsl.training.loop import train
from gamedsl.training.runfolder import create

GAME = "stag_hunt"
LINEAR = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


def main() -> None:
    parser = command(__doc__)
    parser.add_argument("--games", type=int, default=128)
    parser.add_argument("--many", type=int, default=8192)
    parser.add_argument("--steps", type=int, default=10, help="measured steps of ours")
    parser.add_argument("--peer-steps", type=int, default=2, help="measured steps of TRL")
    parser.add_argument(
        "--peer-batch", type=int, nargs="*", default=[8, 32, 64], help="batches tried"
    )
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--no-cache", action="store_true", help="run all layers in every step")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)

    told = machine(f"{args.threads} threads", f"torch {torch.__version__}")
    found: dict[str, Any] = {"machine": told, "model": args.model, "game": GAME}
    rate = found["matmul_gflops"] = matmul_rate() / 1e9
    print(f"{found['machine']}; matrix product {rate:.0f} GFLOP/s (float32)")

    few = Ours(args.model, args.games, args.steps, not args.no_cache)
    found["ours"] = few.measure()
    found["floor_seconds"] = few.tokens * 6 * few.parameters / (rate * 1e9)
    report("ours", args.games, found["ours"])
    of_floor = found["ours"]["median"] / found["floor_seconds"]
    print(
        f"  {few.tokens} distinct tokens x 6 x {few.parameters / 1e6:.1f}M parameters, at that "
        f"rate: {found['floor_seconds']:.2f} s; ours takes {of_floor:.2f}x"
    )
    found["ours_many"] = Ours(args.model, args.many, args.steps, not args.no_cache).measure()
    report("ours", args.many, found["ours_many"])
    growth = found["growth"] = found["ours_many"]["median"] / found["ours"]["median"]
    print(f"  {args.many} games take {growth:.2f}x the time of {args.games}")

    if not args.no_peer:
        found["peer"] = peer(few, args.games, args.peer_batch, args.peer_steps)
        report(f"TRL {found['peer']['version']}", args.games, found["peer"])
        ratio = found["ratio"] = found["peer"]["median"] / found["ours"]["median"]
        print(f"ours is {ratio:.0f} times faster")
    keep(found, args.out)


def report(name: str, games: int, times: dict[str, Any]) -> None:
    seconds = ", ".join(f"{s:.2f}" for s in times["seconds"])
    print(
        f"{name}, {games} games a step: {times['median']:.2f} s (median of {seconds})", flush=True
    )


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


class Ours:
    """`gamedsl train` from Python: the same loop with run folder, checkpoints and transcripts."""

    def __init__(self, model: str, games: int, steps: int, cache: bool) -> None:
        problems = Problems()
        self.game = gamedsl.load(GAME)
        settings = {"model": model, "games": games, "steps": steps + 1}
        self.recipe = resolve(self.game.ir, (override(*s) for s in settings.items()), problems)
        self.policy = open_policy(self.game, self.recipe, lambda text: None)
        if not cache:
            self.policy._network.cut(0)
        self.env = self.game.env(run_seed=self.recipe.seed, tokenizer=self.policy.tokenizer)
        self.parameters = sum(p.numel() for p in self.policy._network.model.parameters())
        self.seconds: list[float] = []
        self.tokens = 0

    def measure(self) -> dict[str, Any]:
        """Seconds of each step but the first, everything between two steps' ends included."""
        with tempfile.TemporaryDirectory() as folder:
            run = create(
                self.game, self.recipe, Path(folder) / "run", {}, self.policy.tokenizer,
                torch.get_num_threads(),
            )  # fmt: skip
            train(self.game, self.recipe, run, self.policy, observers=[self])
        return {"seconds": self.seconds[1:], "median": statistics.median(self.seconds[1:])}

    def start(self, record: dict[str, Any]) -> None:
        self.last = time.perf_counter()

    def step(self, record: dict[str, Any]) -> None:
        now = time.perf_counter()
        self.seconds.append(now - self.last)
        self.last, self.tokens = now, record["tokens"]

    def end(self, record: dict[str, Any]) -> None:
        pass


def peer(ours: Ours, games: int, batches: list[int], steps: int) -> dict[str, Any]:
    """TRL's step, measured at each batch size; the fastest is what counts."""
    import trl

    tried = {b: peer_steps(ours, games, b, steps) for b in batches if b <= 2 * games}
    for batch, seconds in tried.items():
        print(f"  TRL with batch {batch}: {statistics.median(seconds):.1f} s", flush=True)
    batch = min(tried, key=lambda b: statistics.median(tried[b]))
    seconds = tried[batch]
    return {
        "version": trl.__version__, "batch": batch, "tried": tried, "seconds": seconds,
        "median": statistics.median(seconds), "completion_tokens": completion_tokens(ours),
        "engine": "transformers generate, KV cache", "beta": 0.0,
    }  # fmt: skip


def completion_tokens(ours: Ours) -> int:
    """Tokens of a label: TRL generates exactly as many."""
    labels = ours.env.reset(seed=0).decisions[0].labels
    return max(ours.policy.tokenizer.count(label) for label in labels)


def peer_steps(ours: Ours, games: int, batch: int, steps: int) -> list[float]:
    """Seconds of each of `steps` steps of `GRPOTrainer`, after one that is not counted."""
    from datasets import Dataset
    from peft import LoraConfig
    from transformers import TrainerCallback
    from trl import GRPOConfig, GRPOTrainer

    from gamedsl.policies.models import load

    episode = ours.env.reset(seed=0)
    seats = [d.seat for d in episode.decisions]
    rows = [
        {"prompt": [{"role": r, "content": c} for r, c in d.messages], "seat": d.seat}
        for d in episode.decisions
    ]
    loaded = load(ours.recipe.model, dtype=torch.float32, device=torch.device("cpu"))
    lora = ours.recipe.lora
    layers = loaded.model.config.num_hidden_layers
    seconds: list[float] = []

    class Clock(TrainerCallback):
        def on_step_begin(self, *_: Any, **__: Any) -> None:
            self.start = time.perf_counter()

        def on_step_end(self, *_: Any, **__: Any) -> None:
            seconds.append(time.perf_counter() - self.start)

    with tempfile.TemporaryDirectory() as folder:
        config = GRPOConfig(
            output_dir=folder, max_steps=steps + 1, per_device_train_batch_size=batch,
            gradient_accumulation_steps=2 * games // batch, num_generations=games,
            max_completion_length=completion_tokens(ours), beta=0.0, scale_rewards=False,
            learning_rate=ours.recipe.lr, lr_scheduler_type="constant", use_cpu=True, bf16=False,
            gradient_checkpointing=False, shuffle_dataset=False, save_strategy="no", report_to=[],
            logging_strategy="no", disable_tqdm=True, temperature=1.0,
            dataloader_pin_memory=False,
        )  # fmt: skip
        trainer = GRPOTrainer(
            model=loaded.model,
            reward_funcs=reward_function(episode, seats),
            args=config,
            train_dataset=Dataset.from_list(rows),
            processing_class=loaded.tokenizer,
            peft_config=LoraConfig(
                r=lora.rank, lora_alpha=lora.alpha, lora_dropout=0.0,
                target_modules=list(lora.targets or LINEAR),
                layers_to_transform=list(range(max(layers - (lora.layers or layers), 0), layers)),
            ),
            callbacks=[Clock()],
        )  # fmt: skip
        trainer.train()
    return seconds[1:]


def reward_function(episode: Episode, seats: list[str]) -> Any:
    """The same game as TRL wants it: completions of the two seats paired in order."""

    def reward(completions: list[Any], seat: list[str], **_: Any) -> list[float | None]:
        said = {s: [i for i, at in enumerate(seat) if at == s] for s in seats}
        rewards: list[float | None] = [None] * len(seat)
        for pair in zip(*said.values(), strict=True):
            played = episode.fork()
            played.step({seat[i]: completions[i][0]["content"] for i in pair})
            for i in pair:
                amount = played.rewards[seat[i]]
                rewards[i] = None if amount is None else float(amount)
        return rewards

    return reward


if __name__ == "__main__":
    main()
