"""CPU and wall seconds of a training of one step, part by part, against the libraries alone.

    python benchmarks/train_start.py --out benchmarks/results/train_start.json
    python benchmarks/train_start.py --game stag_hunt --model tabular --cold
    python benchmarks/train_start.py --uncompiled --against ../before
    python benchmarks/train_start.py --screen --out benchmarks/results/train_screen.json

Processes run in turn. One is `gamedsl train GAME --model tiny --steps 1`. One is the limit: it
imports torch, transformers and PEFT, builds a network of the same shape with LoRA, and makes one
forward and backward pass over as many tokens as the step had. The limit of `--model tabular` is
torch and a step of its optimizer, that of other models transformers and PEFT. With `--against`, a
third is the first in another checkout. All are from the start of the interpreter to its end: CPU
seconds of all threads, wall seconds, and wall seconds until the first line is on the screen. Each
is a median, and beside it the best; ratios are medians over the turns.

Each part's seconds are its own: what it calls that is a part itself, or an import, is not in it.
Imports are by the first package that asks, so they are also given one after another, each with
what the ones before it have left to import (`--imports`). `--cold` empties the cache of gamedsl and
keeps no bytecode, on all sides: that is a first start after an install without compilation.
`--uncompiled` is each later start where Python keeps no bytecode (`PYTHONDONTWRITEBYTECODE`) and
the installer left none: the packages are linked into a folder without it, and the first turn, which
fills the cache of gamedsl, does not count.

`--screen` measures instead what a person waits for: wall seconds from the command to the first
characters on a terminal, and to the first step on it, warm and with empty caches. The terminal is a
pseudo-terminal of 100 columns, and the command is `gamedsl train GAME --model MODEL --steps 1`.

A start cannot go below the imports: 2.6 of the 4.9 CPU seconds that `tiny` takes on `trade_comm`.
They are torch (0.8), torch._dynamo and SciPy (0.9), the rest of `LlamaForCausalLM` (0.8) and PEFT
(0.1). transformers itself imports torch._dynamo, torch.distributed, scipy.optimize and, where it is
installed, accelerate, and has no switch for any of them. Other LoRA layers than PEFT's would so
save 2%. The parts say `import peft` only because it is the first to ask for transformers.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

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
    "gamedsl.api.training_job:_checked": "recipe and seats",
    "gamedsl.policies.models:load": "model",
    "gamedsl.policies.factory:open_policy": "adapters",
    "gamedsl.training.information_sets:decisions_of": "list the decisions",
    "gamedsl.solve.tree:tabulate": "tabulate the game",
    "gamedsl.policies.chat:HFTokenizer.encode": "tokenise",
    "gamedsl.policies.chunk_scoring:ChunkedPolicy.log_probs": "forward passes",
    "gamedsl.policies.chunk_scoring:ChunkedPolicy.backward": "forward and backward pass",
    "gamedsl.training.rollout:play": "play",
    "gamedsl.solve.basin_prediction:predict_basin": "predict",
    "gamedsl.solve.best_responses:exploitability": "exploitability",
    "gamedsl.training.metrics:PolicyMetrics.measured": "measure",
    "gamedsl.training.metrics:PolicyMetrics.opening": "measure",
    "gamedsl.training.contributions:contributions": "contributions",
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
    sys.argv = ["gamedsl", *arguments]
    assert cli.main() == 0
    out.write_text(json.dumps(parts.end()), encoding="utf-8")


SHAPE: dict[str, Any] = {
    "vocab_size": 259, "hidden_size": 64, "intermediate_size": 176, "num_hidden_layers": 4,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 4096,
}  # fmt: skip
"""The shape of the model `tiny`."""


def limit(name: str, tokens: int) -> None:
    """Does in this process what no training of a model of that name does without."""
    gc.disable()  # as while `gamedsl train` imports
    atexit.register(gc.freeze)
    import torch

    if name == "tabular":
        weights = torch.nn.Parameter(torch.zeros(tokens))
        optimizer = torch.optim.AdamW([weights])
        weights.logsumexp(-1).backward()
        optimizer.step()
        return
    import peft
    import transformers

    if name != "tiny":
        importlib.import_module("transformers.models.llama.modeling_llama")
        return
    model: Any = peft.get_peft_model(
        transformers.LlamaForCausalLM(transformers.LlamaConfig(**SHAPE)),
        peft.LoraConfig(r=16, target_modules="all-linear"),
    )
    ids_BS = torch.arange(tokens).remainder(SHAPE["vocab_size"])[None]
    model(input_ids=ids_BS).logits.logsumexp(-1).sum().backward()


class Start(NamedTuple):
    """CPU seconds of a process, its wall seconds, and those until its first line."""

    cpu: float
    wall: float
    first: float


def started(arguments: list[str], env: dict[str, str]) -> Start:
    """Runs a process of this file to its end."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, __file__, *arguments], env=env, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert process.stdout is not None
    said = process.stdout.readline()
    first = time.perf_counter() - began
    said += process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, said.decode()
    return Start(used.ru_utime + used.ru_stime, time.perf_counter() - began, first)


