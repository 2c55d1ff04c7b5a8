"""Prompts that explain the rules against the brief ones before: what a model does before training.

    python benchmarks/prompt_wordings.py --out benchmarks/results/prompt_wordings.json
    python benchmarks/prompt_wordings.py --out benchmarks/results/prompt_wordings.json --only

Ten games under both wordings of the default texts (`GameIR.wording`), with plain labels and without
`rules:`. In each episode the model holds one seat, another one each time, and the others draw their
actions uniformly; both wordings get the same seeds. `scored`: the labels are scored, as in
training of closed games, so that every reply is valid. `written`: the model writes its replies at
`TEMPERATURE`; an invalid one forfeits, and is paid the game's least. Printed are the mean payoff,
that of a uniform player in the same seats, and the share of valid replies, with 95% intervals.
With `--only` and no game the table of the file is printed. Where `--out` is there already, games
that are not run again stay.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as `gamedsl train` does

import numpy as np
from shared import command, keep, machine

import gamedsl
from gamedsl.evaluate.intervals import Estimate, mean, share
from gamedsl.ir.game import Labels
from gamedsl.players.base import Player, Posed, answer
from gamedsl.players.model import ModelPlayer, SpeakingPlayer, load_policy
from gamedsl.players.random import RandomPlayer
from gamedsl.policies.factory import PolicyOptions
from gamedsl.runtime import Game
from gamedsl.runtime.decision import Action
from gamedsl.tables.model import Table, text_columns
from gamedsl.tables.text import rendered, table_lines

GAMES: Mapping[str, Mapping[str, Any]] = {
    "prisoners_dilemma": {}, "chicken": {}, "stag_hunt": {}, "ultimatum": {}, "centipede": {},
    "public_goods": {}, "kuhn_poker": {}, "goofspiel": {}, "nim": {"piles": [1, 2, 3]},
    "battle_of_the_sexes": {},
}  # fmt: skip
"""The games, with params that make one shorter."""
WORDINGS = ("brief", "explained")
PARTS = ("scored", "written")
EPISODES = {"scored": 200, "written": 60}
TEMPERATURE = 0.5
UNIFORM = 2_000
"""Episodes of the uniform player."""

Found = dict[str, Any]


def main() -> int:
    parser = command(__doc__ or "")
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--only", nargs="*", metavar="GAME", default=list(GAMES))
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=list(PARTS))
    given = parser.parse_args()
    kept: Path | None = given.out
    found: Found = {"machine": machine(), "model": given.model, "games": {}}
    if kept is not None and kept.exists():
        found = json.loads(kept.read_text(encoding="utf-8"))
    policy = None
    for name in given.only:
        if policy is None:
            policy = load_policy({"shared": given.model}, PolicyOptions(finetuning="lora"))
        row: Found = found["games"].setdefault(name, {"params": dict(GAMES[name])})
        game = plain(name)
        row["uniform"] = as_data(mean(np.array(uniform(game))))
        for part in given.parts:
            for wording in WORDINGS:
                began = time.perf_counter()
                row[f"{part} {wording}"] = measured(game.worded(wording), policy, part)
                took = time.perf_counter() - began
                print(f"{name} {part} {wording}: {took:.0f} s", file=sys.stderr, flush=True)
                keep(found, kept)
    print(rendered(table_lines(table(found))))
    return 0


def plain(name: str) -> Game:
    """Returns a shipped game with plain labels; whose reply is invalid is paid the game's least."""
    game = gamedsl.load(name, params=GAMES[name])
    ir = replace(game.ir, labels=Labels("plain"), on_invalid=())
    assert not any(template.slot == "rules" for template in ir.templates)
    return replace(game, ir=ir)


def uniform(game: Game) -> list[float]:
    """Returns what a uniform player is paid, in each seat in turn, among uniform players."""
    env, dice, paid = game.env(), random.Random(0), []
    for number in range(UNIFORM):
        episode = env.reset(seed=number)
        while not episode.done:
            episode.step({d.seat: Action(dice.choice(d.legal)) for d in episode.decisions})
        paid.append(float(episode.payoffs[env.seats[number % len(env.seats)]] or 0))
    return paid


