"""Measures the trainer on a GPU in parts of eight minutes, each against a peer or a limit.

    python benchmarks/gpu.py --part check --out benchmarks/results/gpu_check.json
    python benchmarks/gpu.py --part step --small

`check`: gradients and log-probabilities in the device's number format against float32 on the CPU.
`step`: a closed step of Kuhn poker with 128 and 8,192 games as model FLOP utilisation, and against
transformers with PEFT, one padded row for each label. `words`: tokens a second of replies against
transformers' `generate`. `memory`: what torch allocates against what `--dry-run` says. `learn`:
Kuhn poker by its own recipe: exploitability against that of uniform play, and against committed
runs of the same recipe on processors.

Models have random weights of well-known shapes, made on the device, over the bytes of `tiny`'s
tokenizer: what a step costs does not depend on what the weights are. `check` and `learn` take the
embedded model. Without a GPU all of it runs on the CPU; `--small` takes sizes for that.
"""

from __future__ import annotations

import json
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import peft
import torch
import transformers
from shared import command, keep, machine
from torch.profiler import ProfilerActivity, profile

import gamedsl
from gamedsl.diagnostics import Problems
from gamedsl.policies import hf, models, random_models
from gamedsl.policies.base import Query
from gamedsl.policies.cost import measured_rate
from gamedsl.policies.generation import Request, TokenRow, join_turns
from gamedsl.policies.hf import HFPolicy
from gamedsl.policies.lora import LoraSpec
from gamedsl.recipe.resolve import override, resolve
from gamedsl.training.dry_run import memory_in, scored, spoken
from gamedsl.training.engine import open_policy
from gamedsl.training.information_sets import decisions_of
from gamedsl.training.loop import Observer, train
from gamedsl.training.runfolder import create
from gamedsl.training.scoring import distinct_tokens

