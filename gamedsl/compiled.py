"""Compiled games: one JSON file with the checked IR of a game and the files that it was made from.

Programs in other languages read the IR (`gamedsl.ir.codec`) and need no parser. Reading it back
here trusts none of it: whoever made the file may be a stranger, and a proof of the compiler is no
part of the IR. The game is compiled again from its files; the IR must be the one that comes out.

Of the files, those beside the game and below are kept. What it takes from the shipped library is
not: a reader has a library of its own, and where that gives another game, it says so.
"""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from gamedsl.diagnostics.model import Problems
from gamedsl.diagnostics.spans import Source, Span
from gamedsl.frontend.source import loader
from gamedsl.ir.codec import (
    MalformedIR,
    decode,
    decode_value,
    encode,
    encode_value,
    json_schema,
)
from gamedsl.ir.game import GameIR
from gamedsl.sema.library import LANGUAGE
from gamedsl.storage.characters import escaped
from gamedsl.storage.reader import FileRefused, read_bytes
from gamedsl.storage.shipped import shipped_folder
from gamedsl.storage.strict_json import Bounds, JsonRefused, parse

FORMAT = "gamedsl-compiled/1"
MAX_BYTES = 1 << 26
MAX_FILES = 1000
_BOUNDS = Bounds(depth=600, digits=4000)


@dataclass(frozen=True)
class Compiled:
    """A compiled file that was read: its path, its `main` file as a file on this machine, the
    params that it states, and the game that is written in it, which nothing has checked."""

    path: Path
    main: Path
    params: Mapping[str, Any]
    ir: GameIR


class NotKept(ValueError):
    """A game cannot be kept in one file; the text says why."""


def write_compiled(
    ir: GameIR, main: Path, sources: Mapping[Path, str], params: Mapping[str, Any], compiler: str
) -> str:
    """Returns the text of a compiled file. `sources` are the files that the compiler read, with
    their texts, `main` among them, `params` those that were set from outside, and `compiler` the
    version of gamedsl. Raises NotKept for a game that takes files from outside its folder and the
    shipped library."""
    folder, library = main.parent.resolve(), shipped_folder().resolve()
    kept: dict[str, str] = {}
    for path, text in sources.items():
        real = path.resolve()
        if real.is_relative_to(folder):
            kept[real.relative_to(folder).as_posix()] = text
        elif not real.is_relative_to(library):
            raise NotKept(f"`{loader.display_name(path)}` lies outside the folder of the game")
    content = {
        "format": FORMAT,
        "language": LANGUAGE,
        "compiler": compiler,
        "name": ir.name,
        "hash": ir.hash,
        "rules_hash": ir.rules_hash,
        "params": {name: encode_value(value) for name, value in params.items()},
        "main": main.resolve().name,
        "files": kept,
        **encode(ir),
    }
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def compiled_schema() -> dict[str, Any]:
    """Returns the JSON Schema (draft 2020-12) of compiled files."""
    inner, text = json_schema(), {"type": "string"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A compiled game",
        "description": "Written by `gamedsl compile`. The rules are `game`; its expressions name "
        "their types by their indices in `types`.",
        "type": "object",
        "properties": {
            "format": {"const": FORMAT},
            "language": {"const": LANGUAGE},
            "compiler": text | {"description": "the version of gamedsl that wrote it"},
            "name": text,
            "hash": text | {"description": "SHA-256 of rules and rendering"},
            "rules_hash": text | {"description": "SHA-256 of the rules"},
            "params": {
                "description": "the params that were set from outside",
                "type": "object", "additionalProperties": {"$ref": "#/$defs/value"},
            },
            "main": text | {"description": "the file in `files` that was compiled"},
            "files": {
                "description": "the files that it was compiled from, by their paths from `main`; "
                "those of the shipped library are left out",
                "type": "object", "additionalProperties": text,
            },
            **inner["properties"],
        },
        "required": [
            "format", "language", "compiler", "name", "hash", "rules_hash", "params", "main",
            "files", *inner["required"],
        ],
        "additionalProperties": False,
        "$defs": inner["$defs"],
    }  # fmt: skip