def measured(game: Game, policy: Any, part: str) -> Found:
    """Plays a game with the model in one seat: what it is paid, and how many of its replies are
    valid."""
    env = game.env(tokenizer=policy.tokenizer)
    adapters = {role.name: "shared" for role in game.ir.roles}
    player: Player
    if part == "scored":
        player = ModelPlayer(policy, adapters)
    else:
        player = SpeakingPlayer(policy, adapters, free=True, temperature=TEMPERATURE)
    episodes = [env.reset(seed=number) for number in range(EPISODES[part])]
    seats = [env.seats[number % len(env.seats)] for number in range(len(episodes))]
    others = RandomPlayer(seed=0)
    replies = valid = tokens = 0
    while any(not episode.done for episode in episodes):
        asked: list[tuple[int, Posed]] = []
        moves: list[dict[str, Any]] = [{} for _ in episodes]
        for number, episode in enumerate(episodes):
            for decision in episode.decisions:
                place = f"{number} {len(decision.seen)} {decision.seat}"
                seed = random.Random(place).getrandbits(31)
                posed = Posed(decision, episode, seed)
                if decision.seat == seats[number]:
                    asked.append((number, posed))
                    counted = policy.tokenizer.render(decision.messages)
                    tokens = max(tokens, policy.tokenizer.count(counted))
                else:
                    drawn = others.draw(decision, episode, random.Random(seed + 1))
                    moves[number][decision.seat] = drawn
        for start in range(0, len(asked), 64):
            batch = asked[start : start + 64]
            answers = answer(player, [posed for _, posed in batch])
            for (number, posed), answered in zip(batch, answers, strict=True):
                moves[number][posed.decision.seat] = answered.reply
                read = posed.episode.parse(posed.decision, answered.reply)
                replies, valid = replies + 1, valid + isinstance(read, str)
        for episode, move in zip(episodes, moves, strict=True):
            if move:
                episode.step(move)
    paid = [
        float(episode.payoffs[seat] or 0) for episode, seat in zip(episodes, seats, strict=True)
    ]
    return {
        "payoff": as_data(mean(np.array(paid))), "valid": as_data(share(valid, replies)),
        "replies": replies, "tokens": tokens,
    }  # fmt: skip


def as_data(estimate: Estimate | None) -> Found:
    """Returns an estimate as JSON-able data."""
    assert estimate is not None
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high}


def table(found: Found) -> Table:
    """Returns the results as a table: each cell the estimate and half its interval, a share with
    both ends of its interval."""
    head = ["game", "uniform"]
    head += [f"{part}, {wording}" for part in PARTS for wording in WORDINGS]
    head += [f"valid, {wording}" for wording in WORDINGS] + ["tokens"]
    rows = []
    for name in GAMES:
        row = found["games"].get(name, {})
        cells = [name, cell(row.get("uniform"))]
        cells += [
            cell(row.get(f"{part} {wording}", {}).get("payoff"))
            for part in PARTS for wording in WORDINGS
        ]  # fmt: skip
        cells += [between(row.get(f"written {wording}", {}).get("valid")) for wording in WORDINGS]
        lengths = [str(row.get(f"scored {wording}", {}).get("tokens", "")) for wording in WORDINGS]
        rows.append((*cells, " → ".join(lengths)))
    return Table(text_columns(*head), rows)


def between(estimate: Found | None) -> str:
    """Returns `12% (6 to 22)`; empty for what was not measured."""
    if estimate is None:
        return ""
    return f"{estimate['value']:.0%} ({100 * estimate['low']:.0f} to {100 * estimate['high']:.0f})"


def cell(estimate: Found | None) -> str:
    """Returns `1.20 ± 0.31`; empty for what was not measured."""
    if estimate is None:
        return ""
    return f"{estimate['value']:.2f} ± {(estimate['high'] - estimate['low']) / 2:.2f}"


if __name__ == "__main__":
    sys.exit(main())
