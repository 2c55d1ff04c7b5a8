"""`gamedsl mcp`: serves tools to coding assistants, over standard input and output."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gamedsl.cli import CLEAN, USAGE, add_calls
from gamedsl.commands._arguments import positive

HELP = "Serve tools to a coding assistant by the Model Context Protocol, over stdio."


def configure(parser: argparse.ArgumentParser) -> None:
    from gamedsl.mcp.server import SECONDS

    reading = parser.add_argument_group("what may be read")
    limits = parser.add_argument_group("limits")
    reading.add_argument(
        "--root", type=Path, default=Path(), metavar="FOLDER",
        help="the folder whose files may be read; nothing is written (default: the current one)",
    )  # fmt: skip
    limits.add_argument(
        "--seconds", type=positive, default=SECONDS, metavar="S",
        help=f"how long one answer may take (default: {SECONDS:g})",
    )  # fmt: skip
    add_calls(parser)  # executed by the workers, since what such a file prints is no protocol


def run(args: argparse.Namespace) -> int:
    from gamedsl.mcp.refusal import Refused
    from gamedsl.mcp.server import Workers, make_server

    root = args.root.expanduser().resolve()
    if not root.is_dir():
        return _usage(f"--root {args.root} is no folder", "name a folder with games")
    if root == root.parent:
        return _usage("--root is the root of the file system", "name a folder with games")
    workers = Workers(root, args.call_files, args.seconds)
    try:
        server = make_server(workers)
        if args.call_files:
            workers.call("explain", code="GD0101")  # starts one, which executes the files
        server.run()
    except Refused as error:
        return _usage(error.fact, error.fix)
    except ImportError as error:
        print(f"gamedsl mcp: {error}", file=sys.stderr)
        return USAGE
    finally:
        workers.close()
    return CLEAN


def _usage(fact: str, fix: str) -> int:
    print(f"gamedsl mcp: {fact}\n  fix: {fix}", file=sys.stderr)
    return USAGE
