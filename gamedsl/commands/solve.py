"""`gamedsl solve`: solves a game by the method that fits it, and reports the method and the reason.

Every answer is checked by best responses before it is printed, and the regrets are printed with it.
The policy can be saved in a file that `gamedsl.players.SavedPlayer` plays.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gamedsl.cli import CLEAN, PROBLEMS, USAGE, add_params, read_params, use_colour
from gamedsl.commands._arguments import count, count_to, seed
from gamedsl.commands._cluster import add_cluster, starter
from gamedsl.commands._progress import progress

if TYPE_CHECKING:
    from gamedsl.runtime import Game
    from gamedsl.solve.sharded_mccfr import StartShards
    from gamedsl.solve.solution import Solution
    from gamedsl.solve.solver import Report

HELP = (
    "Solve a game: equilibria, values, optimal play, with the regret of every answer. FILE is a "
    "path or the name of a shipped game."
)


def configure(parser: argparse.ArgumentParser) -> None:
    from gamedsl.solve.solver import LIMIT, METHODS

    add_params(parser)
    solving = parser.add_argument_group("how it is solved")
    output = parser.add_argument_group("output")
    rows = "".join(f"  {name:<12} {what}\n" for name, what in METHODS.items())
    parser.epilog = f"methods:\n{rows}"
    parser.add_argument("file", metavar="FILE", help="a path or a shipped name")
    solving.add_argument("--method", default="auto", metavar="M", help="see below (default: auto)")
    solving.add_argument(
        "--iterations", type=count, metavar="N", help="of the methods that iterate"
    )
    solving.add_argument(
        "--utility", choices=("payoffs", "rewards"), default="payoffs",
        help="what the seats want: the game's payoffs, or what they are trained on",
    )  # fmt: skip
    output.add_argument(
        "--format", choices=("text", "json"), default="text",
        help="for people, or for programs (default: text)",
    )  # fmt: skip
    output.add_argument(
        "--save", type=Path, metavar="POLICY.json", help="keep the policy in a file"
    )
    output.add_argument(
        "--pick", type=count, metavar="N", help="of several equilibria, the one to keep"
    )
    output.add_argument(
        "--rows", type=count, default=24, metavar="N", help="information sets shown (default: 24)"
    )
    solving.add_argument(
        "--limit", type=count_to(100_000_000), default=LIMIT, metavar="N",
        help=f"histories up to which a game is written out as a tree (default: {LIMIT:,})",
    )  # fmt: skip
    solving.add_argument("--seed", type=seed, default=0, metavar="N", help="of what is sampled")
    add_cluster(solving, "share out the iterations of mccfr", "each core but one")


def run(args: argparse.Namespace) -> int:
    from gamedsl.compiler import compile_file
    from gamedsl.diagnostics.render import render
    from gamedsl.ir.evaluate import EvaluationError
    from gamedsl.policies.errors import ModelError
    from gamedsl.runtime import Game
    from gamedsl.solve.solver import METHODS, Unfit

    try:
        params = read_params(args.param)
    except ValueError as error:
        return _usage(str(error))
    if args.method not in METHODS:
        return _usage(_no_method(args.method, METHODS))
    if args.save is not None and args.save.is_dir():
        return _usage(f"--save {args.save} is a folder; name a file")
    try:
        shards = _shards(args)
    except ModelError as error:
        return _usage(str(error))
    with progress(f"checking {args.file}"):
        result = compile_file(args.file, params)
    if result.diagnostics:
        print(render(result.diagnostics, "pretty", use_colour(sys.stderr)), file=sys.stderr)
    if result.ir is None or result.document is None:
        if result.ok and result.document is not None:
            return _usage(f"{args.file} is a {result.document.kind} file; only games are solved")
        return PROBLEMS
    try:
        return _solve(Game(result.ir, result.document.files), args, shards)
    except (Unfit, ImportError, ModelError) as error:
        return _usage(str(error))
    except EvaluationError as error:
        print(f"gamedsl solve: the rules fail: {error}", file=sys.stderr)
        return PROBLEMS


def _shards(args: argparse.Namespace) -> StartShards | None:
    """Returns what starts the workers that sample, if a cluster is named. Raises ModelError."""
    from gamedsl.policies.errors import ModelError

    start = starter(args, gpus=False)
    if start is None:
        return None
    if args.method not in ("auto", "mccfr"):
        raise ModelError(
            f"`--cluster` shares out sampling, and `--method {args.method}` samples nothing",
            "leave `--cluster` out, or write `--method mccfr`",
        )
    from gamedsl.api.solve_workers import shards_of

    return shards_of(start)


def _solve(game: Game, args: argparse.Namespace, shards: StartShards | None) -> int:
    from gamedsl.players.policy_file import SavedPolicy
    from gamedsl.solve.record import as_record
    from gamedsl.solve.solver import Unfit, solve
    from gamedsl.solve.text import WIDTH, render
    from gamedsl.storage.writer import write_output

    with progress(f"solving {game.name}") as tell:
        report = solve(
            game, args.method, utility=args.utility, iterations=args.iterations, seed=args.seed,
            limit=args.limit, progress=tell, shards=shards,
        )  # fmt: skip
    kept = _picked(report, args.pick)
    if args.save is not None and kept is None:
        raise Unfit(f"there is no policy of `{game.name}` to keep: {_why_none(report)}")
    if args.save is not None and kept is not None and not kept.policy:
        raise Unfit(f"the policy of `{game.name}` has too many information sets to be kept")
    if args.save is not None and report.strategies:
        raise Unfit(f"what is found for `{game.name}` are strategies for whole plays, since a seat "
                    "forgets; --save keeps policies that draw at each decision")  # fmt: skip
    if args.format == "json":
        print(json.dumps(as_record(report), indent=2, ensure_ascii=False))
    else:
        print(render(report, args.rows, WIDTH if sys.stdout.isatty() else None))
    if args.save is not None and kept is not None:
        write_output(args.save, SavedPolicy.of(report, kept).text(), parents=True)
        print(f"policy: {args.save}", file=sys.stderr if args.format == "json" else sys.stdout)
    return CLEAN


def _picked(report: Report, pick: int | None) -> Solution | None:
    """The solution to keep. Raises `Unfit` for a number that there is not."""
    from gamedsl.solve.solver import Unfit

    if pick is None:
        return report.solution
    if report.one_shot is None:
        raise Unfit(
            f"--pick {pick} chooses from the list of equilibria that a payoff table has, and here "
            "there is no list; leave it out"
        )
    found = report.one_shot.found
    if pick > len(found):
        raise Unfit(f"--pick {pick}: there are {len(found)} equilibria to pick from")
    return found[pick - 1].solution


def _why_none(report: Report) -> str:
    if report.one_shot is not None:
        return "it has no pure equilibrium, and mixed ones of several seats are not looked for"
    return "no method gave one"


def _no_method(wanted: str, known: dict[str, str]) -> str:
    from gamedsl.diagnostics.suggest import did_you_mean

    guess = did_you_mean(wanted, known)
    fix = f"did you mean `{guess}`?" if guess else f"known: {', '.join(known)}"
    return f"there is no method `{wanted}`; {fix}"


def _usage(message: str) -> int:
    print(f"gamedsl solve: {message}", file=sys.stderr)
    return USAGE
