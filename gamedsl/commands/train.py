"""`gamedsl train`: from a game file to trained adapters, or on from where a run stopped.

Everything that can be wrong with the request is said before a model is loaded. Exit codes: 0
trained, 1 problems in the game or the recipe, 2 usage or something missing, 130 stopped by a
signal, with the run saved.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from gamedsl.cli import CLEAN, INTERRUPTED, PROBLEMS, USAGE, add_params, read_params, use_colour
from gamedsl.collector import collector_paused
from gamedsl.commands._streams import plain

if TYPE_CHECKING:
    from gamedsl.analysis.proof import Proof
    from gamedsl.diagnostics import Problems
    from gamedsl.diagnostics.render import Form
    from gamedsl.ir.game import Setting
    from gamedsl.policies.generation import Writing
    from gamedsl.recipe.table import Recipe
    from gamedsl.runtime import Game
    from gamedsl.train.loop import Observer, Outcome
    from gamedsl.train.methods.base import Record
    from gamedsl.train.runfolder import RunFolder
    from gamedsl.train.seats import SeatAssignment

HELP = "Train language models to play a game. FILE is a path or the name of a shipped game."


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", metavar="FILE", help="a path or a shipped name")
    parser.add_argument(
        "--set", action="append", default=[], metavar="K=V", dest="settings",
        help="a training setting, such as lr=1e-4 or lora.rank=8; may be repeated",
    )  # fmt: skip
    add_params(parser)
    parser.add_argument("--steps", type=int, metavar="N", help="training steps in all")
    parser.add_argument("--seed", type=int, metavar="N", help="seed of labels, adapters and play")
    parser.add_argument("--model", metavar="NAME", help="the model to train")
    parser.add_argument(
        "--allow-endpoint", action="append", default=[], metavar="URL", dest="addresses",
        help="let the game or the run name the endpoint at this address; those that --set names "
        "need no leave; may be repeated",
    )  # fmt: skip
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="the run folder to make")
    parser.add_argument("--resume", type=Path, metavar="RUN", help="go on with a run that stopped")
    parser.add_argument(
        "--force", action="store_true",
        help="with --resume: go on although files of the run are not as it wrote them",
    )  # fmt: skip
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would be trained and what it would take"
    )
    parser.add_argument(
        "--log", default="", metavar="NAMES",
        help="send the numbers on: tensorboard, wandb, mlflow, or several, with commas",
    )  # fmt: skip
    parser.add_argument(
        "--format", choices=("pretty", "concise", "json"), default="pretty",
        help="a live screen, one line a step, or one JSON object a line (default: pretty)",
    )  # fmt: skip


@dataclass(frozen=True)
class Job:
    """A request that was understood. `run` is the folder to resume, None for a new run."""

    game: Game
    recipe: Recipe
    cast: SeatAssignment
    params: dict[str, Any]
    run: RunFolder | None


def run(args: argparse.Namespace) -> int:
    from gamedsl.runs.errors import RunDamaged
    from gamedsl.train.errors import TrainError

    # Read when torch is first imported: threads sleep at a barrier instead of spinning. On a
    # machine that others use too, spinning made a step ten times slower.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("MKL_DYNAMIC", "FALSE")  # always as many threads: the same last bits

    try:
        with collector_paused():
            job = _understand(args)
            if job is None:
                return PROBLEMS
            from gamedsl.train import trackers

            trackers.require(_names(args.log))
    except (TrainError, RunDamaged, ValueError) as error:
        return _usage(str(error))
    from gamedsl.policies.endpoint import EndpointError
    from gamedsl.policies.errors import ModelError

    try:
        if args.dry_run:
            from gamedsl.diagnostics import Problems
            from gamedsl.train.dry_run import dry_run

            problems = Problems()
            print(dry_run(job.game, job.recipe, job.cast, _notify, problems))
            _print_diagnostics(problems.sorted(), args.format)
            return PROBLEMS if problems.errors else CLEAN
        return _train(job, args)
    except (TrainError, RunDamaged, ModelError) as error:
        return _usage(str(error))
    except EndpointError as error:
        return _usage(f"{error}\n  then: --resume goes on from the last checkpoint")


def _understand(args: argparse.Namespace) -> Job | None:
    """The job; None where the game or a setting has problems, which are printed.

    Raises TrainError, RunDamaged or ValueError for a request that cannot be meant.
    """
    if args.force and args.resume is None:
        raise ValueError("--force is for a run that goes on: gamedsl train --resume RUN --force")
    if args.resume is None and args.file is None:
        raise ValueError("name a game, or a run to go on with: gamedsl train --resume RUN")
    params: dict[str, Any] = read_params(args.param)
    if args.resume is not None:
        return _understand_resume(args, params)
    if args.out is not None:
        from gamedsl.train.runfolder import require_room

        require_room(args.out)
    compiled = _compile(args.file, params, args.format)
    if compiled is None:
        return None
    cast = _cast(*compiled, _flags(args), args.settings, args.format, addresses=_addresses(args))
    return None if cast is None else Job(*cast, params, None)


def _understand_resume(args: argparse.Namespace, params: dict[str, Any]) -> Job | None:
    """A run is resumed as it was asked for; only the number of steps may be another, and what
    endpoints may use up."""
    from gamedsl.recipe.resolve import override, parse_overrides
    from gamedsl.runs.saved import wording_of
    from gamedsl.train.errors import TrainError
    from gamedsl.train.runfolder import open_run

    more = [text for text in args.settings if text.startswith("budget.")]
    others = [text for text in args.settings if text not in more]
    refused = [
        name for name, value in (("--set", others), ("--param", params), ("--out", args.out),
                                 ("--seed", args.seed), ("--model", args.model))
        if value is not None and value != [] and value != {}
    ]  # fmt: skip
    if refused:
        raise ValueError(f"{refused[0]} cannot be changed in a run that goes on; start a new run")
    found = open_run(args.resume, forced=args.force)
    info = found.saved.info(("file", "game", "params", "hash", "threads"))
    if not args.force:
        found.saved.require()
    _require_calls(args.resume, info.get("calls", ()))
    compiled = _compile(args.file or _game_file(found, info), info["params"], args.format)
    if compiled is None:
        return None
    game = compiled[0]
    if game.hash != info["hash"]:
        raise TrainError(
            f"`{game.name}` is not the game that {args.resume} was training: its file has changed, "
            "or the hash in run.json",
            f"start a new run, or put back the files that are kept in {args.resume / 'game'}",
        )
    settings = [override(key, value) for key, value in found.settings().items()]
    settings.append(override("wording", wording_of(info)))
    if args.steps is not None:
        settings.append(override("steps", args.steps))
    settings += parse_overrides(more)
    cast = _cast(*compiled, settings, [], args.format, addresses=_addresses(args), warn=False)
    return None if cast is None else Job(*cast, info["params"], found)


def _require_calls(run: Path, files: Iterable[dict[str, str]]) -> None:
    """Raises ValueError where a run goes on without a file of functions that its game calls, or
    with another content of it."""
    from gamedsl.calls.files import allowed_calls

    allowed = {file.digest for file in allowed_calls()}
    for file in files:
        if file["sha256"] not in allowed:
            name = Path(file["file"]).name
            same = any(one.path.name == name for one in allowed_calls())
            raise ValueError(
                f"the functions of `{name}` have changed since the run began: its game is another"
                if same else f"this game calls functions of `{file['file']}`; allow that it is "
                f"executed: gamedsl train --resume {run} --allow-calls {file['file']}"
            )  # fmt: skip


def _game_file(run: RunFolder, info: dict[str, Any]) -> str:
    """The file that a run was started with, or the run's copy of it where that is gone."""
    file: str | None = info["file"]
    if file is not None and (Path(file).exists() or Path(file).name == file):
        return file
    copy = run.saved.game_file(info)
    if copy is None:
        raise ValueError(
            f"{file or 'the game'} is gone, and {run.path / 'game'} has no copy; name the game: "
            f"gamedsl train FILE --resume {run.path}"
        )
    return str(copy)


