"""`gamedsl sweep`: trains a game with each value of some settings and each seed.

Exit codes: 0 all runs ended, 1 problems in the game or a setting, a run failed, or a budget is
spent, 2 usage or something missing, 130 stopped by a signal, with everything saved.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gamedsl.cli import CLEAN, INTERRUPTED, PROBLEMS, USAGE, add_params, read_params, use_colour
from gamedsl.commands._arguments import cluster

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gamedsl.api.sweep import Failure, Stop, Sweep, SweepRun
    from gamedsl.diagnostics import Diagnostic
    from gamedsl.tables.model import Table

HELP = (
    "Train a game with each value of some settings and each seed. The same command goes on with a"
    " sweep that was stopped; more values and seeds add runs."
)
MOST_SEEDS = 10_000


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a path or a shipped name")
    add_params(parser)
    what = parser.add_argument_group("what is trained")
    what.add_argument(
        "--set", action="append", default=[], metavar="K=V,V", dest="settings",
        help="a training setting and its values, such as lr=1e-4,3e-4; may be repeated",
    )  # fmt: skip
    what.add_argument(
        "--seeds", default="0", metavar="N,N", help="seeds, such as 0,1,2 or 0..9 (default: 0)"
    )
    where = parser.add_argument_group("where it goes")
    where.add_argument(
        "--out", type=Path, metavar="FOLDER",
        help="the folder of the sweep (default: runs/sweep-GAME)",
    )  # fmt: skip
    where.add_argument(
        "--cluster", type=cluster, metavar="ray|ray://HOST:PORT",
        help="train runs side by side on a Ray cluster: one started here, or one that is there",
    )  # fmt: skip
    where.add_argument(
        "--dry-run", action="store_true",
        help="check the request and list the runs, and train none",
    )  # fmt: skip
    parser.add_argument_group("output").add_argument(
        "--format", choices=("text", "json"), default="text",
        help="for people, or for programs (default: text)",
    )  # fmt: skip
    parser.add_argument_group("endpoints").add_argument(
        "--allow-endpoint", action="append", default=[], metavar="URL", dest="addresses",
        help="let the game name the endpoint at this address; may be repeated",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    from gamedsl.api.training_job import prepare_process
    from gamedsl.diagnostics import CompileError
    from gamedsl.diagnostics.render import render
    from gamedsl.policies.endpoint import EndpointError
    from gamedsl.policies.errors import ModelError
    from gamedsl.runs.errors import RunDamaged
    from gamedsl.training.errors import TrainError

    prepare_process()
    try:
        return _run(args)
    except CompileError as error:
        colour = use_colour(sys.stderr)
        print(render(error.diagnostics, "pretty", colour), file=sys.stderr)
        return PROBLEMS
    except (TrainError, RunDamaged, ModelError, EndpointError, ValueError) as error:
        print(f"gamedsl sweep: {error}", file=sys.stderr)
        return USAGE


def _run(args: argparse.Namespace) -> int:
    from gamedsl.api.sweep import (
        SweepOutcome,
        as_record,
        ended_runs,
        results,
        sweep_of,
        train_all,
        train_on_ray,
    )
    from gamedsl.calls.files import allowed_calls
    from gamedsl.view.report.comparison import write_comparison

    as_json = args.format == "json"
    tell = partial(print, file=sys.stderr if as_json else sys.stdout, flush=True)
    address = None if args.cluster == "ray" else args.cluster
    folder = args.out or Path("runs") / f"sweep-{Path(args.file).stem}"
    sweep = sweep_of(
        args.file, read_params(args.param), args.settings, _seeds(args.seeds), folder,
        addresses=args.addresses, calls=[str(one.path) for one in allowed_calls()],
    )  # fmt: skip
    if args.dry_run:
        shared = sweep.check(_print_warnings)
        if as_json:
            _print_record(as_record(sweep, shared, SweepOutcome(None)))
        else:
            _list(sweep)
        return CLEAN
    shared = sweep.prepare(_print_warnings)
    outcome = train_all(sweep, tell) if args.cluster is None else train_on_ray(sweep, address, tell)
    if as_json:
        _print_record(as_record(sweep, shared, outcome))
    else:
        _print_table(results(sweep, outcome.failures))
    if outcome.stop is None and (ended := [one.folder for one in ended_runs(sweep)]):
        tell(f"page: {write_comparison(ended, folder / 'sweep.html')}")
    if outcome.failures:
        _print_failed(outcome.failures)
    if outcome.stop is not None:
        return _stopped(outcome.stop, args.settings, tell)
    return PROBLEMS if outcome.failures else CLEAN


def _print_record(record: dict[str, Any]) -> None:
    print(json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False))


def _print_table(table: Table) -> None:
    from gamedsl.tables.text import rendered, table_lines

    text = rendered(table_lines(table), colour=use_colour(sys.stdout))
    print(f"\n{text}\n\nmeans over seeds, with 95% intervals by Student's t")


def _print_failed(failures: Sequence[Failure]) -> None:
    names = "; ".join(failure.run.name for failure in failures)
    print(f"gamedsl sweep: {len(failures)} failed: {names}", file=sys.stderr)
    print("  fix: see above why; the same command tries again", file=sys.stderr)


def _stopped(stop: Stop, settings: Sequence[str], tell: Callable[[str], None]) -> int:
    """Says how a sweep of these `--set` goes on that stopped before its end."""
    if stop.spent is None:
        tell("stopped; everything is saved, and the same command goes on")
        return INTERRUPTED
    key, most = f"budget.{stop.spent.what}", 2 * stop.spent.most
    tell(f"stopped in {stop.run.name}: {stop.spent.fact}; everything is saved")
    tell(f"go on with {_remedy(stop.run, settings, key, f'--set {key}={most}')}")
    return PROBLEMS


def _remedy(run: SweepRun, settings: Sequence[str], key: str, more: str) -> str:
    """Returns what allows `more` of a budget. Where the budget varies, its value names the run's
    folder, and so that run alone goes on."""
    from gamedsl.api.sweep import key_of

    if key in map(key_of, run.varied):
        allowed = [f"--allow-endpoint {address}" for address in run.addresses]
        allowed += [f"--allow-calls {file}" for file in run.calls]
        resume = " ".join(("gamedsl train --resume", str(run.folder), more, *allowed))
        return f"{resume}\nand then with the same command"
    given = next((text for text in settings if key_of(text) == key), None)
    place = f"and {more}" if given is None else f"with {more} in place of --set {given}"
    return f"the same command {place}, which each run may use up"


def _print_warnings(found: Sequence[Diagnostic]) -> None:
    """Prints what does not end the sweep; errors are raised."""
    from gamedsl.diagnostics.render import render

    warnings = [one for one in found if one.severity != "error"]
    if warnings:
        print(render(warnings, "pretty", use_colour(sys.stderr)), file=sys.stderr)


def _list(sweep: Sweep) -> None:
    for one in sweep.runs:
        print(f"{one.name}  {one.folder}{'  (is done)' if one.ended else ''}")


def _seeds(text: str) -> list[int]:
    """Returns the seeds of a text. Raises ValueError."""
    found: list[int] = []
    for part in text.split(","):
        read = re.fullmatch(r"\s*(\d{1,9})(?:\.\.(\d{1,9}))?\s*", part)
        if read is None or (read[2] and int(read[2]) - int(read[1]) not in range(MOST_SEEDS)):
            raise ValueError(f"`--seeds {text}` is not of the form 0,1,2 or 0..9")
        found += range(int(read[1]), int(read[2] or read[1]) + 1)
    return found
