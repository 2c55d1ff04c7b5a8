"""Win rate of the better-placed side of a debate, on topics that were never trained on.

    python benchmarks/debate.py --out benchmarks/results/debate-0.json
    python benchmarks/debate.py --seed 1 --run runs/debate-1 --out benchmarks/results/debate-1.json
    python benchmarks/debate.py --judges taught --run runs/debate-taught --episodes 200 \\
        --out benchmarks/results/debate_taught-0.json
    python benchmarks/debate.py --judges learn --run runs/debate-judged --episodes 200 \\
        --out benchmarks/results/debate_judged-0.json
    python benchmarks/debate.py --together benchmarks/results/debate_taught-*.json

Trains both sides of `debate_by_rule`, an adapter each, as the game's recipe says (or goes on with
the run of `--run`), and plays the topics that the game holds out with the adapters as they were
before the first step and after the last, on common seeds. A tie is half a win. Episodes on one
topic are alike, so the interval is over the topics: 95%, t, of their means. With `--judges` it is
`debate_judged`: the judges are two seats of a language model, who read the sides in both orders.
All imitate debates between players of `benchmarks/experts.py` first. Judges that are `taught` stay
as they are then: a run of one step makes them, and its start judges. Judges that `learn` are paid
for what they decide, and two more rows say who it was that learned: the trained sides before the
judges of the start, and the sides of the start before the trained judges. `--together` trains
nothing: it reads results of several seeds, and tells their mean over the same topics.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml
from shared import command, keep, machine
from train_queue import play_expert

import gamedsl
from gamedsl.diagnostics import Problems
from gamedsl.evaluate.intervals import Estimate, mean
from gamedsl.players.runs import run_player
from gamedsl.players.table import open_player
from gamedsl.recipe.resolve import override, resolve
from gamedsl.recipe.table import Recipe
from gamedsl.runtime import Game
from gamedsl.training.metrics import reply_metrics
from gamedsl.training.rollout import play
from gamedsl.training.runfolder import open_run
from gamedsl.training.seats import assign_seats
from gamedsl.training.sessions import Sessions, writer
from gamedsl.training.trajectories import Trajectory

GAME, JUDGED = "games/debate_by_rule.yaml", "benchmarks/debate_judged.yaml"
MODEL, RUN = "smollm2-135m", Path("runs/debate")
EXPERT = {"player": "Side", "games": 1000, "referees": {"judge": "judge"}}


def train(file: str, folder: Path, seed: int, settings: list[str]) -> None:
    """Make the run, or go on with it. CalledProcessError where training fails."""
    line = [sys.executable, "-m", "gamedsl", "train", "--format", "concise"]
    if any((folder / "checkpoints").glob("step-*.pt")):
        line += ["--resume", str(folder)]
    else:
        line += [file, "--model", MODEL, "--seed", str(seed), "--out", str(folder)]
        line += ["--set", "threads=1", "--set", "keep_checkpoints=100"]
        for setting in settings:
            line += ["--set", setting]
    subprocess.run(line, check=True)


def train_judged(folder: Path, seed: int, judges: str) -> None:
    """The same before judges that are models. CalledProcessError where training fails."""
    played = folder.with_suffix(".expert.jsonl")
    if not played.exists():
        play_expert(JUDGED, EXPERT, played, seed)
    warm_up = {"expert": f"file:{played}", "epochs": 3, "batch": 32, "lr": 0.001}
    settings = [f"warm_up={json.dumps(warm_up)}"]
    if judges == "taught":
        teaching = folder.with_suffix(".judges")
        if not (teaching / "checkpoints" / "step-000001.pt").exists():
            train(JUDGED, teaching, seed, [*settings, "steps=1"])
        taught = {"player": f"run:{teaching}@0", "trained": False}
        settings += [f"roles.judge={json.dumps(taught)}"]
    train(JUDGED, folder, seed, settings)


def recipe_of(game: Game, folder: Path) -> Recipe:
    settings = [override(key, value) for key, value in open_run(folder).settings().items()]
    recipe = resolve(game.ir, settings, Problems())
    assert recipe is not None
    return recipe


def measured(
    game: Game, recipe: Recipe, folder: Path, step: int, episodes: int, judged_by: int | None = None
) -> dict[str, Any]:
    """Measures the adapters of a step on the held-out topics; the judges may be of another step."""
    game = game.of("held_out")
    seating = assign_seats(game, recipe)
    opened = partial(
        run_player, game=game, open_holder=partial(open_player, game=game, seed=recipe.seed),
        seed=recipe.seed,
    )  # fmt: skip
    player = opened(f"{folder}@{step}")
    if judged_by is not None:
        judge = seating.adapter("judge")
        state = opened(f"{folder}@{judged_by}").policy.adapter_state(judge)
        player.policy.load_adapter_state(judge, state)
    env = game.env(run_seed=recipe.seed, tokenizer=player.policy.tokenizer)
    alone = replace(recipe, games=episodes, group_size=1)
    batch = play(env, Sessions(writer(player.policy)), alone, recipe.steps + 1, seating)
    won: dict[str, list[float]] = defaultdict(list)
    for trial in batch.trajectories:
        won[topic_of(trial)].append(share_of(trial))
    every = [share for shares in won.values() for share in shares]
    found = mean(np.array([np.mean(shares) for shares in won.values()]))
    assert found is not None
    said = reply_metrics(batch)
    paid = [trial.episode.transcript.get("referees", {}) for trial in batch.trajectories]
    verdicts = [float(amount) for one in paid for amount in one.values()]
    return {
        "step": step, **({} if judged_by is None else {"judges": judged_by}),
        "episodes": len(every), "topics": len(won),
        "win_rate": round(float(np.mean(every)), 4),
        "of_topics": round(found.value, 4),
        "interval": [round(max(0.0, found.low), 4), round(min(1.0, found.high), 4)],
        **({"right_verdicts": round(float(np.mean(verdicts)), 4)} if verdicts else {}),
        "won_tied_lost": [every.count(share) for share in (1.0, 0.5, 0.0)],
        "valid": said["valid"], "reply_tokens": said["reply_tokens"],
        "by_topic": {name: round(float(np.mean(shares)), 4) for name, shares in won.items()},
    }  # fmt: skip


def topic_of(trial: Trajectory) -> str:
    """The question of a game."""
    row: str = trial.episode.transcript["steps"][0]["chance"]["topic"]
    return row.rsplit(",", 3)[0]


def share_of(trial: Trajectory) -> float:
    """Returns the better-placed side's share of wins."""
    placed = trial.episode.paid["well_placed"]
    (better,) = (seat for seat, there in placed.items() if there)
    amount = trial.episode.payoffs[better]
    assert amount is not None
    return float(amount)