MINUTES = 8
SHAPES: dict[str, dict[str, int]] = {
    "toy": {"hidden_size": 64, "intermediate_size": 176, "num_hidden_layers": 4,
            "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 259},
    "0.1b": {"hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30,
             "num_attention_heads": 9, "num_key_value_heads": 3, "vocab_size": 49152},
    "0.6b": {"hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28,
             "num_attention_heads": 16, "num_key_value_heads": 8, "vocab_size": 151936},
    "4b": {"hidden_size": 2560, "intermediate_size": 9728, "num_hidden_layers": 36,
           "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 151936},
    "8b": {"hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 36,
           "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 151936},
}  # fmt: skip
"""SmolLM2-135M, and Qwen3 of three sizes (with heads of hidden size / heads), as Llama models."""

UNIFORM = 11 / 24
"""The exploitability of uniform play in Kuhn poker."""

COMMITTED = Path(__file__).parent / "results" / "methods"
SMALL = {
    "finetuning": "full", "adapters": "shared", "games": 4096, "steps": 2,
    "project": {"fitter": "adam"},
    "start": {
        "first": {"open": {"bet": 0.5}, "answer_2": {"call": 0.5}},
        "second": {"reply": {"bet": 0.5}, "answer": {"call": 0.5}},
    },
}  # fmt: skip
"""What `learn --small` changes in the recipe of Kuhn poker: all weights of `tiny` learn, from
uniform play, by the faster fitter."""

LINEAR = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
Found = dict[str, Any]
_load = models.load


class Bench:
    """One part: where it runs, how large, and until when."""

    def __init__(self, small: bool) -> None:
        self.small = small
        cuda = torch.cuda.is_available()
        self.device = torch.device("cuda" if cuda else "cpu")
        self.dtype = torch.bfloat16 if cuda else torch.float32
        self.ends = time.monotonic() + 60 * MINUTES

    @property
    def has_time(self) -> bool:
        """Whether half of the time is left."""
        return time.monotonic() < self.ends - 30 * MINUTES

    def shapes(self, *names: str) -> tuple[str, ...]:
        return ("toy",) if self.small else names

    @property
    def card(self) -> str:
        if self.device.type != "cuda":
            return f"no GPU, {torch.get_num_threads()} threads"
        facts = torch.cuda.get_device_properties(self.device)
        return f"{facts.name}, {facts.total_memory / 2**30:.0f} GiB, CUDA {torch.version.cuda}"

    def seconds(self, act: Callable[[], object], times: int = 5) -> float:
        """The median of some runs after one that is not counted."""
        took = []
        for _ in range(1 + (2 if self.small else times)):
            self.wait()
            started = time.perf_counter()
            act()
            self.wait()
            took.append(time.perf_counter() - started)
        return statistics.median(took[1:])

    def wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)


def built(name: str, *, dtype: torch.dtype, device: torch.device, **given: Any) -> Any:
    """Stands in for `models.load`: a shape by name, made on the device."""
    if name not in SHAPES:
        return _load(name, dtype=dtype, device=device, **given)
    _, tokenizer = random_models.build_tiny()
    config = transformers.LlamaConfig(
        **SHAPES[name], max_position_embeddings=8192, tie_word_embeddings=True,
        pad_token_id=0, bos_token_id=1, eos_token_id=2,
    )  # fmt: skip
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with torch.device(device):
            model = random_models.made(transformers.LlamaForCausalLM, config, 0)
    finally:
        torch.set_default_dtype(before)
    return models.LoadedModel(name, model.eval().requires_grad_(False), tokenizer)


def decisions(policy: HFPolicy) -> list[Query]:
    """The distinct decisions of Kuhn poker."""
    found = decisions_of(gamedsl.load("kuhn_poker").env(tokenizer=policy.tokenizer), 0)
    assert found is not None
    return [Query(tuple(one.messages), tuple(one.labels), "shared") for one in found]


def check(bench: Bench) -> Found:
    """Scores and gradients of the device against float32 on the CPU."""
    found: Found = {}
    for name in ("tiny",) if bench.small else ("tiny", "smollm2-135m"):
        results = []
        for device, dtype in (("cpu", torch.float32), (bench.device, torch.bfloat16)):
            policy = HFPolicy(name, device=device, dtype=dtype)
            generator = torch.Generator().manual_seed(1)
            with torch.no_grad():
                for parameter in policy.parameters():
                    noise = 0.01 * torch.randn(parameter.shape, generator=generator)
                    parameter.add_(noise.to(parameter.device))
            queries = decisions(policy)
            scores = policy.backward(queries, [torch.tensor([1.0, -1.0])] * len(queries))
            gradient = torch.cat([p.grad.flatten().cpu() for p in policy.parameters()])
            results.append((torch.cat(scores), gradient, policy))
        (exact, g_exact, _), (near, g_near, policy) = results
        gap = (exact.exp() - near.exp()).abs().max().item()
        cosine = torch.cosine_similarity(g_exact, g_near, dim=0).item()
        requests = [Request((("user", f"Tell {i}."),), "shared", 16, seed=i) for i in range(16)]
        replies = policy.generate(requests)
        rows = [join_turns("shared", [one])[0][0] for one in replies]
        sampler = torch.tensor([p for one in replies for p in one.log_probs])
        trainer = torch.cat(policy.token_log_probs(rows))
        likely = trainer > -4.6
        apart = (sampler - trainer).abs()[likely].mean().item()
        found[name] = {"probability_gap": gap, "gradient_cosine": cosine, "sampler_gap": apart}
        print(
            f"{name}: probabilities of labels within {gap:.4f} of float32 on the CPU, cosine of the"
            f" gradients {cosine:.5f}, sampler and trainer {apart:.4f} nats apart (limit 0.05)"
        )
    return found


class Clock(Observer):
    """Seconds between the ends of steps."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.records: list[Found] = []

    def start(self, record: Found) -> None:
        self.opening = record
        self.last = time.perf_counter()

    def step(self, record: Found) -> None:
        now = time.perf_counter()
        self.seconds.append(now - self.last)
        self.records.append(record)
        self.last = now


def kuhn(model: str, **settings: Any) -> tuple[Clock, HFPolicy]:
    """A run of Kuhn poker to its end, by its own recipe but for `settings`."""
    game = gamedsl.load("kuhn_poker")
    given = {"model": model, **settings}
    recipe = resolve(game.ir, [override(*one) for one in given.items()], Problems())
    policy = open_policy(game, recipe, lambda _: None)
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        run = create(
            game, recipe, Path(folder) / "run", {}, policy.tokenizer, torch.get_num_threads()
        )
        train(game, recipe, run, policy, observers=[clock])
    return clock, policy


def step(bench: Bench) -> Found:
    """A closed step as FLOP utilisation, and beside transformers with PEFT."""
    found: Found = {}
    for shape in bench.shapes("0.1b", "0.6b", "4b", "8b"):
        if not bench.has_time:
            break
        here: Found = {}
        for games in (8, 16) if bench.small else (128, 8192):
            clock, policy = kuhn(
                shape, method="grpo", adapters="shared", games=games, steps=2 if bench.small else 6
            )
            queries = decisions(policy)
            work = scored(policy, queries, distinct_tokens(policy, queries), kept=True)
            size = policy.size
            flop = size.step_flop(work.tokens, work.rows, kept_trunk=policy._network.is_cut)
            rate = measured_rate(size.dtype, bench.device, max(size.hidden, 2048))
            seconds = statistics.median(clock.seconds[1:])
            here[str(games)] = {"seconds": seconds, "mfu": flop / seconds / rate, "rate": rate}
            print(
                f"{shape}, {games} games: {seconds:.3f} s a step, {work.tokens} distinct tokens,"
                f" {flop / seconds / rate:.1%} of {rate / 1e12:.2f} TFLOP/s measured"
            )
        plain = bench.seconds(plain_step(shape, policy, bench), 3)
        few = min(one["seconds"] for one in here.values())
        here["peer"] = {"seconds": plain, "ratio": plain / few}
        print(
            f"  transformers {transformers.__version__} with PEFT {peft.__version__}, one padded"
            f" row for each label of the same prompts: {plain:.3f} s, {plain / few:.1f} times ours"
        )
        found[shape] = here
    return found


def plain_step(shape: str, ours: HFPolicy, bench: Bench) -> Callable[[], object]:
    """Forward and backward of padded rows by transformers and PEFT, 32 at a time."""
    loaded = built(shape, dtype=ours.size.dtype, device=bench.device)
    layers = len(loaded.model.model.layers)
    model = peft.get_peft_model(loaded.model, peft.LoraConfig(
        r=16, lora_alpha=32, target_modules=list(LINEAR), task_type="CAUSAL_LM",
        layers_to_transform=list(range(max(0, layers - 10), layers)), layers_pattern="layers",
    ))  # fmt: skip
    rows = [
        (encoded.prompt, label)
        for encoded in map(ours.encode, decisions(ours)) for label in encoded.labels
    ]  # fmt: skip
    width = max(len(prompt) + len(label) for prompt, label in rows)
    ids = torch.zeros(len(rows), width, dtype=torch.int64, device=bench.device)
    goal = torch.full_like(ids, -100)
    for at, (prompt, label) in enumerate(rows):
        whole = torch.tensor(prompt + label, device=bench.device)
        ids[at, : len(whole)] = whole
        goal[at, len(prompt) : len(whole)] = whole[len(prompt) :]
    seen = (torch.arange(width, device=bench.device) < (ids != 0).sum(1)[:, None]).long()

    def act() -> None:
        for at in range(0, len(rows), 32):
            part = slice(at, at + 32)
            model(input_ids=ids[part], attention_mask=seen[part], labels=goal[part]).loss.backward()

    return act


def words(bench: Bench) -> Found:
    """Replies in tokens a second, against transformers' own `generate`."""
    shapes = bench.shapes("0.6b", "4b")
    return {shape: replies_of(bench, shape) for shape in shapes if bench.has_time}


def replies_of(bench: Bench, shape: str) -> Found:
    """Replies of one model, all of one length."""
    rows, tokens = (8, 12) if bench.small else (128, 128)
    policy = HFPolicy(shape)
    policy._writer.decoder.ends = frozenset()  # all replies have the same length
    asked = [
        Request((("user", f"Tell a story of round {i}."),), "shared", tokens, seed=i)
        for i in range(rows)
    ]
    ours = rows * tokens / bench.seconds(lambda: (policy.forget(), policy.generate(asked)), 3)
    model = built(shape, dtype=policy.size.dtype, device=bench.device).model
    prompts = [policy.tokenizer.converse(one.messages).ids for one in asked]
    width = max(map(len, prompts))
    ids = torch.tensor([[0] * (width - len(p)) + list(p) for p in prompts])
    seen = torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in prompts])

    def theirs() -> object:
        return model.generate(
            input_ids=ids.to(bench.device), attention_mask=seen.to(bench.device),
            max_new_tokens=tokens, min_new_tokens=tokens, do_sample=True, pad_token_id=0,
        )  # fmt: skip

    plain = rows * tokens / bench.seconds(theirs, 3)
    found = {"tokens_a_second": ours, "transformers": plain, "ratio": ours / plain}
    print(
        f"{shape}, {rows} replies of {tokens} tokens: {ours:,.0f} tokens a second, transformers"
        f" {transformers.__version__} {plain:,.0f}: {ours / plain:.2f} times as many"
    )
    return found


