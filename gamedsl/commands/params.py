"""`--param name=value`, as every command that reads a game takes it."""

from __future__ import annotations

import argparse
from collections.abc import Iterable


def add_params(parser: argparse.ArgumentParser, more: str = "") -> None:
    """Let a command take params; `more` is added to the help."""
    parser.add_argument(
        "--param",
        action="append",
        default=[],
        metavar="K=V",
        help=f"set a param; may be repeated{more}",
    )


def read_params(given: Iterable[str]) -> dict[str, str]:
    """What was given, as a map of text. ValueError for what is not of the form `name=value`."""
    params = {}
    for item in given:
        name, equals, value = item.partition("=")
        if not equals or not name.strip():
            raise ValueError(f"`--param {item}` is not of the form name=value")
        params[name.strip()] = value.strip()
    return params
