"""Runs a list of trainings one after another, and goes on where a kill left it.

    python benchmarks/train_queue.py                              # all of benchmarks/methods.yaml
    python benchmarks/train_queue.py --only kuhn --list           # what is done, and what is to do
    python benchmarks/train_queue.py other.yaml --runs /scratch/runs --results results

An entry of the list is a name, a game and settings, with seeds, and `held_out` games that the
trained policy plays at the end; those in `beside` play the same ones: players, and `start`, the
policy after its warm-up alone, whose checkpoint the run must keep. `ROLE=PLAYER` there is the
trained policy with another referee. With `carry` they are lineages,
and the first and the last episodes of each are told apart. `expert` says what the warm-up imitates:
the `games` of a `player` of `benchmarks/experts.py`, or another `module` beside it, with `referees`
where a game has them, played beforehand on the rows that are trained on. A player in Python in
`beside` is judged by the referees of the trained policy. A file is a list of entries, or
a map of `entries` and the settings that all of them have (`set`). An entry and a seed are a run,
made by `gamedsl train` in a folder of its own under `--runs`. A run that was killed is resumed from
its last checkpoint, to the same numbers; one that ended has a file in `--results`, with its curve,
its recipe, the game's hash and the versions, and is not made again unless its entry or the game has
changed since. Two queues on one machine share the work: a run belongs to who locks its folder.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from itertools import chain
from pathlib import Path
from typing import Any

import yaml
from shared import command

import gamedsl
from gamedsl.diagnostics import Problems
from gamedsl.evaluate.intervals import share
from gamedsl.ir.rows import holds_out
from gamedsl.recipe.methods import table
from gamedsl.recipe.resolve import flat_settings, parse_overrides, resolve
from gamedsl.training.monitors.extinction import inside

HERE = Path(__file__).parent
EXPERTS = "experts.py"
LIST, RUNS, RESULTS = HERE / "methods.yaml", Path("runs/queue"), HERE / "results" / "methods"
KEPT = (
    "step", "exploitability", "exploitability_interval", "reward", "entropy", "in_range", "lines",
    "replies", "valid", "explained_variance", "lag", "ess", "seconds",
)  # fmt: skip
SEED = 1
"""Of the games that are held out."""
START = "start"
"""In `beside`, the policy before its first step."""

Result = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Entry:
    """One line of a list: how to train, with which seeds, and what must come of it.

    `settings` are those of `--set`. `claims` are judged by `benchmarks/methods.py`, which shows
    them in the table of that heading, in a row of that name; an entry without a table is in none.
    """

    name: str
    game: str
    settings: dict[str, Any]
    params: dict[str, Any]
    seeds: tuple[int, ...]
    table: str
    row: str
    claims: tuple[dict[str, Any], ...]
    held_out: int = 0
    """Games that the trained policy plays beside, from seeds that training does not know."""
    beside: tuple[str, ...] = ()
    """Others that play these games: players, `START`, and ROLE=PLAYER, a referee in the place of
    the trained one."""
    carry: int = 1
    """Episodes of a lineage, each of which begins with the memory that the one before left."""
    expert: dict[str, Any] = field(default_factory=dict)
    """What the warm-up imitates: a `player` in a Python `module`, how many `games` of it, and
    `referees`."""
    shown: int = 8000
    """Probabilities of actions that a result keeps: those of all steps, or of some, evenly spread,
    the last among them; with 0 none."""

    @property
    def fingerprint(self) -> str:
        """Changes with what a run depends on: the settings and the compiled game. The brief wording
        adds nothing, since older results, all of that wording, do not name theirs."""
        ir_hash = gamedsl.load(self.game, params=self.params).hash
        settings = {"wording": table()["wording"].default, **self.settings}
        if settings["wording"] == "brief":
            del settings["wording"]
        parts = [self.game, ir_hash, settings, self.params]
        parts += [self.held_out] * (self.held_out > 0) + [list(self.beside)] * bool(self.beside)
        parts += [self.carry] * (self.carry > 1)
        if self.expert:
            parts += [self.expert, module_of(self.expert).read_text(encoding="utf-8")]
        text = json.dumps(parts, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def entries(path: Path) -> list[Entry]:
    """The entries of a file. SystemExit for one that has other keys, or a name twice."""
    known = {one.name for one in fields(Entry)} - {"settings"} | {"set"}
    found: list[Entry] = []
    listed = yaml.safe_load(path.read_text(encoding="utf-8"))
    shared = {} if isinstance(listed, list) else dict(flat_settings(listed["set"]))
    for row in listed if isinstance(listed, list) else listed["entries"]:
        other = set(row) - known
        if other or not {"name", "game"} <= set(row):
            raise SystemExit(f"{path}: {row.get('name', row)}: not a key: {', '.join(other)}")
        if row["name"] in {entry.name for entry in found}:
            raise SystemExit(f"{path}: {row['name']} is there twice")
        settings, params = (
            {**shared, **dict(flat_settings(row.get("set", {})))},
            row.get("params", {}),
        )
        seeds, claims = tuple(row.get("seeds", (0,))), tuple(row.get("claims", ()))
        table, title = row.get("table", ""), row.get("row", row["name"])
        more = {key: row[key] for key in ("held_out", "shown", "carry", "expert") if key in row}
        found.append(
            Entry(
                row["name"], row["game"], settings, params, seeds, table, title, claims,
                beside=tuple(row.get("beside", ())), **more,
            )
        )  # fmt: skip
    return found


@dataclass(frozen=True)
class Run:
    """An entry with one of its seeds, and where its folder and its result are."""

    entry: Entry
    seed: int
    folder: Path
    result: Path

    @property
    def name(self) -> str:
        return f"{self.entry.name}, seed {self.seed}"

    def done(self) -> Result | None:
        """Its result, if there is one of this very entry."""
        if not self.result.exists():
            return None
        found: Result = json.loads(self.result.read_text(encoding="utf-8"))
        return found if found["fingerprint"] == self.entry.fingerprint else None

    def command(self) -> list[str]:
        """Returns the command that makes the run, or resumes it."""
        train = [sys.executable, "-m", "gamedsl", "train", "--format", "concise"]
        if any((self.folder / "checkpoints").glob("step-*.pt")):
            return [*train, "--resume", str(self.folder)]
        shutil.rmtree(self.folder, ignore_errors=True)  # stopped before anything was learned
        train += [self.entry.game, "--seed", str(self.seed), "--out", str(self.folder)]
        settings = dict(self.entry.settings)
        if self.entry.expert:
            file = self.folder.with_suffix(".expert.jsonl")
            play_expert(self.entry.game, self.entry.expert, file, self.seed, self.entry.carry)
            settings["warm_up.expert"] = f"file:{file}"
        for flag, values in (("--set", settings), ("--param", self.entry.params)):
            for text in assignments(values):
                train += [flag, text]
        return train

    def make(self) -> Result:
        """Train to the end, and write the result. CalledProcessError where training fails, and
        SystemExit where the policy after the warm-up is to play, and would not be kept."""
        require_start(self.entry)
        stamp = self.folder.with_suffix(".entry")
        if not stamp.exists() or stamp.read_text() != self.entry.fingerprint:
            shutil.rmtree(self.folder, ignore_errors=True)
            stamp.write_text(self.entry.fingerprint)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = self.command()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        found = summary(self, None if "--resume" in command else round(spent, 1))
        self.result.parent.mkdir(parents=True, exist_ok=True)
        new = self.result.with_suffix(".new")
        new.write_text(written(found), encoding="utf-8")
        new.replace(self.result)
        return found


def assignments(values: dict[str, Any]) -> list[str]:
    """Returns settings or params as the command line takes them."""
    return [
        f"{key}={value if isinstance(value, str) else json.dumps(value)}"
        for key, value in values.items()
    ]


def require_start(entry: Entry) -> None:
    """SystemExit where `START` is beside, and a run will have dropped its checkpoint at the end."""
    if START not in entry.beside:
        return
    ir = gamedsl.load(entry.game, params=entry.params).ir
    recipe = resolve(ir, parse_overrides(assignments(entry.settings)), Problems())
    saved = recipe.steps // recipe.checkpoint_every + 1
    if saved > recipe.keep_checkpoints:
        raise SystemExit(
            f"{entry.name}: a run saves {saved} checkpoints and keeps {recipe.keep_checkpoints}: "
            f"`{START}` would be lost; set keep_checkpoints, or a larger checkpoint_every"
        )


def module_of(expert: dict[str, Any]) -> Path:
    """Returns the Python file of a player that is imitated."""
    return HERE / expert.get("module", EXPERTS)


def play_expert(game: str, expert: dict[str, Any], file: Path, seed: int, carry: int = 1) -> None:
    """Plays what a warm-up is to imitate, and writes a file of its transcripts."""
    games, module = file.with_suffix(""), module_of(expert)
    player = f"module:{module}:{expert['player']}"
    shutil.rmtree(games, ignore_errors=True)
    named = expert.get("referees", {}).items()
    referees = [("--referee", f"{role}=module:{module}:{name}") for role, name in named]
    rows = ["--rows", "training"] if holds_out(gamedsl.load(game).ir) else []
    subprocess.run(
        [sys.executable, "-m", "gamedsl", "eval", player, "--against", player, "--game", game,
         "--games", str(expert["games"]), "--seed", str(seed), "--carry", str(carry),
         "--search", "0", "--transcripts", str(games), *chain(*referees), *rows],
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    (played,) = games.glob("*.jsonl")
    played.replace(file)


def summary(run: Run, cpu_seconds: float | None) -> Result:
    """Returns the record of a run: all that its claims and its curves need. `cpu_seconds` is
    that of the whole run, loading included; None if it was resumed."""
    text = (run.folder / "metrics.jsonl").read_text(encoding="utf-8")
    records = [json.loads(line) for line in text.splitlines()]
    steps = [record for record in records if record["event"] == "step"]
    told = json.loads((run.folder / "run.json").read_text(encoding="utf-8"))
    places = [place for record in steps for place in record.get("policy", {}).values()]
    every = max(1, -(-sum(len(place["probs"]) for place in places) // max(1, run.entry.shown)))
    last = steps[-1] if steps else {}
    kept = {len(steps) - 1 - back for back in range(0, len(steps), every) if run.entry.shown}
    return {
        "name": run.entry.name,
        "fingerprint": run.entry.fingerprint,
        "game": run.entry.game,
        "hash": told["hash"],
        "seed": run.seed,
        "recipe": yaml.safe_load((run.folder / "recipe.yaml").read_text(encoding="utf-8")),
        "params": told["params"],
        "versions": told["versions"],
        "cpu_seconds": cpu_seconds,
        "seconds": round(sum(record["seconds"] for record in steps), 1),
        "start": records[0],
        "steps": [
            lean(step, number in kept, records[0].get("ranges"))
            for number, step in enumerate(steps)
        ],
        **({"mapping": rough(last["mapping"])} if "mapping" in last else {}),
        "end": records[-1] if records[-1]["event"] == "end" else None,
        **({"held_out": held_out(run)} if run.entry.held_out else {}),
    }


def held_out(run: Run) -> Result:
    """Returns what the trained policy did in the games that are held out, and what those did that
    the entry has beside it. All replies are drawn as in training, and none is constrained."""
    found = evaluated(run, [str(run.folder)])
    others = {who: evaluated(run, contestant(run, who)) for who in run.entry.beside}
    return found | ({"beside": others} if others else {})


def contestant(run: Run, who: str) -> list[str]:
    """Returns the arguments of `gamedsl eval` for one of those beside the trained policy."""
    if "=" in who:
        return [str(run.folder), "--referee", who]
    name = f"run:{run.folder}@0" if who == START else who
    params = [f"{key}={json.dumps(value)}" for key, value in run.entry.params.items()]
    named = run.entry.expert.get("referees", {}) if name.startswith("module:") else {}
    referees = [f"{role}=run:{run.folder}" for role in named]
    flags = [("--param", one) for one in params] + [("--referee", one) for one in referees]
    return [name, "--game", run.entry.game, *chain(*flags)]


def evaluated(run: Run, who: Sequence[str]) -> Result:
    """Returns the evaluation of a contestant by `gamedsl eval`: its mean payoffs by role, and those
    of referees, with 95% intervals, and in games in words the share of its replies that are valid,
    at the step of each role where fewest are. It holds all seats. An interval is Wilson's for valid
    replies, and where every game paid 0 or 1. No response to it is searched for."""
    out, games = run.folder.with_suffix(".eval"), run.folder.with_suffix(".games")
    shutil.rmtree(games, ignore_errors=True)
    in_words = gamedsl.load(run.entry.game, params=run.entry.params).ir.in_words
    kept = ["--transcripts", str(games)] if in_words else []  # others may be evaluated exactly
    subprocess.run(
        [sys.executable, "-m", "gamedsl", "eval", *who, "--against", who[0],
         "--games", str(run.entry.held_out), "--seed", str(SEED), "--search", "0",
         "--carry", str(run.entry.carry), "--out", str(out), *kept],
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    found = json.loads(out.read_text(encoding="utf-8"))
    payoffs = found["pairings"][0]["payoff_by_role"]
    lived = found["pairings"][0].get("by_episode", [])
    wilson = shares(games)
    valid = least_valid(found["replies"])
    intervals = {role: wilson.get(role, payoff["interval"]) for role, payoff in payoffs.items()}
    judges = {
        role: {"value": rough(paid["value"]), "interval": rough(wilson.get(role, paid["interval"]))}
        for role, paid in found.get("referee_payoffs", {}).items()
    }
    return {
        "games": found["games_per_pairing"],
        "seed": found["seed"],
        "payoff": {role: rough(payoff["value"]) for role, payoff in payoffs.items()},
        "interval": rough(intervals),
        "valid": {role: rough(one["value"]) for role, one in valid.items()},
        "valid_interval": {role: rough(one["interval"]) for role, one in valid.items()},
        **({"referees": judges} if judges else {}),
        **({"first": rough(lived[0]), "last": rough(lived[-1])} if lived else {}),
    }


def least_valid(replies: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Returns the share of valid replies of each role, of its step where it is least."""
    found: dict[str, Any] = {}
    for said in replies:
        least = found.get(said["role"], said["valid"])
        found[said["role"]] = min(least, said["valid"], key=lambda one: one["value"])
    return found


