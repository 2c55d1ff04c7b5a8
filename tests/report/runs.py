"""Run folders as the trainer leaves them, without training: policies move in a straight line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import gamedsl
from gamedsl.prompting.labels import draw_labels
from gamedsl.solve import Tree, expected, exploitability, predict_basin, tabulate, uniform
from gamedsl.training.summary import summarise

Policy = Mapping[str, Mapping[str, float]]


def pure(tree: Tree, names: Mapping[str, str], weight: float = 0.99) -> Policy:
    """Each information set plays its named action with `weight`, the others equally often."""
    return {
        s.key: {
            a: weight if a == names[s.key] else (1 - weight) / (len(s.actions) - 1)
            for a in s.actions
        }
        for s in tree.info_sets
    }


def record(tree: Tree, policy: Policy, step: int, **more: object) -> dict:
    worth = expected(tree, policy)
    mean: dict[str, list[float]] = {}
    for seat, role in zip(tree.seats, tree.roles, strict=True):
        mean.setdefault(role, []).append(float(worth[seat]))
    reward = {role: sum(xs) / len(xs) for role, xs in mean.items()}
    return {
        "event": "step", "step": step, "seconds": 1.5, "games": 128, "reward": reward,
        "payoff": reward, "entropy": dict.fromkeys(reward, 0.5),
        "policy": {s.key: {"role": s.role, "seat": s.seat, "step": s.step,
                           "probs": {a: float(p) for a, p in policy[s.key].items()}}
                   for s in tree.info_sets},
        "exploitability": float(exploitability(tree, policy).per_player), "loss": -0.1,
        "grad_norm": 0.3, "lr": 1e-4, "tokens": 90, "prompts": 2, "sequences": 256, **more,
    }  # fmt: skip


def records(tree: Tree, final: Policy, steps: int, start: Policy | None = None) -> list[dict]:
    """The start record and those of `steps` steps."""
    start = start or {k: {a: float(p) for a, p in r.items()} for k, r in uniform(tree).items()}
    prediction = predict_basin(tree, start)
    found = [record(tree, start, 0, event="start", prediction=prediction and prediction.as_dict())]
    for step in range(1, steps + 1):
        t = step / steps
        policy = {
            key: {a: (1 - t) * p + t * final[key][a] for a, p in row.items()}
            for key, row in start.items()
        }
        found.append(record(tree, policy, step))
    return found


def write_run(
    folder: Path,
    name: str,
    final: Mapping[str, str] | Policy,
    *,
    steps: int = 8,
    params: Mapping | None = None,
) -> Path:
    game = gamedsl.load(name, params or {})
    tree = tabulate(game.env())
    if all(isinstance(value, str) for value in final.values()):
        final = pure(tree, final)
    lines = records(tree, final, steps)
    told = summarise(lines[0], lines[-1], tree)
    lines.append({"event": "end", "step": steps, "summary": told})
    folder.mkdir(parents=True)
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "metrics.jsonl").write_text(text)
    (folder / "game").mkdir()
    for file in game.files:
        shutil.copyfile(file, folder / "game" / file.name)
    book = draw_labels(game.ir, run_seed=3, seed=0)
    (folder / "labels.json").write_text(json.dumps(book.as_dict()))
    (folder / "recipe.yaml").write_text(
        f"model: tiny\nsteps: {steps}\ngames: 128\nseed: 3\nlora:\n  rank: 8\n"
    )
    info = {
        "format": 1, "game": game.name, "file": str(game.files[0]), "params": dict(params or {}),
        "hash": game.hash, "rules_hash": game.ir.rules_hash,
        "rendering_hash": game.ir.rendering_hash, "model": "tiny", "seed": 3,
        "versions": {"python": "3.11", "torch": "2.13"},
    }  # fmt: skip
    (folder / "run.json").write_text(json.dumps(info))
    _write_transcripts(folder, game, steps)
    return folder


def _write_transcripts(folder: Path, game: gamedsl.Game, steps: int) -> None:
    (folder / "transcripts").mkdir()
    lines = []
    for games, place in ((90, -1), (38, 0)):
        episode = game.env(run_seed=3).reset(seed=0)
        while not episode.done:
            episode.step({d.seat: gamedsl.Action(d.legal[place]) for d in episode.decisions})
        lines.append(json.dumps({"games": games, "group": 0, **episode.transcript}) + "\n")
    (folder / "transcripts" / f"step-{steps:06d}.jsonl").write_text("".join(reversed(lines)))
