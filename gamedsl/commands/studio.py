"""`gamedsl studio`: pages to read, write, play and replay games, on this machine alone.

It serves until it is interrupted. Exit codes: 0 ended, 2 usage, or something is missing.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gamedsl.cli import CLEAN, USAGE, add_calls
from gamedsl.commands._arguments import positive, whole_to

HELP = (
    "Serve pages in which to read, write, play and replay games. PATHs are the folders whose "
    "games, plays and runs are shown; nothing else is read."
)

HOST = "127.0.0.1"

PORT = 8765


def configure(parser: argparse.ArgumentParser) -> None:
    address = parser.add_argument_group("address")
    limits = parser.add_argument_group("limits")
    parser.add_argument(
        "paths", nargs="*", type=Path, metavar="PATH",
        help="folders; plays are saved in the first one (default: the current folder)",
    )  # fmt: skip
    address.add_argument(
        "--port", type=whole_to(65535), default=PORT, metavar="N",
        help=f"the port, 0 for any that is free (default: {PORT})",
    )  # fmt: skip
    address.add_argument(
        "--host", default=HOST, metavar="ADDRESS",
        help=f"the address to listen at; others than {HOST} let other machines in who have a link, "
        "and what they send can be read on the way",
    )  # fmt: skip
    limits.add_argument(
        "--seconds", type=positive, default=30.0, metavar="S",
        help="how long a move, a check or a hint may take (default: 30)",
    )  # fmt: skip
    address.add_argument(
        "--open", action="store_true", help="open the studio in this machine's browser"
    )
    parser.add_argument_group("endpoints").add_argument(
        "--allow-endpoint", action="append", default=[], metavar="URL", dest="addresses",
        help="let runs that pages start call the endpoint at this address; may be repeated",
    )  # fmt: skip
    add_calls(parser)  # executed by the workers, as of `gamedsl mcp`


def run(args: argparse.Namespace) -> int:
    from gamedsl.extras import missing
    from gamedsl.mcp.refusal import Refused

    try:
        from gamedsl.studio.serving import serve
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("starlette", "uvicorn"):
            raise
        print(f"gamedsl studio: {missing(error.name.partition('.')[0], 'studio')}", file=sys.stderr)
        return USAGE
    try:
        serve(
            args.paths or [Path()], host=args.host, port=args.port, seconds=args.seconds,
            call_files=args.call_files, addresses=args.addresses, show=args.open, say=_say,
        )  # fmt: skip
    except Refused as error:
        print(f"gamedsl studio: {error.fact}\n  fix: {error.fix}", file=sys.stderr)
        return USAGE
    return CLEAN


def _say(line: str) -> None:
    print(line, flush=True)
