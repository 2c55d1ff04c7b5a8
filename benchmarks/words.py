"""Every game in words: played by the embedded model, through an endpoint, and trained for a step or
five; how many replies are valid, and whether anything warns.

    pip install -c constraints.txt -e ".[dev]"
    python benchmarks/words.py --out benchmarks/results/words.json
    python benchmarks/words.py --only debate village --transcripts words   # and the games to read
    python benchmarks/words.py --only --out benchmarks/results/words.json --page docs/results.md

Of each game 20 episodes are played with the model in all seats, 5 with all seats behind a server of
this machine that serves the same model in the form of chat completions, and 5 steps of 2 games are
trained. Where it plays, the temperature is `TEMPERATURE`, and JSON is held to its schema; options
are at the endpoint (`structured_outputs`, as vLLM takes it). Games are as shipped, but shorter
where `SHORTER` says so; no reply has more than `TOKENS` tokens, no thought more than `THOUGHT`.
Where `--out` is there already, games that are not run again stay. Exit code 1 where a closed
decision that the model was asked for got at most half valid replies, or a warning came.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import re
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as `gamedsl train` does
sys.path.insert(0, str(Path(__file__).parents[1]))

from shared import command, keep, machine

import gamedsl
from gamedsl.cli import main as gamedsl_command
from gamedsl.evaluate import Options, Plan, contestants, evaluate, intervals, referees_of
from gamedsl.evaluate.record import as_record
from gamedsl.evaluate.transcripts import keeper
from gamedsl.players.model import load_policy
from gamedsl.policies.endpoint import EndpointSettings
from gamedsl.policies.factory import PolicyOptions
from gamedsl.runtime import Game
from tests.evaluate.serving import Served, serving_model
from tests.shipped import GAMES

SHORTER: Mapping[str, Mapping[str, Any]] = {
    "debate": {"rounds": 1}, "consensus_debate": {"debaters": 2}, "twenty_questions": {"limit": 3},
    "twenty_questions_by_attributes": {"limit": 3}, "guess_in_words": {"tries": 3},
    "proposer_solver": {"solvers": 2}, "bargaining_in_words": {"rounds": 2},
    "code_team": {"drafts": 1}, "support": {"rounds": 1}, "village": {"days": 1},
    "werewolf": {"days": 1},
}  # fmt: skip
"""Params with which a game is shorter than as shipped."""
TEMPERATURE = 0.5
"""At which the model answers where it is not trained: at 1 most of what it writes never ends."""
TOKENS, THOUGHT = 64, 16
EPISODES, CALLED, STEPS = 20, 5, 5
LEAST = 0.5
"""The share of valid replies that a closed decision must have more of."""

PARTS = ("model", "endpoint", "train")

BEGIN, END = "<!-- words: written by benchmarks/words.py -->", "<!-- end -->"

Found = dict[str, Any]
NOBODY: Found = {"replies": []}


def main() -> int:
    parser = command(__doc__)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--only", nargs="*", metavar="GAME", default=list(names()))
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=PARTS)
    parser.add_argument("--transcripts", type=Path, metavar="DIR")
    parser.add_argument("--page", type=Path, metavar="FILE.md", help="write the table into it")
    parser.add_argument("--threads", type=int, default=min(2, os.cpu_count() or 1))
    args = parser.parse_args()
    known = json.loads(args.out.read_text("utf-8")) if args.out and args.out.exists() else {}
    found: Found = {"machine": machine(), "model": args.model, "games": known.get("games", {})}
    if args.only:
        run(args, found)
    print(f"\n{table(found['games'])}")
    if args.page:
        page = args.page.read_text("utf-8")
        args.page.write_text(rewritten(page, found["games"]), "utf-8")
    faults = [fault for name, one in found["games"].items() for fault in faults_of(name, one)]
    print("\n".join(faults) or "no warning, and more than half of all closed replies are valid")
    return 1 if faults else 0


def run(args: argparse.Namespace, found: Found) -> None:
    """Measure the games that are named, and keep each as soon as it is done."""
    # one copy plays all games, and is served
    policy = load_policy({"shared": args.model}, PolicyOptions())
    one_copy = patch("gamedsl.players.model.load_policy", lambda *_, **__: policy)
    with one_copy, serving_model(policy) as served, tempfile.TemporaryDirectory() as folder:
        for name in args.only:
            file = shortened(name, Path(folder))
            known = found["games"].setdefault(name, {"params": dict(SHORTER.get(name, {}))})
            for part in args.parts:
                known[part] = measured(part, file, args, served)
                found["games"] = dict(sorted(found["games"].items()))
                keep(found, args.out)
            print(table({name: found["games"][name]}), flush=True)


def rewritten(page: str, games: Mapping[str, Found]) -> str:
    """A page with the table in its place."""
    before, begin, rest = page.partition(BEGIN)
    if not begin or END not in rest:
        raise SystemExit(f"the page has no part from {BEGIN} to {END}")
    return f"{before}{BEGIN}\n{table(games)}\n{END}{rest.partition(END)[2]}"


def names() -> Iterator[str]:
    """The games in words."""
    for path in sorted(GAMES.glob("*.yaml")):
        if gamedsl.load(path).ir.in_form:
            yield path.stem


def shortened(name: str, folder: Path) -> Path:
    """A copy of a game's file, and of what it reads, with less room for replies."""
    shutil.copytree(GAMES, folder, dirs_exist_ok=True)
    path = folder / f"{name}.yaml"
    text = path.read_text("utf-8")
    for key, most in (("max_tokens", TOKENS), ("think", THOUGHT)):
        text = re.sub(
            rf"\b{key}: (\d+)", lambda m, k=key, n=most: f"{k}: {min(n, int(m[1]))}", text
        )
    path.write_text(text, "utf-8")
    return path


