"""`gamedsl report`: writes the page of a run again, or one page of several runs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gamedsl.cli import CLEAN, USAGE

HELP = "Write the page of a run anew, or one page that compares several."


def configure(parser: argparse.ArgumentParser) -> None:
    output = parser.add_argument_group("output")
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="a run folder")
    output.add_argument(
        "--out", type=Path, metavar="FILE",
        help="where to write the page of several runs (default: comparison.html)",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    from gamedsl.runs.errors import RunDamaged

    try:
        return _report(args)
    except RunDamaged as error:
        print(f"gamedsl report: {error}", file=sys.stderr)
        return USAGE


def _report(args: argparse.Namespace) -> int:
    from gamedsl.runs.saved import open_saved

    for folder in args.runs:
        open_saved(folder)
    if len(args.runs) == 1:
        if args.out is not None:
            print("gamedsl report: --out is for several runs", file=sys.stderr)
            return USAGE
        from gamedsl.view.report.page import write_report

        print(f"report: {write_report(args.runs[0])}")
        return CLEAN
    from gamedsl.view.report.comparison import write_comparison

    print(f"report: {write_comparison(args.runs, args.out or Path('comparison.html'))}")
    return CLEAN