def _compile(file: str, params: dict[str, Any], form: str) -> tuple[Game, tuple[Proof, ...]] | None:
    """The game and its proofs; None if it has problems, which are printed."""
    _notify(f"reading {file}")
    from gamedsl.compiler import compile_file
    from gamedsl.runtime import Game

    result = compile_file(file, params)
    _print_diagnostics(result.diagnostics, form)
    if result.ir is not None and result.document is not None:
        return Game(result.ir, result.document.files).of("training"), result.proofs
    if result.ok and result.document is not None:
        raise ValueError(f"{file} is a {result.document.kind} file, not a game")
    return None


def _cast(
    game: Game, proofs: tuple[Proof, ...], flags: list[Setting], texts: list[str], form: str, *,
    addresses: Collection[str], warn: bool = True,
) -> tuple[Game, Recipe, SeatAssignment] | None:  # fmt: skip
    """The game in the wording of its recipe, the recipe and its players; None if either has
    problems. These are printed, but for problems that the file alone has. With `warn`, warnings are
    printed too. Of the endpoints that the recipe names, those of `addresses` are called."""
    from gamedsl.analysis.rewards import check_equilibria
    from gamedsl.diagnostics import Problems
    from gamedsl.recipe.resolve import parse_overrides, resolve
    from gamedsl.train.engine import require

    problems, said, cast = Problems(), Problems(), None
    resolve(game.ir, (), said)
    settings = [*parse_overrides(texts), *flags]
    recipe = resolve(game.ir, settings, problems)
    spans = {one.key: one.span for one in (*game.ir.settings, *settings)}
    check_equilibria(game.ir, recipe, spans, proofs, problems)
    if not problems.errors:
        require(game.ir, recipe)
        game = game.worded(recipe.wording)
        cast = hire(game, recipe, [*game.ir.settings, *settings], problems, addresses)
    new = [one for one in problems.sorted() if one not in said.found]
    _print_diagnostics([one for one in new if warn or one.severity == "error"], form)
    return None if cast is None else (game, recipe, cast)