def measured(part: str, file: Path, args: argparse.Namespace, served: Served) -> Found:
    """A game, played by the model, through the endpoint, or trained."""
    if part == "train":
        return trained(file, args)
    game = gamedsl.load(file, SHORTER.get(file.stem, {}))
    if part == "model":
        return played(game, args.model, EPISODES, args.transcripts)
    return played(game, f"endpoint:{served.url}#{args.model}", CALLED, args.transcripts)


def played(game: Game, who: str, games: int, transcripts: Path | None) -> Found:
    """Somebody in all seats, those of referees too."""
    judges = [f"{role.name}={who}" for role in game.ir.referees]
    endpoints = EndpointSettings(
        timeout=900, calls=100_000, temperature=TEMPERATURE, constrain="structured_outputs"
    )
    people = tuple(contestants([f"model={who}"], 0, endpoints))
    kind = "endpoint" if who.startswith("endpoint:") else "model"
    keep_games = keeper(transcripts and transcripts / f"{game.name}-{kind}")
    options = Options(games, endpoints=endpoints, method="sampled", search=0, keep=keep_games)
    started = time.perf_counter()
    with warned() as said:
        held = referees_of(game, judges, people, 0, endpoints)
        found = evaluate(game, Plan(people, people, referees=held), options)
    record = as_record(found)
    steps = {step.id: step for step in game.ir.steps}
    return {
        "games": games,
        "own_ends": record["own_ends"]["value"],
        "seconds": round(time.perf_counter() - started, 1),
        "warnings": said,
        "replies": [
            {
                "role": one["role"], "step": one["step"], "form": form_of(game, one["step"]),
                "closed": steps[one["step"]].said is None, "replies": one["replies"],
                "valid": one["valid"]["value"], "tokens": one["tokens"], "invalid": one["invalid"],
            }
            for one in record["replies"]
        ],
        "endpoints": record["endpoints"],
    }  # fmt: skip