TREE = Path(__file__).resolve().parents[1]


class Setting:
    """A setting fixes what the processes of all sides find: bytecode, and the cache of gamedsl.
    All that it needs lies in one folder."""

    def __init__(self, name: str, folder: Path, trees: dict[str, Path]) -> None:
        """`name` is `warm`, `cold` or `uncompiled`; `trees` are the checkouts by side."""
        self._cold, self._bare = name == "cold", name == "uncompiled"
        self._folder, self._trees, self._turns = folder, trees, 0
        if self._bare:
            _link(Path(sysconfig.get_path("purelib")), folder / "packages")
            for side, tree in trees.items():
                for part in ("gamedsl", "games", "protocols", "rewards"):
                    _link(tree / part, folder / side / part)

    def next_turn(self) -> None:
        self._turns += 1

    def environment(self, side: str) -> dict[str, str]:
        """The environment of a process of a side; the limit has no tree."""
        ours = ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")
        env = {key: value for key, value in os.environ.items() if key not in ours}
        env |= {"OMP_WAIT_POLICY": "PASSIVE", "MKL_DYNAMIC": "FALSE"}  # as `gamedsl train` has them
        paths = [str(self._trees.get(side, TREE))]
        own = self._folder / f"{side}-own"
        if self._cold:
            own = own / str(self._turns)
            env["PYTHONPYCACHEPREFIX"] = str(own / "pyc")
        if self._bare:
            paths = [str(self._folder / side)] * (side in self._trees)
            paths.append(str(self._folder / "packages"))
            env["PYTHONDONTWRITEBYTECODE"] = "1"
        if self._cold or self._bare:
            (own / "cache").mkdir(parents=True, mode=0o700, exist_ok=True)
            env["GAMEDSL_CACHE"] = str(own / "cache")
        return env | {"PYTHONPATH": os.pathsep.join(paths)}


def _link(tree: Path, to: Path) -> None:
    """Makes a tree of the same files without bytecode; a file is copied where it cannot be
    linked."""

    def link(source: str, target: str) -> None:
        try:
            os.link(source, target)
        except OSError:
            shutil.copy2(source, target)

    no_bytecode = shutil.ignore_patterns("__pycache__")
    shutil.copytree(tree, to, copy_function=link, ignore=no_bytecode, symlinks=True)