def shares(games: Path) -> dict[str, list[float]]:
    """Returns Wilson's interval of the mean payoff of each role or referee whose only seat was paid
    0 or 1 in every game of a contestant's transcripts, which games in words alone have."""
    lines = [line for file in games.glob("*.jsonl") for line in file.read_text().splitlines()]
    played = [one["payoffs"] | one.get("referees", {}) for one in map(json.loads, lines)]
    found: dict[str, list[float]] = {}
    for seat in played[0] if played else ():
        paid = [payoffs[seat] for payoffs in played]
        estimate = share(paid.count("1"), len(paid))
        if {*paid} <= {"0", "1"} and estimate is not None:
            found[seat] = [estimate.low, estimate.high]
    return found


def written(result: Result) -> str:
    """A result as JSON: a line for each of its keys, and one for each step. Paths of files of the
    repository are as seen from its root."""
    root = json.dumps(f"{HERE.parent}/", ensure_ascii=False)[1:-1]

    def line(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False).replace(root, "")

    steps = ",\n".join(line(step) for step in result["steps"])
    texts = {key: line(value) for key, value in result.items()} | {"steps": f"[\n{steps}\n]"}
    return "{\n" + ",\n".join(f"{line(key)}: {text}" for key, text in texts.items()) + "\n}\n"