def form_of(game: Game, id: str) -> str:
    """Returns the reply form of a step: `text`, `json` or `code`, or the form of a closed
    decision."""
    step = next(step for step in game.ir.steps if step.id == id)
    if step.said is not None:
        return step.said.form
    return game.ir.respond.kind + ("" if game.ir.respond.think is None else ", thought")


def trained(file: Path, args: argparse.Namespace) -> Found:
    """Some steps on the command line."""
    name = file.stem
    settings = {"model": args.model, "games": 2, "group_size": 2, "threads": args.threads,
                "seed": 0}  # fmt: skip
    written = any(str(one.value).startswith("file:") for one in gamedsl.load(file).ir.settings)
    if written and name in SHORTER:
        settings["warm_up.expert"] = "none"  # the file's games are of the size as shipped
    params = (f"--param={key}={value}" for key, value in SHORTER.get(name, {}).items())
    with tempfile.TemporaryDirectory() as folder:
        argv = [
            "train",
            str(file),
            "--steps",
            str(STEPS),
            "--out",
            f"{folder}/run",
            "--format",
            "json",
        ]
        argv += [f"--set={key}={value}" for key, value in settings.items()]
        started = time.perf_counter()
        out, err = io.StringIO(), io.StringIO()
        with warned() as said, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = gamedsl_command([*argv, *params])
        said += [line for line in err.getvalue().splitlines() if "warning" in line.lower()]
    records = [json.loads(line) for line in out.getvalue().splitlines()]
    steps = [record for record in records if record["event"] == "step"]
    if code or len(steps) != STEPS:
        raise SystemExit(f"{name} was not trained: {err.getvalue()}")
    return {
        "steps": STEPS, "seconds": round(time.perf_counter() - started, 1), "warnings": said,
    }  # fmt: skip


@contextlib.contextmanager
def warned() -> Iterator[list[str]]:
    """Collects the warnings that Python gives meanwhile."""
    said: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield said
    said += [f"{one.category.__name__}: {one.message}" for one in caught]


def faults_of(name: str, one: Found) -> list[str]:
    """Returns the faults of a game's results."""
    there = [part for part in PARTS if part in one]
    said = [f"{name}: {line}" for part in there for line in one[part]["warnings"]]
    return said + [
        f"{name}: {row['valid']:.0%} of {row['replies']} replies of {row['role']} at {row['step']}"
        for row in one.get("model", NOBODY)["replies"] if row["closed"] and row["valid"] <= LEAST
    ]  # fmt: skip


def table(games: Mapping[str, Found]) -> str:
    """The share of valid replies by role and step, here and through the endpoint, as Markdown."""
    lines = [
        "| game | role: step | answered in | valid | valid, endpoint | own ends | seconds: played, "
        "called, trained |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for name, one in games.items():
        here, there = (
            {(row["role"], row["step"]): row for row in one.get(part, NOBODY)["replies"]}
            for part in ("model", "endpoint")
        )
        seconds = (f"{one[part]['seconds']:.0f}" if part in one else "–" for part in PARTS)
        ends = f"{one['model']['own_ends']:.0%}" if "model" in one else "–"
        first = [f"`{name}`", ends, ", ".join(seconds)]
        for place, row in {**here, **there}.items():
            cells = [first[0], ": ".join(place), row["form"]]
            cells += [share(here.get(place)), share(there.get(place)), *first[1:]]
            lines.append(f"| {' | '.join(cells)} |")
            first = ["", "", ""]
    return "\n".join(lines)


def share(row: Found | None) -> str:
    """`83% (64 to 93) of 24`, with Wilson's interval as of independent replies; a dash where nobody
    was asked."""
    if row is None:
        return "–"
    found = intervals.share(round(row["valid"] * row["replies"]), row["replies"])
    assert found is not None, "only what was asked is a row"
    between = f"({100 * found.low:.0f} to {100 * found.high:.0f})"
    return f"{row['valid']:.0%} {between} of {row['replies']}"


if __name__ == "__main__":
    sys.exit(main())