def turn(game: str, model: str, setting: Setting, sides: Iterable[str]) -> dict[str, Any]:
    """Runs each side once: its seconds, those of the parts, and what the step read."""
    setting.next_turn()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        def train(side: str) -> Start:
            return started(
                ["--watched", str(folder / f"{side}.json"), "train", game, "--model", model,
                 "--steps", "1", "--format", "concise", "--out", str(folder / f"{side}-run")],
                setting.environment(side),
            )  # fmt: skip

        found = {side: train(side) for side in sides}
        lines = (folder / "train-run" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        step = next(record for record in map(json.loads, lines) if record["event"] == "step")
        read = {"tokens": step["tokens"], "prompts": step["prompts"]}
        limited = ["--limit", model, str(step["tokens"])]
        found["limit"] = started(limited, setting.environment("limit"))
        parts = json.loads((folder / "train.json").read_text(encoding="utf-8"))
    return {"sides": found, "parts": parts, **read}


def measured(
    game: str, model: str, turns: int, trees: dict[str, Path], name: str
) -> dict[str, Any]:
    """The medians over some turns; the first turn fills the caches, unless the start is cold."""
    with tempfile.TemporaryDirectory() as folder:
        setting = Setting(name, Path(folder), trees)
        rows = [turn(game, model, setting, trees) for _ in range(turns + (name != "cold"))][-turns:]
    names = sorted({name for row in rows for name in row["parts"]})
    parts = {n: statistics.median(row["parts"].get(n, 0.0) for row in rows) for n in names}
    sides = {
        side: {
            field: [statistics.median(found), min(found)]
            for field in Start._fields
            for found in [[getattr(row["sides"][side], field) for row in rows]]
        }
        for side in rows[0]["sides"]
    }
    ratios = {
        f"{field} to the {side}": statistics.median(
            getattr(row["sides"]["train"], field) / getattr(row["sides"][side], field)
            for row in rows
        )
        for side in sides
        if side != "train"
        for field in ("cpu", "wall")
    }
    return {
        "prompts": rows[0]["prompts"], "tokens": rows[0]["tokens"], "sides": sides,
        "ratios": ratios, "parts": dict(sorted(parts.items(), key=lambda part: -part[1])),
    }  # fmt: skip


class TerminalStart(NamedTuple):
    """Wall seconds from a command to its first characters on a terminal, and to its first step
    there; and the first line."""

    first: float
    step: float
    line: str


ESCAPES = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|[()][A-Z0-9]|[=>])")


def start_on_terminal(arguments: list[str], env: dict[str, str]) -> TerminalStart:
    """Runs `gamedsl` on a pseudo-terminal to its end."""
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "gamedsl", *arguments], env=env | {"TERM": "xterm-256color"},
        stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    text, times = "", dict.fromkeys(("first", "step"), 0.0)
    while True:
        try:
            text += os.read(ours, 65536).decode("utf-8", "replace")
        except OSError:  # the other end is closed
            break
        plain = ESCAPES.sub("", text).strip()
        for name, is_there in (("first", bool(plain)), ("step", "step 1" in plain)):
            if is_there and not times[name]:
                times[name] = time.perf_counter() - began
    os.close(ours)
    assert process.wait() == 0, text
    line = ESCAPES.sub("", text).strip().splitlines()[0].strip()
    return TerminalStart(times["first"], times["step"], line.replace(f"{TREE}{os.sep}", ""))


def screens(game: str, model: str, turns: int) -> dict[str, Any]:
    """The seconds on a terminal, of warm starts and of those with empty caches."""
    found: dict[str, Any] = {}
    for name in ("warm", "cold"):
        with tempfile.TemporaryDirectory() as folder:
            setting, rows = Setting(name, Path(folder), {"train": TREE}), []
            for number in range(turns + (name == "warm")):  # the first turn fills the caches
                setting.next_turn()
                run = str(Path(folder) / f"run-{number}")
                train = ["train", game, "--model", model, "--steps", "1", "--out", run]
                rows.append(start_on_terminal(train, setting.environment("train")))
        rows = rows[-turns:]
        found[name] = {
            "first line": rows[0].line,
            **{
                field: [statistics.median(told), min(told), max(told)]
                for field in ("first", "step")
                for told in [[getattr(row, field) for row in rows]]
            },
        }
    return found


IMPORTS = (
    "import numpy", "import torch", "import torch._dynamo", "import scipy.optimize",
    "from transformers import LlamaForCausalLM, PreTrainedTokenizerFast", "import peft",
)  # fmt: skip
"""In the order of a start; each is charged with what those before it have not imported."""


def imported() -> None:
    """Prints the CPU seconds of each of `IMPORTS` in this process, as JSON."""
    gc.disable()
    seconds = {}
    for statement in IMPORTS:
        before = time.process_time()
        exec(statement, {})
        seconds[statement] = time.process_time() - before
    print(json.dumps(seconds))


