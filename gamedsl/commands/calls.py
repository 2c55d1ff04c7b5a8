"""`gamedsl calls`: lists the functions that `call:` steps may name, with signatures and meanings.

The functions are those that gamedsl ships and those of installed packages that name an entry point
of the group `gamedsl.calls`.
"""

from __future__ import annotations

import argparse
import json
import sys
from textwrap import fill
from typing import TYPE_CHECKING, Any

from gamedsl.cli import CLEAN, PROBLEMS, USAGE

if TYPE_CHECKING:
    from gamedsl.calls.registry import Function

HELP = (
    "List the functions that `call:` steps of games may name: arguments, results and meanings. "
    "With NAME, describe this function alone."
)

WIDTH = 78
"""Columns of a line of text."""


def configure(parser: argparse.ArgumentParser) -> None:
    output = parser.add_argument_group("output")
    parser.add_argument("name", nargs="?", metavar="NAME", help="a function such as same_number")
    output.add_argument(
        "--format", choices=("text", "json"), default="text",
        help="for people, or for programs (default: text)",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    from gamedsl.calls.registry import SHIPPED, CallError, lookup, names

    code, known = CLEAN, tuple(SHIPPED)
    try:
        known = names()
    except CallError as error:
        sys.stderr.write(
            f"gamedsl calls: {error}\n  fix: mend or uninstall this package; functions of other "
            "packages are not listed\n"
        )
        code = PROBLEMS
    if args.name is not None and args.name not in known:
        return code or _unknown(args.name, known)
    listed = known if args.name is None else (args.name,)
    found = [one for one in map(lookup, listed) if one is not None]
    if args.format == "json":
        print(json.dumps([_described(one) for one in found], indent=2, ensure_ascii=False))
    else:
        print("\n\n".join(map(_text, found)))
    return code


def _unknown(name: str, known: tuple[str, ...]) -> int:
    from gamedsl.diagnostics.suggest import did_you_mean

    near = did_you_mean(name, known)
    fix = f"did you mean `{near}`?" if near else "`gamedsl calls` lists all functions"
    sys.stderr.write(f"gamedsl calls: there is no function `{name}`; {fix}\n")
    return USAGE


def _text(function: Function) -> str:
    """Returns the signature of a function, and below it what it means and how it is run."""
    pure = "pure" if function.pure else "not pure"
    limit = f"at most {function.time_limit:g} s"
    where = "" if function.unfit_for_conditions else ", also in `valid`"
    lines = [function.doc, f"version {function.version}, {pure}, {limit}{where}"]
    missing = function.missing_here()
    if missing is not None:
        lines.append(f"cannot run on this machine: {missing}")
    inner = (fill(line, WIDTH, initial_indent="  ", subsequent_indent="  ") for line in lines)
    return "\n".join((function.usage, *inner))


def _described(function: Function) -> dict[str, Any]:
    """Returns what JSON says of a function; types are texts, as in its signature."""
    from gamedsl.calls.registry import SHIPPED
    from gamedsl.calls.types import as_json, type_text

    return {
        "name": function.name,
        "usage": function.usage,
        "about": function.doc,
        "arguments": {name: type_text(type) for name, type in function.arguments.items()},
        "result": type_text(function.result),
        "pure": function.pure,
        "version": function.version,
        "time_limit": function.time_limit,
        "in_valid": function.unfit_for_conditions is None,
        "on_timeout": as_json(function.on_timeout),
        "shipped": function.name in SHIPPED,
        "missing_here": function.missing_here(),
    }
