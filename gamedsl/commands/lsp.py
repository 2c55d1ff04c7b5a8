"""`gamedsl lsp`: serves an editor by the Language Server Protocol, over stdio.

Exit codes, as the protocol has them: 0 where the editor asked for the end (`shutdown`), 1 where it
did not; 2 usage or something missing.
"""

from __future__ import annotations

import argparse
import sys

from gamedsl.cli import CLEAN, PROBLEMS, USAGE
from gamedsl.commands._arguments import positive
from gamedsl.extras import missing

HELP = "Serve an editor: problems with quick fixes, hover, completion, definition and outline."


def configure(parser: argparse.ArgumentParser) -> None:
    from gamedsl.lsp.checking import SECONDS

    limits = parser.add_argument_group("limits")
    limits.add_argument(
        "--seconds", type=positive, default=SECONDS, metavar="S",
        help=f"how long the check of a file may take (default: {SECONDS:g})",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    try:
        from gamedsl.lsp.server import make_server
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        print(f"gamedsl lsp: {missing('pygls', 'lsp')}", file=sys.stderr)
        return USAGE
    server = make_server(args.seconds)
    try:
        return CLEAN if server.serve() else PROBLEMS
    finally:
        server.checker.close()
