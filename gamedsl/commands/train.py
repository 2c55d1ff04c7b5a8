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
from collections.abc import Collection, Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from gamedsl.cli import CLEAN, INTERRUPTED, PROBLEMS, USAGE, add_params, read_params, use_colour
from gamedsl.commands._loading import LoadingTimes
from gamedsl.commands._streams import plain

if TYPE_CHECKING:
    from gamedsl.api.training_job import Listener, Trained, TrainingJob
    from gamedsl.diagnostics.render import Form
    from gamedsl.ir.game import Setting
    from gamedsl.training.loop import Observer
    from gamedsl.training.methods.base import Record
    from gamedsl.training.runfolder import RunFolder

HELP = "Train language models to play a game. FILE is a path or the name of a shipped game."


def configure(parser: argparse.ArgumentParser) -> None:
    from gamedsl.recipe.table import MODELS

    wide = max(map(len, MODELS))
    add_params(parser)
    training = parser.add_argument_group("what is trained")
    place = parser.add_argument_group("where it goes")
    endpoints = parser.add_argument_group("endpoints")
    output = parser.add_argument_group("output")
    parser.add_argument("file", nargs="?", metavar="FILE", help="a path or a shipped name")
    training.add_argument(
        "--model", metavar="NAME",
        help="a folder, a hub id, or one of these (default: as `train:` has it, else the first):\n"
        + "\n".join(f"{name:<{wide}}  {what}" for name, what in MODELS.items()),
    )  # fmt: skip
    training.add_argument(
        "--set", action="append", default=[], metavar="K=V", dest="settings",
        help="a training setting, such as lr=1e-4 or lora.rank=8; may be repeated",
    )  # fmt: skip
    training.add_argument("--steps", type=int, metavar="N", help="training steps in all")
    training.add_argument("--seed", type=int, metavar="N", help="seed of labels, adapters and play")
    endpoints.add_argument(
        "--allow-endpoint", action="append", default=[], metavar="URL", dest="addresses",
        help="let the game or the run name the endpoint at this address; those that --set names "
        "need no leave; may be repeated",
    )  # fmt: skip
    place.add_argument("--out", type=Path, metavar="FOLDER", help="the run folder to make")
    place.add_argument("--resume", type=Path, metavar="RUN", help="go on with a run that stopped")
    place.add_argument(
        "--force", action="store_true",
        help="with --resume: go on although files of the run are not as it wrote them",
    )  # fmt: skip
    output.add_argument(
        "--dry-run", action="store_true", help="show what would be trained and what it would take"
    )
    output.add_argument(
        "--verbose", action="store_true",
        help="with --dry-run: show whole prompts or replies and all settings, too",
    )  # fmt: skip
    output.add_argument(
        "--log", default="", metavar="NAMES",
        help="send the numbers on: tensorboard, wandb, mlflow, or several, with commas",
    )  # fmt: skip
    output.add_argument(
        "--format", choices=("pretty", "concise", "json"), default="pretty",
        help="a live screen, one line a step, or one JSON object a line (default: pretty)",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    loading, leads = LoadingTimes(), os.environ.get("RANK", "0") == "0"
    if leads and (args.file or args.resume):
        loading.begin(f"reading {args.file or args.resume}")  # before imports, which take longer
    try:
        return _run(args, loading, leads=leads)
    finally:
        loading.end()


def _run(args: argparse.Namespace, loading: LoadingTimes, *, leads: bool) -> int:
    from gamedsl.api.training_job import Listener, prepare_process, run_job
    from gamedsl.diagnostics import CompileError
    from gamedsl.runs.errors import RunDamaged
    from gamedsl.training.errors import TrainError

    prepare_process()
    listener = Listener()
    if leads:  # what the other processes of `torchrun` have to say is the same
        listener = Listener(partial(_print_diagnostics, form=args.format), loading.begin)
    try:
        job = _understand(args, listener)
        from gamedsl.training import trackers

        trackers.require(_names(args.log))
    except CompileError:
        return PROBLEMS
    except (TrainError, RunDamaged, ValueError) as error:
        return _usage(str(error))
    from gamedsl.policies.endpoint import EndpointError
    from gamedsl.policies.errors import ModelError

    def watch(job: TrainingJob, folder: RunFolder, stack: ExitStack) -> list[Observer]:
        loading.end()
        return [_observer(stack, job, args.format), *_trackers(stack, folder, args.log)]

    try:
        if args.dry_run:
            return _dry_run(job, listener, verbose=args.verbose) if leads else CLEAN
        trained = run_job(job, watch, out=args.out, listener=listener)
    except CompileError:
        return PROBLEMS
    except (TrainError, RunDamaged, ModelError) as error:
        return _usage(str(error))
    except EndpointError as error:
        return _usage(f"{error}\n  then: --resume goes on from the last checkpoint")
    return _close(trained, args.format, job.seating.budget.addresses) if leads else CLEAN


def _understand(args: argparse.Namespace, listener: Listener) -> TrainingJob:
    """Returns the job. Raises CompileError where the game or a setting has problems, which are
    printed, and TrainError, RunDamaged or ValueError for a request that cannot be meant."""
    from gamedsl.api.training_job import new_job
    from gamedsl.recipe.resolve import parse_overrides

    if args.force and args.resume is None:
        raise ValueError("--force is for a run that goes on: gamedsl train --resume RUN --force")
    if args.verbose and not args.dry_run:
        raise ValueError("--verbose is for a dry run: gamedsl train FILE --dry-run --verbose")
    if args.resume is None and args.file is None:
        raise ValueError("name a game, or a run to go on with: gamedsl train --resume RUN")
    params: dict[str, Any] = read_params(args.param)
    if args.resume is not None:
        return _understand_resume(args, params, listener)
    return new_job(
        args.file, params, [*parse_overrides(args.settings), *_flags(args)], out=args.out,
        addresses=_addresses(args), listener=listener,
    )  # fmt: skip


def _understand_resume(
    args: argparse.Namespace, params: dict[str, Any], listener: Listener
) -> TrainingJob:
    """A run is resumed as it was asked for; only the number of steps may be another, and what
    endpoints may use up."""
    from gamedsl.api.training_job import may_change, resumed_job
    from gamedsl.recipe.resolve import override, parse_overrides

    more = [text for text in args.settings if may_change(text.partition("=")[0].strip())]
    others = [text for text in args.settings if text not in more]
    refused = [
        name for name, value in (("--set", others), ("--param", params), ("--out", args.out),
                                 ("--seed", args.seed), ("--model", args.model))
        if value is not None and value != [] and value != {}
    ]  # fmt: skip
    if refused:
        raise ValueError(f"{refused[0]} cannot be changed in a run that goes on; start a new run")
    steps = [] if args.steps is None else [override("steps", args.steps)]
    return resumed_job(
        args.resume, file=args.file, more=[*steps, *parse_overrides(more)], forced=args.force,
        addresses=_addresses(args), listener=listener,
    )  # fmt: skip


def _addresses(args: argparse.Namespace) -> Collection[str]:
    """The addresses of endpoints that the command line names."""
    from gamedsl.players.endpoint import addresses_in

    return addresses_in(args.settings) | set(args.addresses)


def _flags(args: argparse.Namespace) -> list[Setting]:
    from gamedsl.recipe.resolve import override

    given = {"steps": args.steps, "seed": args.seed, "model": args.model}
    return [override(key, value) for key, value in given.items() if value is not None]


def _dry_run(job: TrainingJob, listener: Listener, *, verbose: bool) -> int:
    """Prints what would be trained. Raises CompileError for what training would refuse."""
    from gamedsl.diagnostics import Problems
    from gamedsl.training.dry_run import dry_run

    problems = Problems()
    print(dry_run(job.game, job.recipe, job.seating, _notify, problems, verbose=verbose))
    listener.receive(problems.sorted())
    return CLEAN


def _close(trained: Trained, form: str, addresses: Iterable[str]) -> int:
    """Say where everything is, or how to go on; `addresses` are of the endpoints that may be
    called."""
    outcome, folder, report = trained.outcome, trained.folder, trained.report
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


def _observer(stack: ExitStack, job: TrainingJob, form: str) -> Observer:
    """The screen of a format, closed when the stack is."""
    if form == "json":
        return _JsonLines()
    from rich.console import Console

    from gamedsl.training.screen import Screen

    console = Console(
        file=plain(sys.stdout), highlight=False,
        force_terminal=False if form == "concise" else None,
    )  # fmt: skip
    screen = stack.enter_context(Screen(job.recipe, job.game, job.recipe.steps, console=console))
    if job.run is not None:
        screen.recall(job.run.records())
    return screen


def _trackers(stack: ExitStack, folder: RunFolder, names: str) -> list[Observer]:
    """The trackers that `--log` names, closed with the stack."""
    from gamedsl.training.trackers import tracker

    return [stack.enter_context(tracker(name, folder, _notify)) for name in _names(names)]


def _names(text: str) -> list[str]:
    """The names of a list with commas, each once."""
    return list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


class _JsonLines:
    """Every record as one line of JSON on standard output."""

    def start(self, record: Record) -> None:
        print(json.dumps(record, ensure_ascii=False), flush=True)

    warm_up = step = end = start

    def progress(self, record: Record) -> None:
        """Prints nothing: lines are the records of the run."""


def _print_diagnostics(found: Sequence[Any], form: str) -> None:
    from gamedsl.diagnostics.render import render

    if found:
        print(render(found, cast("Form", form), use_colour(sys.stderr)), file=sys.stderr)


def _notify(line: str) -> None:
    print(line, file=sys.stderr)


def _usage(message: str) -> int:
    print(f"gamedsl train: {message}", file=sys.stderr)
    return USAGE
