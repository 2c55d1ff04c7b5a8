"""`gamedsl compile`: writes a checked game as one JSON file, for programs in other languages.

Every command reads the file again, as it reads the YAML, to the same hash.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from gamedsl.cli import CLEAN, PROBLEMS, USAGE, add_params, read_params, use_colour
from gamedsl.commands._streams import print_document
from gamedsl.storage.writer import write_output

HELP = "Write a checked game as JSON. FILE is a path or the name of a shipped game."


def configure(parser: argparse.ArgumentParser) -> None:
    add_params(parser)
    output = parser.add_argument_group("output")
    parser.add_argument("file", metavar="FILE", nargs="?", help="a path or a shipped name")
    output.add_argument(
        "-o", "--output", metavar="OUT",
        help="where to write; a name that ends in .json can be read again (default: print it)",
    )  # fmt: skip
    output.add_argument(
        "--schema", action="store_true", help="write the JSON Schema of compiled games instead"
    )


def run(args: argparse.Namespace) -> int:
    from gamedsl import __version__
    from gamedsl.compiled import NotKept, compiled_schema, write_compiled
    from gamedsl.compiler import SUFFIX, compile_file
    from gamedsl.diagnostics.render import render
    from gamedsl.frontend.source.loader import recording

    if args.schema == (args.file is not None):
        return _stop("give a FILE, or --schema")
    if args.file is not None and args.file.endswith(SUFFIX):
        return _stop(f"{args.file} is compiled already")
    if args.schema:
        return _write(json.dumps(compiled_schema(), indent=1) + "\n", args.output)
    try:
        params = read_params(args.param)
    except ValueError as error:
        return _stop(str(error))
    with recording() as sources:
        result = compile_file(args.file, params)
    if result.diagnostics:
        shown = render(result.diagnostics, "pretty", use_colour(sys.stderr))
        print(shown, file=sys.stderr)
    if result.ir is None or result.document is None:
        if result.ok and result.document is not None:
            return _stop(f"{args.file} is a {result.document.kind} file, not a game")
        return PROBLEMS
    try:
        text = write_compiled(result.ir, result.document.files[0], sources, params, __version__)
    except NotKept as error:
        return _stop(f"{result.ir.name}: {error}", PROBLEMS)
    return _write(text, args.output)


def _write(text: str, output: str | None) -> int:
    if output is None:
        print_document(text)
    else:
        write_output(Path(output), text)
    return CLEAN


def _stop(message: str, code: int = USAGE) -> int:
    print(f"gamedsl compile: {message}", file=sys.stderr)
    return code