def lean(step: Result, whole: bool, ranges: Result | None = None) -> Result:
    """A step's record without what only screens need; Wilson's intervals of its shares of valid
    replies; and where `whole`, the probabilities of its policy, and whether each decision is within
    the ranges of equilibria, as far as these are known."""
    kept = {key: rough(step[key]) for key in KEPT if key in step}
    if "replies" in step:
        kept["valid_interval"] = {}
        for role, replies in step["replies"].items():
            found = share(step["valid"][role] * replies, replies)
            if found is not None:
                kept["valid_interval"][role] = rough([found.low, found.high])
    if whole and "policy" in step:
        policy = step["policy"]
        kept["policy"] = {key: {"probs": rough(place["probs"])} for key, place in policy.items()}
        for key, fits in inside(ranges, policy).items() if ranges else ():
            kept["policy"][key]["in_range"] = fits
    return kept


def rough(value: Any) -> Any:
    """Numbers to six places."""
    if isinstance(value, dict):
        return {key: rough(part) for key, part in value.items()}
    if isinstance(value, list):
        return [rough(part) for part in value]
    return round(value, 6) if isinstance(value, float) else value


@contextmanager
def locked(folder: Path) -> Iterator[bool]:
    """Whether a run's folder is ours until the end of the block; a killed owner holds nothing."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        stream.write(str(os.getpid()))
        stream.flush()
        yield True


def runs_of(listed: Sequence[Entry], folders: Path, results: Path, only: str = "") -> list[Run]:
    """The runs of a list in order, those first that have the lowest seeds."""
    found = [
        Run(e, s, folders / f"{e.name}-{s}", results / f"{e.name}-{s}.json")
        for e in listed
        for s in e.seeds
        if only in e.name
    ]
    return sorted(found, key=lambda run: run.entry.seeds.index(run.seed))


def chosen(doc: str) -> argparse.ArgumentParser:
    """A command line that names a list, where its runs and results are, and which of it count."""
    parser = command(doc, out=False)
    parser.add_argument("list", type=Path, nargs="?", default=LIST)
    parser.add_argument("--runs", type=Path, default=RUNS, help="where run folders are")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--only", default="", help="entries whose name contains this")
    return parser


def main() -> int:
    parser = chosen(__doc__)
    parser.add_argument("--list", action="store_true", dest="only_list", help="run nothing")
    args = parser.parse_args()
    failed = 0
    for run in runs_of(entries(args.list), args.runs, args.results, args.only):
        if run.done() is not None:
            print(f"{run.name}: done", flush=True)
            continue
        if args.only_list:
            print(f"{run.name}: to do", flush=True)
            continue
        with locked(run.folder) as ours:
            if not ours:
                print(f"{run.name}: another queue is at it", flush=True)
                continue
            print(f"{run.name}: training", flush=True)
            try:
                found = run.make()
            except subprocess.CalledProcessError as error:
                failed += 1
                print(f"{run.name}: failed ({error})", flush=True)
                continue
            print(f"{run.name}: done, {found['seconds']:.0f} s of steps", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
