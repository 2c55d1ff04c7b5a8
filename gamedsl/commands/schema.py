"""`gamedsl schema`: the JSON Schema by which editors complete and check files."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from gamedsl.cli import CLEAN

HELP = (
    "Print the JSON Schema of a kind of file, for editors that complete and check YAML, or that of "
    "problems as `gamedsl validate --format json` prints them."
)


KINDS = ("game", "protocol", "reward", "problems")


def configure(parser: argparse.ArgumentParser) -> None:
    output = parser.add_argument_group("output")
    parser.add_argument(
        "kind", nargs="?", choices=KINDS, default="game", help="of which files (default: game)"
    )
    output.add_argument(
        "--path", action="store_true", help="print the path of the schema's file instead"
    )


def run(args: argparse.Namespace) -> int:
    path = path_of(args.kind)
    if args.path:
        print(path)
    else:
        import json

        print(json.dumps(bundled(args.kind), indent=2, ensure_ascii=False))
    return CLEAN


def bundled(kind: str) -> dict[str, Any]:
    """Returns the schema of a kind, with those that it refers to under `$defs`, so that it can be
    used without the files beside it."""
    found: dict[str, Any] = {}
    pending = [kind]
    while pending:
        name = pending.pop()
        if name not in found:
            found[name] = _moved(_read(name), name, kind, pending)
    schema: dict[str, Any] = found.pop(kind)
    schema["$defs"] = {**schema.get("$defs", {}), **found}
    return schema


def _moved(node: Any, name: str, kind: str, met: list[str]) -> Any:
    """Returns a part of the schema `name` whose references are to places in that of `kind`. The
    schemas that they lead to are added to `met`."""
    if isinstance(node, list):
        return [_moved(part, name, kind, met) for part in node]
    if not isinstance(node, dict):
        return node
    moved = {key: _moved(part, name, kind, met) for key, part in node.items()}
    if isinstance(reference := node.get("$ref"), str):
        file, _, place = reference.partition("#")
        target = file.removesuffix(".schema.json") or name
        met.append(target)
        moved["$ref"] = f"#{place}" if target == kind else f"#/$defs/{target}{place}"
    return moved


def _read(name: str) -> dict[str, Any]:
    import json

    from gamedsl.storage.reader import read_bytes

    schema: dict[str, Any] = json.loads(read_bytes(path_of(name), limit=1 << 24))
    return schema


def path_of(kind: str) -> Path:
    """Returns the file with the schema of one of `KINDS`."""
    folder = "diagnostics" if kind == "problems" else "frontend/schema"
    return Path(__file__).parent.parent / folder / f"{kind}.schema.json"