def hire(
    game: Game, recipe: Recipe, settings: Sequence[Setting], problems: Problems,
    addresses: Collection[str] = (),
) -> SeatAssignment | None:  # fmt: skip
    """The players of roles; None if one cannot be opened, with a problem at its place in the
    settings. Of the endpoints, those of `addresses` may be called."""
    from gamedsl.recipe.resolve import span_of
    from gamedsl.train.seats import SeatError, assign_seats, budget_of

    try:
        return assign_seats(game, recipe, budget_of(recipe, addresses))
    except SeatError as error:
        span = span_of(error.setting, settings) or game.ir.span
        problems.add("GD0711", error.message, span, why="not to be had", help=error.help)
        return None


def _addresses(args: argparse.Namespace) -> Collection[str]:
    """The addresses of endpoints that the command line names."""
    from gamedsl.players.endpoint import addresses_in

    return addresses_in(args.settings) | set(args.addresses)


def _flags(args: argparse.Namespace) -> list[Setting]:
    from gamedsl.recipe.resolve import override

    given = {"steps": args.steps, "seed": args.seed, "model": args.model}
    return [override(key, value) for key, value in given.items() if value is not None]


def _train(job: Job, args: argparse.Namespace) -> int:
    import gamedsl
    from gamedsl.train.engine import open_policy, set_threads

    recipe, threads = job.recipe, job.recipe.threads
    if job.run is not None and threads is None:
        threads = job.run.info()["threads"]
    with collector_paused():  # of the packages that are imported
        threads = set_threads(threads)
        policy = open_policy(job.game, recipe, _notify, fresh=job.run is None)
        from gamedsl.train.curriculum import climb
        from gamedsl.train.interrupt import Interrupt
        from gamedsl.train.runfolder import create
        from gamedsl.train.sessions import writer
        from gamedsl.view.report.page import write_report

    if recipe.in_words(job.game.ir) and not _readable(job, writer(policy), args.format):
        return PROBLEMS
    folder = job.run or create(job.game, recipe, args.out, job.params, policy.tokenizer, threads)
    with folder.locked() as alone, ExitStack() as stack, _saying_how_to_go_on(folder):
        if not alone:
            _notify(f"warning: {folder.path} is on a file system without locks: train in it once")
        folder.check_files()
        folder.write_recipe(recipe)
        observers = [_observer(stack, job, args.format), *_trackers(stack, folder, args.log)]
        interrupt = stack.enter_context(Interrupt())
        outcome = climb(
            job.game, recipe, folder, policy, observers=observers, conclude=_conclude,
            interrupt=interrupt, seating=job.cast, load=gamedsl.load,
        )  # fmt: skip
        stack.close()
        report = write_report(folder.path)
    return _close(outcome, folder, report, args.format, job.cast.budget.addresses)