def open_compiled(path: Path, problems: Problems) -> Compiled | None:
    """Reads a compiled file, and puts its files where they can be compiled; None with a problem."""
    try:
        content = parse(read_bytes(path, limit=MAX_BYTES), limit=MAX_BYTES, bounds=_BOUNDS)
        return _opened(path, content)
    except FileRefused as error:
        loader.report_refused(path, error, problems)
    except (JsonRefused, MalformedIR, RecursionError) as error:
        name = loader.display_name(path)
        problems.add(
            "GD0130",
            f"`{name}` is no compiled game: {escaped(str(error))}",
            Span(Source(name, ""), 0, 0),
            help="compile the game's file again: gamedsl compile FILE -o NAME.json",
        )
    return None


def _opened(path: Path, content: Any) -> Compiled:
    """Returns a compiled file by its content. Raises MalformedIR."""
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise MalformedIR(f"it does not say `{FORMAT}`")
    if content.get("language") != LANGUAGE:
        stated = json.dumps(content.get("language"))[:20]
        raise MalformedIR(f"it is of version {stated} of the language; here is {LANGUAGE}")
    ir = decode({key: content.get(key) for key in ("types", "game")})
    if content.get("hash") != ir.hash:
        raise MalformedIR("its `hash` is not that of the game in it")
    params = {
        name: decode_value(value, f"params.{name}")
        for name, value in _map_of(content, "params", object).items()
    }
    files, main = _map_of(content, "files", str), content.get("main")
    if not isinstance(main, str) or main not in files:
        raise MalformedIR("`main` is none of its `files`")
    if (misplaced := next(filter(_is_misplaced, files), None)) is not None:
        raise MalformedIR(f"the file {json.dumps(misplaced[:80])} is not at a path below the game")
    folders = {parent.as_posix() for name in files for parent in PurePosixPath(name).parents}
    if (both := next(filter(folders.__contains__, files), None)) is not None:
        raise MalformedIR(f"the file {json.dumps(both[:80])} is the folder of another file too")
    folder = Path(tempfile.mkdtemp(dir=_root()))
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="")
    return Compiled(path, folder / main, params, ir)


def check_same(compiled: Compiled, ir: GameIR, problems: Problems) -> None:
    """Reports a game whose files give another one now than when it was compiled."""
    stated, name = compiled.ir.hash, loader.display_name(compiled.path)
    if ir.hash != stated:
        part = "rules" if ir.rules_hash != compiled.ir.rules_hash else "prompts"
        problems.add(
            "GD0131",
            f"the files in `{name}` give a game of other {part}: its hash is {ir.hash[:12]}, and "
            f"{stated[:12]} is stated",
            Span(Source(name, ""), 0, 0),
            help="read it with the version of gamedsl that wrote it, or compile the game again",
        )


def _map_of(content: Mapping[str, Any], key: str, kind: type) -> dict[str, Any]:
    found = content.get(key)
    if not isinstance(found, dict) or not all(isinstance(each, kind) for each in found.values()):
        raise MalformedIR(f"`{key}` is not the map that it should be")
    if len(found) > MAX_FILES:
        raise MalformedIR(f"`{key}` has more than {MAX_FILES:,} entries")
    return found


def _is_misplaced(name: str) -> bool:
    """Whether a path is not one of a file below the game, for every system."""
    path = PurePosixPath(name)
    odd = any(sign in name for sign in '\\:\0<>"|?*') or name != path.as_posix()
    hidden = any(part.startswith(".") or len(part.encode()) > 200 for part in path.parts)
    return odd or hidden or path.is_absolute() or not 0 < len(path.parts) <= 8


@cache
def _root() -> Path:
    """A folder of this process, which goes when it ends."""
    root = Path(tempfile.mkdtemp(prefix="gamedsl-compiled-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    return root