def gained(before: dict[str, float], after: dict[str, float]) -> dict[str, Any]:
    """Returns by how much more of its games the better-placed side wins on a topic, on the same
    seeds: the mean over topics, with its interval."""
    found = mean(np.array([after[topic] - before[topic] for topic in sorted(before)]))
    assert found is not None
    return {"mean": round(found.value, 4), "interval": [round(found.low, 4), round(found.high, 4)]}


def together(found: Sequence[dict[str, Any]]) -> dict[str, Estimate]:
    """Returns the better-placed side's share of wins before and after training, and what it gained:
    the mean over topics, of each topic's mean over results that differ in their seed."""
    topics = sorted(found[0]["before"]["by_topic"])
    before, after = (
        np.mean([[one[when]["by_topic"][topic] for topic in topics] for one in found], axis=0)
        for when in ("before", "after")
    )
    rows = {"before": before, "after": after, "gained": after - before}
    return {name: told for name, row in rows.items() if (told := mean(row)) is not None}


def curve(folder: Path) -> list[dict[str, Any]]:
    """Returns the results of each training step."""
    kept = ("step", "payoff", "valid", "reply_tokens", "seconds")
    text = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in text]
    return [{key: one[key] for key in kept} for one in records if one["event"] == "step"]


def main() -> None:
    parser = command(__doc__)
    parser.add_argument("--run", type=Path, default=RUN, metavar="FOLDER")
    parser.add_argument(
        "--judges", choices=["taught", "learn"], help="before judges that are models"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--episodes", type=int, default=240)
    parser.add_argument(
        "--together", type=Path, nargs="+", metavar="JSON", help="the mean of results by seed"
    )
    args = parser.parse_args()
    if args.together:
        for name, told in together([json.loads(one.read_text()) for one in args.together]).items():
            print(f"{name}: {told.value:.1%} ({told.low:.1%} to {told.high:.1%})")
        return
    torch.set_num_threads(1)
    file = JUDGED if args.judges else GAME
    if args.judges:
        train_judged(args.run, args.seed, args.judges)
    else:
        train(GAME, args.run, args.seed, [])
    game = gamedsl.load(file)
    told, recipe = open_run(args.run).info(), recipe_of(game, args.run)
    found = {
        "machine": machine("one thread"),
        "game": game.name, "hash": told["hash"], "seed": told["seed"], "rows": told["rows"],
        "versions": told["versions"],
        "recipe": yaml.safe_load((args.run / "recipe.yaml").read_text(encoding="utf-8")),
        "seconds": round(sum(step["seconds"] for step in curve(args.run)), 1),
        "before": measured(game, recipe, args.run, 0, args.episodes),
        "after": measured(game, recipe, args.run, recipe.steps, args.episodes),
        "steps": curve(args.run),
    }  # fmt: skip
    if args.judges == "learn":
        for name, sides, judges in (("sides", recipe.steps, 0), ("judges", 0, recipe.steps)):
            found[f"{name}_alone"] = measured(
                game, recipe, args.run, sides, args.episodes, judged_by=judges
            )
    found["gained"] = gained(found["before"]["by_topic"], found["after"]["by_topic"])
    for name in ("before", "after", "sides_alone", "judges_alone"):
        if name not in found:
            continue
        one = found[name]
        low, high = one["interval"]
        print(f"{name}: the better-placed side wins {one['win_rate']:.1%} of {one['episodes']}"
              f" episodes on {one['topics']} topics ({low:.1%} to {high:.1%}),"
              f" won, tied, lost {one['won_tied_lost']}")  # fmt: skip
    keep(found, args.out)


if __name__ == "__main__":
    main()
