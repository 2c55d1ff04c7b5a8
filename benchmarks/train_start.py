"""CPU seconds of a training of one step, part by part, against the libraries and the model alone.

    python benchmarks/train_start.py --out benchmarks/results/train_start.json
    python benchmarks/train_start.py --game stag_hunt --cold

Pairs of processes, in turn. One is `gamedsl train GAME --model tiny --steps 1`; the other is the
limit: it imports torch, transformers and PEFT, builds a network of the same shape with LoRA, and
makes one forward and backward pass over as many tokens as the step had. Both are from the start of
the interpreter to its end, in CPU seconds of all threads. The ratio is the median over pairs.

Each part's seconds are its own: what it calls that is a part itself, or an import, is not in it.
Imports are by the first package that asks. `--cold` empties the cache of gamedsl and keeps no
bytecode, on both sides: that is a first start after an install without compilation.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shared import command, keep, machine

GAME = str(Path(__file__).with_name("trade_comm.yaml"))
LIBRARIES = ("torch", "transformers", "peft", "scipy", "numpy", "gamedsl")
"""Packages whose imports are parts; all others are one."""

PARTS = {
    "gamedsl.sema.game:build_game": "read and check the game",
    "gamedsl.sema.library:load_document": "read and check the game",
    "gamedsl.compiler:compile_file": "read and check the game",
    "gamedsl.analysis.history_sample:HistorySample.__init__": "walk its histories",
    "gamedsl.analysis.passes:prove": "prove",
    "gamedsl.commands.train:_cast": "recipe and seats",
    "gamedsl.policies.models:load": "model",
    "gamedsl.policies.factory:open_policy": "adapters",
    "gamedsl.train.information_sets:decisions_of": "list the decisions",
    "gamedsl.solve.tree:tabulate": "tabulate the game",
    "gamedsl.policies.chat:HFTokenizer.encode": "tokenise",
    "gamedsl.policies.chunk_scoring:ChunkedPolicy.log_probs": "forward passes",
    "gamedsl.policies.chunk_scoring:ChunkedPolicy.backward": "forward and backward pass",
    "gamedsl.train.rollout:play": "play",
    "gamedsl.solve.basin_prediction:predict_basin": "predict",
    "gamedsl.solve.best_responses:exploitability": "exploitability",
    "gamedsl.train.metrics:PolicyMetrics.measured": "measure",
    "gamedsl.train.metrics:PolicyMetrics.opening": "measure",
    "gamedsl.train.contributions:contributions": "contributions",
    "gamedsl.storage.writer:write_atomically": "write files",
    "gamedsl.view.report.page:write_report": "report",
}
"""Functions, and the part that their own time belongs to."""


class Parts:
    """Divides the CPU time of this process among its parts: a stack, whose top is charged."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._stack = ["rest"]
        self._since = 0.0

    def _charge(self) -> None:
        now = time.process_time()
        self.seconds[self._stack[-1]] += now - self._since
        self._since = now

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        self._charge()
        self._stack.append(name)
        try:
            yield
        finally:
            self._charge()
            self._stack.pop()

    def end(self) -> dict[str, float]:
        self._charge()
        return dict(self.seconds)

    def importing(self, name: str) -> str:
        """The part of an import: an import inside another belongs to that one."""
        if self._stack[-1].startswith("import "):
            package = name.partition(".")[0]
            if self._stack[-1] != "import gamedsl" or package not in LIBRARIES:
                return self._stack[-1]
        package = name.partition(".")[0]
        return f"import {package if package in LIBRARIES else 'others'}"

    def wrapped(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> Any:
            with self.part(name):
                return function(*args, **kwargs)

        return run


def watch(parts: Parts) -> None:
    """Charges every import, and has each function of `PARTS` charged once it is imported."""
    machinery: Any = sys.modules["_frozen_importlib"]
    find, waiting = machinery._find_and_load, dict(PARTS)

    def load(name: str, import_: Any) -> Any:
        with parts.part(parts.importing(name)):
            module = find(name, import_)
        for place in [place for place in waiting if place.partition(":")[0] == name]:
            *outer, last = place.partition(":")[2].split(".")
            owner = module
            for step in outer:
                owner = getattr(owner, step)
            setattr(owner, last, parts.wrapped(getattr(owner, last), waiting.pop(place)))
        return module

    machinery._find_and_load = load


def watched(arguments: list[str], out: Path) -> None:
    """Trains in this process, and writes the seconds of each part."""
    parts = Parts()
    watch(parts)
    cli = importlib.import_module("gamedsl.cli")
    assert cli.main(arguments) == 0
    out.write_text(json.dumps(parts.end()), encoding="utf-8")


SHAPE: dict[str, Any] = {
    "vocab_size": 259, "hidden_size": 64, "intermediate_size": 176, "num_hidden_layers": 4,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 4096,
}  # fmt: skip
"""The shape of the model `tiny`."""


def limit(tokens: int) -> None:
    """Does in this process what no training does without."""
    import peft
    import torch
    import transformers

    model: Any = peft.get_peft_model(
        transformers.LlamaForCausalLM(transformers.LlamaConfig(**SHAPE)),
        peft.LoraConfig(r=16, target_modules="all-linear"),
    )
    ids_BS = torch.arange(tokens).remainder(SHAPE["vocab_size"])[None]
    model(input_ids=ids_BS).logits.logsumexp(-1).sum().backward()


def seconds(arguments: list[str], env: dict[str, str]) -> float:
    """The CPU seconds of a process of this file, from its start to its end."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, __file__, *arguments], env=env, check=True, stdout=subprocess.DEVNULL
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def environment(folder: Path | None) -> dict[str, str]:
    """The environment of both sides; with a folder, all that is kept is kept there."""
    env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    env |= {"OMP_WAIT_POLICY": "PASSIVE", "MKL_DYNAMIC": "FALSE"}  # as `gamedsl train` sets them
    if folder is not None:
        (folder / "cache").mkdir(mode=0o700)
        env |= {"GAMEDSL_CACHE": str(folder / "cache"), "PYTHONPYCACHEPREFIX": str(folder / "pyc")}
    return env


def pair(game: str, tokens: int, *, cold: bool) -> dict[str, Any]:
    """Runs both sides once: the seconds of each, those of the parts, and what the step read.
    `tokens` of 0 are as many as the step had."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run, parts = folder / "run", folder / "parts.json"
        train = ["train", game, "--model", "tiny", "--steps", "1", "--format", "concise"]
        (folder / "ours").mkdir()
        (folder / "limit").mkdir()
        whole = seconds(
            ["--watched", str(parts), *train, "--out", str(run)],
            environment(folder / "ours" if cold else None),
        )
        lines = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        steps = [record for record in map(json.loads, lines) if record["event"] == "step"]
        tokens = tokens or steps[0]["tokens"]
        least = seconds(["--limit", str(tokens)], environment(folder / "limit" if cold else None))
        found = json.loads(parts.read_text(encoding="utf-8"))
    return {
        "train": whole, "limit": least, "parts": found, "tokens": tokens,
        "prompts": steps[0]["prompts"],
    }  # fmt: skip


def measured(game: str, pairs: int, *, cold: bool) -> dict[str, Any]:
    """The medians over some pairs; the first pair of a warm start fills the caches."""
    rows = [pair(game, 0, cold=cold) for _ in range(pairs + (not cold))][-pairs:]
    names = sorted({name for row in rows for name in row["parts"]})
    parts = {n: statistics.median(row["parts"].get(n, 0.0) for row in rows) for n in names}
    return {
        "prompts": rows[0]["prompts"],
        "tokens": rows[0]["tokens"],
        "train": statistics.median(row["train"] for row in rows),
        "limit": statistics.median(row["limit"] for row in rows),
        "ratio": statistics.median(row["train"] / row["limit"] for row in rows),
        "parts": dict(sorted(parts.items(), key=lambda part: -part[1])),
    }


def report(name: str, found: dict[str, Any]) -> None:
    print(
        f"\n{found['machine']}\n{name}: {found['prompts']} prompts, {found['tokens']:,} tokens; "
        f"CPU seconds {found['train']:.2f}, limit {found['limit']:.2f}, ratio {found['ratio']:.2f}"
    )
    for part, taken in found["parts"].items():
        print(f"  {part:<28}{taken:>7.2f}", flush=True)


def main() -> None:
    if sys.argv[1:2] == ["--watched"]:
        watched(sys.argv[3:], Path(sys.argv[2]))
        return
    if sys.argv[1:2] == ["--limit"]:
        limit(int(sys.argv[2]))
        return
    parser = command(__doc__)
    parser.add_argument("--game", default=GAME)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--cold", action="store_true", help="measure a first start too")
    args = parser.parse_args()
    result: dict[str, Any] = {"starts": {}}
    for cold in (False, True) if args.cold else (False,):
        name = f"{Path(args.game).stem}, {'cold' if cold else 'warm'}"
        load = f"load {os.getloadavg()[0]:.1f} at the start"
        told = {"machine": machine(f"{os.cpu_count()} cores", load), "pairs": args.pairs}
        found = result["starts"][name] = {**told, **measured(args.game, args.pairs, cold=cold)}
        report(name, found)
    keep(result, args.out)


if __name__ == "__main__":
    main()