def imports(turns: int) -> dict[str, float]:
    """The median CPU seconds of each import; the first turn fills the caches."""
    rows = [
        json.loads(subprocess.check_output([sys.executable, __file__, "--imported"]))
        for _ in range(turns + 1)
    ][1:]
    return {name: statistics.median(row[name] for row in rows) for name in IMPORTS}


def report(name: str, found: dict[str, Any]) -> None:
    print(
        f"\n{found['machine']}\n{name}: {found['prompts']} prompts, {found['tokens']:,} tokens; "
        "medians (and the best)"
    )
    print(f"  {'':<28}{'CPU s':>14}{'wall s':>16}{'first line s':>16}")
    for side, told in found["sides"].items():
        cells = "".join(f"{told[field][0]:>9.2f} ({told[field][1]:.2f})" for field in Start._fields)
        print(f"  {side:<28}{cells}")
    for what, ratio in found["ratios"].items():
        print(f"  ratio of {what:<19}{ratio:>7.2f}")
    for part, taken in found["parts"].items():
        print(f"    {part:<28}{taken:>7.2f}", flush=True)
    print(f"  floor: {floor_text(found)}", flush=True)


def floor_text(found: dict[str, Any]) -> str:
    """The CPU seconds of imports that no switch avoids, beside those of the whole start: all but
    the modules of gamedsl."""
    whole = found["sides"]["train"]["cpu"][0]
    least = sum(
        taken
        for part, taken in found["parts"].items()
        if part.startswith("import ") and part != "import gamedsl"
    )
    return f"{least:.2f} of {whole:.2f} CPU s are imports of libraries, which no switch avoids"


def main() -> None:
    if sys.argv[1:2] == ["--watched"]:
        watched(sys.argv[3:], Path(sys.argv[2]))
        return
    if sys.argv[1:2] == ["--limit"]:
        limit(sys.argv[2], int(sys.argv[3]))
        return
    if sys.argv[1:2] == ["--imported"]:
        imported()
        return
    parser = command(__doc__)
    parser.add_argument("--game", default=GAME)
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--cold", action="store_true", help="measure a first start too")
    parser.add_argument(
        "--uncompiled", action="store_true", help="measure a start without Python's bytecode too"
    )
    parser.add_argument("--imports", action="store_true", help="measure the imports too")
    parser.add_argument(
        "--screen", action="store_true", help="measure a terminal, and nothing else"
    )
    parser.add_argument("--against", type=Path, metavar="TREE", help="another checkout of gamedsl")
    args = parser.parse_args()
    load = f"load {os.getloadavg()[0]:.1f} at the start"
    told = {"machine": machine(f"{os.cpu_count()} cores", load), "turns": args.turns}
    if args.screen:
        named = {**told, "game": Path(args.game).stem, "model": args.model}
        keep(named | (rows := screens(args.game, args.model, args.turns)), args.out)
        print("\nwall seconds on a terminal, the median (the least to the most)")
        for name, row in rows.items():
            print(f"  {name}, which begins with `{row['first line']}`")
            for field, what in (("first", "first characters"), ("step", "step 1")):
                middle, least, most = row[field]
                print(f"    {what:<18}{middle:>6.2f} ({least:.2f} to {most:.2f})")
        return
    result: dict[str, Any] = {"starts": {}}
    trees = {"train": TREE} | ({"before": args.against.resolve()} if args.against else {})
    for setting in ("warm", *["cold"] * args.cold, *["uncompiled"] * args.uncompiled):
        name = f"{Path(args.game).stem}, {args.model}, {setting}"
        found = measured(args.game, args.model, args.turns, trees, setting)
        result["starts"][name] = {**told, **found}
        report(name, result["starts"][name])
    if args.imports:
        result["imports"] = imports(args.turns)
        print("\nCPU seconds of imports, one after another")
        for statement, taken in result["imports"].items():
            print(f"  {statement:<72}{taken:>6.2f}")
    keep(result, args.out)


if __name__ == "__main__":
    main()