@contextmanager
def _saying_how_to_go_on(folder: RunFolder) -> Iterator[None]:
    """Has a run that could not write a file say how it goes on, beside what is wrong."""
    from gamedsl.storage.refusals import WriteRefused

    try:
        yield
    except WriteRefused:
        _notify(f"training stopped; it goes on with: gamedsl train --resume {folder.path}")
        raise


def _readable(job: Job, policy: Writing, form: str) -> bool:
    """Whether the model reads prompts as long as the game's can be; else that is printed."""
    from gamedsl.diagnostics import Problems
    from gamedsl.train.context_length import check_context

    problems = Problems()
    check_context(job.game, job.recipe, policy, problems)
    _print_diagnostics(problems.sorted(), form)
    return not problems.errors


def _close(
    outcome: Outcome, folder: RunFolder, report: Path, form: str, addresses: Iterable[str]
) -> int:
    """Say where everything is, or how to go on; `addresses` are of the endpoints that may be
    called."""
    stream = sys.stderr if form == "json" else sys.stdout
    if outcome.finished:
        print(f"run folder: {folder.path}\nreport: {report}", file=stream)
        return CLEAN
    from gamedsl.calls.files import allowed_calls

    allowed = [f"--allow-endpoint {address}" for address in sorted(addresses)]
    allowed += [f"--allow-calls {file.path}" for file in allowed_calls()]
    resume, spent = " ".join(("gamedsl train --resume", str(folder.path), *allowed)), outcome.spent
    if spent is not None:
        print(f"stopped after step {outcome.step}: {spent.fact}; everything is saved", file=stream)
        print(f"go on with: {resume} --set budget.{spent.what}={2 * spent.most}", file=stream)
        return PROBLEMS
    print(f"stopped after step {outcome.step}; everything is saved", file=stream)
    print(f"go on with: {resume}", file=stream)
    return INTERRUPTED


def _observer(stack: ExitStack, job: Job, form: str) -> Observer:
    """The screen of a format, closed when the stack is."""
    if form == "json":
        return _JsonLines()
    from rich.console import Console

    from gamedsl.train.screen import Screen

    console = Console(
        file=plain(sys.stdout), highlight=False,
        force_terminal=False if form == "concise" else None,
    )  # fmt: skip
    return stack.enter_context(Screen(job.recipe, job.game, job.recipe.steps, console=console))


def _trackers(stack: ExitStack, folder: RunFolder, names: str) -> list[Observer]:
    """The trackers that `--log` names, closed with the stack."""
    from gamedsl.train.trackers import tracker

    return [stack.enter_context(tracker(name, folder, _notify)) for name in _names(names)]


def _names(text: str) -> list[str]:
    """The names of a list with commas, each once."""
    return list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


class _JsonLines:
    """Every record as one line of JSON on standard output."""

    def start(self, record: Record) -> None:
        print(json.dumps(record, ensure_ascii=False), flush=True)

    warm_up = step = end = start

    def replays(self, progress: Record) -> None:
        """Prints nothing: lines are the records of the run."""


def _conclude(folder: RunFolder, tree: Any, end: Record) -> Record:
    """The summary of a run, as a part of its end record."""
    from gamedsl.train.monitors.text import contributed, contributions, population, sentences
    from gamedsl.train.summary import summarise

    records = folder.records()
    steps = [record for record in records if record["event"] == "step"]
    labels = folder.labels()
    first, last = (steps[0], steps[-1]) if steps else (None, None)  # none where they were lost
    summary = summarise(records[0], last, tree, first=first, labels=labels)
    added = contributions(end, steps)
    roles = [contributed(added)] if added else []
    pool = [population(end["population"])] if "population" in end else []
    return {"summary": " ".join([summary, *sentences(records[0], steps), *roles, *pool])}


def _print_diagnostics(found: list[Any], form: str) -> None:
    from gamedsl.diagnostics.render import render

    if found:
        print(render(found, cast("Form", form), use_colour(sys.stderr)), file=sys.stderr)


def _notify(line: str) -> None:
    print(line, file=sys.stderr)


def _usage(message: str) -> int:
    print(f"gamedsl train: {message}", file=sys.stderr)
    return USAGE