def memory(bench: Bench) -> Found:
    """Compares what a step allocates with what `--dry-run` says of it."""
    shapes = bench.shapes("0.1b", "0.6b", "4b")
    return {shape: memory_of(bench, shape) for shape in shapes if bench.has_time}


def memory_of(bench: Bench, shape: str) -> Found:
    """The memory of a closed step and of one with replies, beside the weights."""
    policy = HFPolicy(shape, lora=LoraSpec(layers=10))
    trained = sum(parameter.numel() for parameter in policy.parameters())
    queries = decisions(policy)
    closed = memory_in(
        policy, trained, scored(policy, queries, distinct_tokens(policy, queries), kept=True)
    )
    weights = [torch.tensor([1.0, -1.0])] * len(queries)
    took = allocated(bench, lambda: update(policy, lambda: policy.backward(queries, weights)))
    said = {"closed": (took, closed.total - closed.weights - 4 * trained)}
    count, tokens = (8, 16) if bench.small else (64, 256)
    asked = [Request((("user", f"Tell {i}."),), "shared", tokens, seed=i) for i in range(count)]
    replies: list[Any] = []

    def write() -> None:
        replies[:] = policy.generate(asked)
        rows: list[TokenRow] = [join_turns("shared", [one])[0][0] for one in replies]
        ones = [torch.ones(len(one.reply_ids)) for one in replies]
        update(policy, lambda: policy.token_backward(rows, ones))

    took = allocated(bench, write)
    longest = max(len(one.prompt_ids) + len(one.reply_ids) for one in replies)
    written = memory_in(policy, trained, spoken(replies, longest, 1.0))
    said["words"] = (took, written.total - written.weights - 4 * trained)
    found = {
        kind: {"allocated": took, "said": told, "ratio": took / told}
        for kind, (took, told) in said.items()
    }
    for kind, one in found.items():
        print(
            f"{shape}, {kind}: {one['allocated'] / 1e9:.2f} GB allocated beside the weights,"
            f" {one['said'] / 1e9:.2f} said: {one['ratio']:.2f}"
        )
    return found


