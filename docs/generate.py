"""Writes `docs/reference.md`, the tables of `docs/replies.md`, the picture of the architecture, the
index of the gallery and the JSON Schema of `train:`.

    python docs/generate.py                     # write them
    python docs/generate.py --check             # fail if one is stale (the test suite does)
    python docs/generate.py gallery             # write the gallery's page of each shipped game
    python docs/generate.py gallery kuhn_poker  # or of some; both with --check too

Nothing in the reference is typed twice: sections come from the JSON Schemas; built-ins, functions
of games, label styles, words of templates, recipe keys, players and diagnostics from the tables
that the compiler runs on.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from architecture_picture import picture
from gallery_pages import GALLERY, all_names, files_of, index
from reply_tables import TABLES

import gamedsl
from gamedsl.analysis import PASSES
from gamedsl.calls.registry import SHIPPED, lookup
from gamedsl.cli import COMMANDS
from gamedsl.diagnostics import codes
from gamedsl.ir.builtins import BUILTINS, Builtin
from gamedsl.players.table import PLAYERS, player_spec
from gamedsl.prompting.labels import STYLES
from gamedsl.prompting.templates import construct_table, word_table
from gamedsl.recipe.methods import METHODS, default_of, method_spec, table
from gamedsl.recipe.presets import PRESETS
from gamedsl.recipe.schema import train_schema
from gamedsl.runs.record_fields import FIELDS
from gamedsl.tables.markdown import markdown_rows
from gamedsl.tables.model import Table, text_columns

SCHEMAS = Path(gamedsl.__file__).parent / "frontend" / "schema"
REFERENCE = Path(__file__).with_name("reference.md")
REPLIES = Path(__file__).with_name("replies.md")
PICTURE = Path(__file__).parent / "pictures" / "architecture.svg"
TRAIN = SCHEMAS / "train.schema.json"
MARKED = re.compile(r"(<!-- (\w+): written by .+? -->\n).*?(?=<!-- end -->)", re.DOTALL)
BANDS = {
    "00": "YAML", "01": "Shape of a file", "02": "Syntax of expressions", "03": "Names and types",
    "04": "The game", "05": "Prompts and labels", "06": "Rewards", "07": "Training recipes",
    "08": "Imported files",
}  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description="Write the pages that are made from tables.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if one is stale")
    parser.add_argument("what", nargs="*", help="gallery, and names of games (default: all games)")
    args = parser.parse_args()
    if args.what and args.what[0] != "gallery":
        parser.error("only the gallery is written apart: `gallery`, `gallery kuhn_poker`")
    pages = gallery(args.what[1:]) if args.what else tables()
    stale = [p for p, text in pages.items() if not p.exists() or p.read_text("utf-8") != text]
    command = " ".join(["python docs/generate.py", *args.what])
    for page in stale:
        if args.check:
            sys.stderr.write(f"{page.name} is stale: run `{command}`\n")
        else:
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(pages[page], encoding="utf-8")
    return int(args.check and bool(stale))


def tables() -> dict[Path, str]:
    """The pages and files that the compiler's tables say, by path."""
    return {
        REFERENCE: "\n".join(reference()) + "\n",
        REPLIES: replies(),
        PICTURE: picture(),
        TRAIN: json.dumps(train_schema(), indent=2) + "\n",
        GALLERY / "index.md": index(),
    }


def gallery(names: list[str]) -> dict[Path, str]:
    """The pages of some games, or of all, with their pictures."""
    return {path: text for name in names or all_names() for path, text in files_of(name).items()}


def replies() -> str:
    """The page of replies, its tables written anew."""
    text = REPLIES.read_text(encoding="utf-8")
    return MARKED.sub(lambda mark: mark[1] + "\n".join(TABLES[mark[2]]()) + "\n", text)


def reference() -> Iterator[str]:
    yield "# Reference"
    yield ""
    yield "<!-- Written by docs/generate.py from the compiler's tables; do not edit. -->"
    yield ""
    yield "The language is explained in [language.md](language.md); this page lists what there is."
    for kind in ("game", "protocol", "reward"):
        yield from sections(kind)
    yield from forms("Steps", "common", "step", "A step of `turns` has one of these heads.")
    yield from forms("Types", "common", "type", "An entry of `types` that is a map.")
    yield from forms("State", "common", "variable", "An entry of `state` that is a map.")
    yield from action()
    yield from library()
    yield from expressions()
    yield from calls()
    yield from labels()
    yield from words()
    yield from recipe()
    yield from records()
    yield from players()
    yield from commands()
    yield from proofs()
    yield from diagnostics()


