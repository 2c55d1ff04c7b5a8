"""Writes the files that later versions must read: `python -m tests.compat FOLDER`.

    hashes.json       content hashes of every shipped game
    transcripts/      two plays of every shipped game by a random valid player
    runs.tar.xz       training runs cut back to their checkpoint at half the steps; `whole.jsonl`
                      holds the metrics of all steps
    results/          a saved equilibrium, an evaluation and a leaderboard

Run it on a released version alone: the files are compared with what newer code makes of them.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import gamedsl
from tests.shipped import GAMES

HASHES = "hash", "rules_hash", "rendering_hash", "tree_hash"
EPISODES = 2
RUNS: dict[str, tuple[str, ...]] = {
    "project_tabular": ("kuhn_poker", "model=tabular", "games=64"),
    "grpo_lora": ("stag_hunt", "model=tiny", "lora.rank=2"),
    "magnet_pool": (
        "biased_rock_paper_scissors", "model=tabular", "method=magnet", "games=64",
        "opponents={self: 0.5, pool: 0.5}", "pool.every=2",
    ),
    "expert_iteration": ("nim", "model=tabular", "method=expert", "games=32"),
    "counterfactual_credit": ("ultimatum", "model=tabular", "method=grpo", "credit=counterfactual"),
    "words": (
        "guess_in_words", "model=tiny", "lora.rank=2", "games=8", "warm_up.games=16",
        "warm_up.epochs=1",
    ),
}  # fmt: skip
"""The game and the settings of each training run."""
STEPS, HALF = 6, 3


def hashes(name: str) -> dict[str, str]:
    """The content hashes of a shipped game, by their names."""
    game = gamedsl.load(name)
    return {key: getattr(game.ir if key != "hash" else game, key) for key in HASHES}


def play(name: str, seed: int) -> str:
    """The transcript of a game that is played by a random valid player."""
    from gamedsl.players.table import open_player

    game = gamedsl.load(name)
    player = open_player("random", game, seed=seed)
    episode = game.env().reset(seed=seed)
    while not episode.done:
        episode.step({d.seat: player.act(d, episode) for d in episode.decisions})
    return json.dumps(episode.transcript, ensure_ascii=False)


def command(*arguments: str, folder: Path) -> None:
    subprocess.run([sys.executable, "-m", "gamedsl", *arguments], cwd=folder, check=True)


def train(name: str, folder: Path) -> None:
    game, *settings = RUNS[name]
    sets = [part for setting in settings for part in ("--set", setting)]
    command(
        "train", str(GAMES / f"{game}.yaml"), "--steps", str(STEPS), "--seed", "3", "--out", name,
        "--format", "concise", "--set", f"checkpoint_every={HALF}", *sets, folder=folder,
    )  # fmt: skip
    run = folder / name
    about = json.loads((run / "run.json").read_text(encoding="utf-8"))
    (run / "run.json").write_text(json.dumps(about | {"file": game}), encoding="utf-8")
    lines = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (run / "whole.jsonl").write_text("".join(lines), encoding="utf-8")
    half = [line for line in lines if json.loads(line)["step"] <= HALF]
    (run / "metrics.jsonl").write_text("".join(half), encoding="utf-8")
    (run / "checkpoints" / f"step-{STEPS:06}.pt").unlink()
    (run / "report.html").unlink()


def main(folder: Path) -> None:
    names = sorted(path.stem for path in GAMES.glob("*.yaml"))
    (folder / "transcripts").mkdir(parents=True)
    table = {name: hashes(name) for name in names}
    (folder / "hashes.json").write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    for name in names:
        lines = [play(name, seed) for seed in range(EPISODES)]
        text = "".join(f"{line}\n" for line in lines)
        (folder / "transcripts" / f"{name}.jsonl").write_text(text, encoding="utf-8")
    results = folder / "results"
    results.mkdir()
    command("solve", "kuhn_poker", "--save", "kuhn_poker.json", folder=results)
    command(
        "eval", "policy:kuhn_poker.json", "random", "--game", "kuhn_poker", "--games", "20",
        "--out", "evaluation.json", "--leaderboard", "leaderboard.json", folder=results,
    )  # fmt: skip
    with tarfile.open(folder / "runs.tar.xz", "w:xz") as archive:
        for name in RUNS:
            train(name, folder)
            archive.add(folder / name, name)
            shutil.rmtree(folder / name)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