def update(policy: HFPolicy, backward: Callable[[], object]) -> None:
    """A fresh optimiser's step."""
    optimizer = torch.optim.AdamW(policy.parameters())
    backward()
    optimizer.step()
    optimizer.zero_grad()


def allocated(bench: Bench, act: Callable[[], object]) -> int:
    """The most bytes that torch had at one time, beyond what there was before."""
    if bench.device.type == "cuda":
        torch.cuda.empty_cache()
        before = torch.cuda.memory_allocated(bench.device)
        torch.cuda.reset_peak_memory_stats(bench.device)
        act()
        return torch.cuda.max_memory_allocated(bench.device) - before
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as told:
        act()
    now = most = 0
    for event in told.profiler.kineto_results.events():
        if event.name() == "[memory]":
            now += event.nbytes()
            most = max(most, now)
    return most


def learn(bench: Bench) -> Found:
    """Kuhn poker by its own recipe: how far it comes from uniform play. Sixty steps take two to
    four minutes of one core with SmolLM2-135M."""
    model = "tiny" if bench.small else "smollm2-135m"
    clock, _ = kuhn(model, **SMALL if bench.small else {})
    known = [] if bench.small else committed()
    first = clock.opening["exploitability"]
    far = [record["exploitability"] for record in clock.records]
    seconds = statistics.median(clock.seconds[1:])
    others = ""
    if known:
        others = f", the same recipe on processors {min(known):.3f} to {max(known):.3f}"
    print(
        f"{model}: {len(far)} steps in {sum(clock.seconds):.1f} s, {seconds:.3f} s a step;"
        f" exploitability {first:.3f} to {far[-1]:.3f}, uniform play {UNIFORM:.3f}{others}"
    )
    return {"steps": len(far), "seconds": sum(clock.seconds), "step": seconds, "start": first,
            "exploitability": far, "uniform": UNIFORM, "known": known}  # fmt: skip


def committed() -> list[float]:
    """The exploitability after the last step of the committed runs of this recipe."""
    paths = sorted(COMMITTED.glob("kuhn-adapters-per-role-*.json"))
    runs = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    return [run["steps"][-1]["exploitability"] for run in runs]


PARTS: dict[str, Callable[[Bench], Found]] = {
    "check": check, "step": step, "words": words, "memory": memory, "learn": learn,
}  # fmt: skip


def main() -> None:
    parser = command(__doc__)
    parser.add_argument("--part", choices=PARTS, required=True)
    parser.add_argument("--small", action="store_true", help="sizes for a processor")
    args = parser.parse_args()
    hf.load = built
    bench = Bench(args.small)
    versions = {name: metadata.version(name) for name in ("torch", "transformers", "peft")}
    told = machine(bench.card, *(f"{name} {version}" for name, version in versions.items()))
    print(told)
    started = time.monotonic()
    found = PARTS[args.part](bench)
    took = time.monotonic() - started
    print(f"{args.part}: {took:.0f} s")
    keep(
        {
            "machine": told, "card": bench.card, "system": platform.platform(),
            "driver": driver(), "versions": versions, "part": args.part, "small": args.small,
            "seconds": took, "found": found,
        },
        args.out,
    )  # fmt: skip


def driver() -> str | None:
    """The version of NVIDIA's driver, where there is one."""
    where = Path("/proc/driver/nvidia/version")
    return where.read_text().splitlines()[0] if where.exists() else None


if __name__ == "__main__":
    main()