def sections(kind: str) -> Iterator[str]:
    schema = json.loads((SCHEMAS / f"{kind}.schema.json").read_text(encoding="utf-8"))
    yield f"\n## Keys of a {kind} file\n"
    yield from keys(schema, kind)


def definition(file: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((SCHEMAS / f"{file}.schema.json").read_text("utf-8"))
    return dict(found["$defs"][name])


def forms(title: str, file: str, name: str, about: str) -> Iterator[str]:
    """The branches of a definition that have a head, each with its keys."""
    yield f"\n## {title}\n"
    yield about
    for branch in definition(file, name)["anyOf"]:
        if "head" not in branch:
            continue
        whole = resolved(branch, file)
        yield f"\n### `{branch['head']}`\n"
        yield from keys(whole, file)


def action() -> Iterator[str]:
    yield "\n## Declared actions\n"
    yield "An entry of `actions` that is a map."
    yield ""
    yield from keys(definition("common", "action"), "common")


def keys(whole: dict[str, Any], file: str) -> Iterator[str]:
    """A table of the keys of a map."""
    described = {key: resolved(value, file) for key, value in whole["properties"].items()}
    rows = [row(key, value) for key, value in described.items()]
    yield from rows_of(("key", "what it is", "example"), rows)


def rows_of(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    """The lines of a table."""
    return markdown_rows(Table(text_columns(*heads), list(rows)))


def row(key: str, described: dict[str, Any]) -> tuple[str, ...]:
    title, about = described.get("title", ""), described.get("description", "")
    examples = described.get("examples", [])
    example = f"`{flow(examples[0])}`" if examples else ""
    text = f"{title}. {about}" if title and about else title or about
    return f"`{key}`", text, example


def library() -> Iterator[str]:
    """The protocols and rewards that are shipped, with their params."""
    from gamedsl.diagnostics import Problems
    from gamedsl.sema.library import load_document, resolve_argument, shipped

    for kind, plural in (("protocol", "Protocols"), ("reward", "Rewards")):
        yield f"\n## {plural}\n"
        rows = []
        for name in shipped(kind):
            document = load_document(resolve_argument(f"{plural.lower()}/{name}.yaml"), Problems())
            assert document is not None
            about, params = document.root.get("about"), document.root.get("params")
            shown = ", ".join(f"`{entry.key.text}`" for entry in params or ())
            text = getattr(about, "text", "").replace("[", r"\[")  # no link of Markdown
            rows.append((f"`{name}`", text, shown))
        yield from rows_of((kind, "what it does", "params"), rows)


def resolved(value: dict[str, Any], file: str) -> dict[str, Any]:
    """A schema with what its reference says added; its own words win."""
    reference = value.get("$ref")
    if reference is None:
        return value
    where, _, path = reference.partition("#")
    file = where.partition(".")[0] or file
    found = json.loads((SCHEMAS / f"{file}.schema.json").read_text(encoding="utf-8"))
    for part in path.strip("/").split("/"):
        found = found[part]
    return {**resolved(found, file), **value}


def flow(value: Any) -> str:
    """A value as YAML in one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    return json.dumps(value) if not isinstance(value, str) else value.strip().split("\n")[0]


def expressions() -> Iterator[str]:
    yield "\n## Expressions\n"
    yield "Numbers are exact: `0.1` is one tenth. Comparisons do not chain. `a if test else b`,"
    yield "`and`, `or`, `not`, `in`, `f(x for x in xs if test)` and precedence are as in Python."
    yield ""
    yield from builtins("operator", [row for row in BUILTINS.values() if row.kind != "function"])
    yield ""
    yield from builtins("function", [row for row in BUILTINS.values() if row.kind == "function"])


def builtins(kind: str, rows: list[Builtin]) -> Iterator[str]:
    """Yields the table of some built-ins, each with its example."""
    examples = (f"`{text}` is `{value}`" for text, value in (row.example for row in rows))
    found = [(f"`{r.usage}`", r.about, text) for r, text in zip(rows, examples, strict=True)]
    yield from rows_of((kind, "meaning", "example"), found)


def calls() -> Iterator[str]:
    yield "\n## Functions that `call:` steps name\n"
    yield (
        "All are pure; `valid` may call those that are also quick. [calls.md](calls.md) says more, "
        "and how to add one."
    )
    yield ""
    found = filter(None, map(lookup, SHIPPED))
    rows = [
        (f"`{one.usage}`", one.doc, "no" if one.unfit_for_conditions else "yes", str(one.version))
        for one in found
    ]
    yield from rows_of(("function", "meaning", "in `valid`", "version"), rows)


def labels() -> Iterator[str]:
    yield "\n## Styles of masked labels\n"
    rows = [(f"`{style.name}`", style.about) for style in STYLES.values()]
    yield from rows_of(("style", "labels"), rows)


def words() -> Iterator[str]:
    yield "\n## Words of templates\n"
    yield "The names that a text under `prompts:` may use, by slot. Examples are of games with such"
    yield "names; [language.md](language.md#prompts) explains the slots."
    yield ""
    yield from markdown_rows(word_table())
    yield ""
    yield "A template writes values by `{{ … }}`, and has `{% if … %}`, `{% for … in … %}` and"
    yield "`{% set … = … %}`. A loop has one list, and none inside it. These constructs are known:"
    yield ""
    yield from markdown_rows(construct_table())


def recipe() -> Iterator[str]:
    yield "\n## Keys of a recipe\n"
    yield "Written under `train:` in a game file, or as `--set key=value`."
    yield ""
    rows = []
    for key in table().values():
        default = f"`{default_text(key.default)}`"
        for method in METHODS:
            if (own := default_of(key, method)) != key.default:
                default += f"; `{method}`: `{default_text(own)}`"
        rows.append((f"`{key.name}`", default, key.accepts(), key.doc))
    yield from rows_of(("key", "default", "accepts", "meaning"), rows)
    yield "\n### Presets\n"
    yield "The defaults that `preset: NAME` sets. A key that you write wins over its preset."
    yield ""
    shown = [
        (
            f"`{name}`", one.paper,
            ", ".join(f"`{key}: {default_text(value)}`" for key, value in one.settings.items()),
        )
        for name, one in PRESETS.items()
    ]  # fmt: skip
    yield from rows_of(("preset", "paper", "sets"), shown)


def records() -> Iterator[str]:
    yield "\n## Records of a run\n"
    yield "The fields of the lines of `metrics.jsonl`; [runs](training/runs.md) says more."
    yield "A line with a field that holds anything else is refused; other fields are not read."
    yield ""
    yield '`{role: number}` is a map from roles to numbers. `{"seat": text}` is an object with this'
    yield 'key, which may be missing after `"seat"?`. `[number]` is a list; with `…` a list or a'
    yield "map is not empty. A share is a number from 0 to 1."
    yield ""
    rows = [
        (f"`{row.name}`", ", ".join(row.records), f"{row.shape}", row.doc, row.games)
        for row in FIELDS
    ]
    for method in METHODS:
        for name, (shape, meaning) in method_spec(method).records.items():
            rows.append((f"`{name}`", "step", f"{shape}", meaning, f"`method: {method}`"))
    yield from rows_of(("field", "in", "holds", "meaning", "of which games"), rows)


def default_text(default: Any) -> str:
    if isinstance(default, tuple):
        return ", ".join(map(str, default)) or "[]"
    return str(default)


def players() -> Iterator[str]:
    yield "\n## Players\n"
    yield "Who may hold a seat; [players.md](players.md) says more."
    yield ""
    specs = ((name, player_spec(name)) for name in PLAYERS)
    rows = [(f"`{spec.usage(name)}`", spec.doc, spec.fits) for name, spec in specs]
    yield from rows_of(("player", "plays", "fits"), rows)


def commands() -> Iterator[str]:
    yield "\n## Commands\n"
    rows = [(f"`gamedsl {name}`", about) for name, about in COMMANDS.items()]
    yield from rows_of(("command", "what it does"), rows)
    yield ""
    yield "`gamedsl COMMAND --help` lists the options. Exit codes: 0 clean, 1 problems, 2 usage."


def proofs() -> Iterator[str]:
    yield "\n## Proofs\n"
    yield "What is said of every game, with its grade (`gamedsl validate --report text`), and the"
    yield "problems that refute it or say what is less than it should be."
    yield ""
    rows = [(f"`{row.name}`", row.claim, ", ".join(row.codes)) for row in PASSES]
    yield from rows_of(("name", "claim", "problems"), rows)


def diagnostics() -> Iterator[str]:
    yield "\n## Diagnostics\n"
    yield "`gamedsl explain CODE` prints the long form, with a wrong and a right example."
    bands = groupby(codes.codes(), lambda code: code[2:4])
    for band, members in bands:
        yield f"\n### {BANDS[band]}\n"
        titles = ((code, codes.explain(code).partition("\n")[0]) for code in members)
        rows = [(code, title.removeprefix("# ")) for code, title in titles]
        yield from rows_of(("code", "problem"), rows)


if __name__ == "__main__":
    raise SystemExit(main())
