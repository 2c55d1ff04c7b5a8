"""Run folders that were damaged: cut, emptied, flipped, deleted, swapped, edited, replaced by a
folder, a link, a FIFO or garbage.

A run of a few steps is made once. Each input damages a copy of it and gives it to `train --resume`,
`report` and `eval`. The oracle: exit code 0 with the numbers that the whole folder gives, or 2 with
a message that names a damaged file. Snapshots of a pool and transcripts the owner of a run may
delete: then the numbers may be those of the folder without them and without other damage. Where the
folder's checksums are taken away too, as in folders of older runs, other numbers cannot be told
from damage: there the oracle is the exit code, and a message wherever it is not 0.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any

from gamedsl.cli import main
from tests.fuzz import Case, Limits, Outcome

NAME = "run_folders"
BATCH = 10

LIMITS = Limits(cpu=20.0)
STEPS = 6
COMMANDS = ("resume", "report", "eval", "eval checkpoint")
FILES = (
    "run.json", "recipe.yaml", "labels.json", "metrics.jsonl", "metrics.jsonl", "checksums.json",
    "game/prisoners_dilemma.yaml", "transcripts/step-000004.jsonl", "checkpoints/step-000004.pt",
    "pool/step-000002.pt", "pool/step-000004.pt", "adapters/shared/table.safetensors", ".lock",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1e308, 10**300, "", "x" * 300, "\x1b[2J", "../../etc/passwd", [], [[]], {},
    {"": {}},
)  # fmt: skip
_MARKED = "{run}"


def cases(seed: int) -> Iterator[Case]:
    """Yields the inputs of a seed."""
    random = Random(f"run folders {seed}")
    while True:
        damages = [_damage(random) for _ in range(random.choice((1, 1, 1, 2)))]
        noted = random.random() < 0.7 or any(one["file"] == "checksums.json" for one in damages)
        plan = {"command": random.choice(COMMANDS), "noted": noted, "damages": damages}
        yield case_of({"plan.json": json.dumps(plan, indent=1).encode()})


def case_of(files: Mapping[str, bytes]) -> Case:
    """Returns the case of an input read back from its files."""
    plan = json.loads(files["plan.json"])
    told = ", ".join(f"{one['how']} {one['file']}" for one in plan["damages"])
    return Case(f"{plan['command']}: {told}", files, partial(_run, plan), LIMITS)


def warm() -> None:
    """Makes the run, and what its whole folder gives, before children fork."""
    for command in COMMANDS:
        _expected(command)


# damages


def _damage(random: Random) -> dict[str, Any]:
    file = random.choice(FILES)
    edits = file.endswith((".json", ".jsonl", ".yaml")) and random.random() < 0.5
    how = random.choice(("edit", "text") if edits else sorted(set(DAMAGES) - {"edit", "text"}))
    return {"file": file, "how": how, "seed": random.randrange(1 << 32)}


def _cut(file: Path, random: Random) -> None:
    os.truncate(file, random.randrange(file.stat().st_size))


def _flip(file: Path, random: Random) -> None:
    content = bytearray(file.read_bytes())
    for _ in range(random.choice((1, 1, 8))):
        content[random.randrange(len(content))] ^= 1 << random.randrange(8)
    file.write_bytes(content)


def _garbage(file: Path, random: Random) -> None:
    file.write_bytes(random.choice((
        random.randbytes(random.randrange(1, 3000)), b"\0" * 5000, b"[" * 100_000, b"\xff\xfe",
        b'{"a": ' * 5000, b"PK\x03\x04" + random.randbytes(200), b"1e999999999\n", b"&a [*a, *a]\n",
    )))  # fmt: skip


def _swap(file: Path, random: Random) -> None:
    others = [one for one in file.parent.iterdir() if one.is_file() and one != file]
    if others:
        other = random.choice(sorted(others))
        content = file.read_bytes()
        file.write_bytes(other.read_bytes())
        other.write_bytes(content)
    else:
        file.unlink()


def _folder(file: Path, random: Random) -> None:
    file.unlink()
    file.mkdir()


def _fifo(file: Path, random: Random) -> None:
    file.unlink()
    os.mkfifo(file)


def _link(file: Path, random: Random) -> None:
    file.unlink()
    file.symlink_to(random.choice(("/dev/zero", "/etc/passwd", "/", "nowhere", file.name)))


def _lines(file: Path, random: Random) -> None:
    lines = file.read_bytes().splitlines(keepends=True) or [b""]
    at = random.randrange(len(lines))
    match random.randrange(3):
        case 0:
            del lines[at]
        case 1:
            lines.insert(at, lines[at])
        case _:
            random.shuffle(lines)
    file.write_bytes(b"".join(lines))


def _text(file: Path, random: Random) -> None:
    """Changes a number in a text."""
    text = file.read_text("utf-8")
    found = list(re.finditer(r"\d+", text))
    if found:
        one = random.choice(found)
        new = random.choice(("0", "9" * 5000, "1e400", "-1", "NaN", "'", "[", one[0] + "7"))
        file.write_text(text[: one.start()] + new + text[one.end() :], "utf-8")


def _edit(file: Path, random: Random) -> None:
    """Changes a value in JSON; a text elsewhere."""
    if file.suffix == ".yaml":
        _text(file, random)
        return
    lines = file.read_text("utf-8").splitlines() if file.suffix == ".jsonl" else [file.read_text()]
    at = random.randrange(len(lines))
    content = json.loads(lines[at])
    places = list(_places(content))
    if places:
        holder, key = random.choice(places)
        if random.random() < 0.3:
            del holder[key]
        else:
            holder[key] = random.choice(VALUES)
    lines[at] = json.dumps(content)
    file.write_text("\n".join(lines) + "\n", "utf-8")


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    keys = (
        value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    )
    for key in keys:
        yield value, key
        yield from _places(value[key])


DAMAGES: dict[str, Callable[[Path, Random], None]] = {
    "cut": _cut, "flip": _flip, "empty": lambda file, random: os.truncate(file, 0),
    "delete": lambda file, random: file.unlink(), "garbage": _garbage, "swap": _swap,
    "folder": _folder, "fifo": _fifo, "link": _link, "lines": _lines, "text": _text, "edit": _edit,
}  # fmt: skip


# what is run


@cache
def _made() -> Path:
    """A run that was stopped after four of six steps."""
    import torch

    torch.set_num_threads(1)
    folder = Path(tempfile.mkdtemp(prefix="run-folders-")) / "run"
    code, out = _called([
        "train", "prisoners_dilemma", "--model", "tabular", "--steps", "4", "--out", str(folder),
        "--set", "games=16", "--set", "checkpoint_every=2", "--set", "transcripts_every=2",
        "--set", "threads=1", "--set", "opponents={self: 1, pool: 1}", "--set", "pool.every=2",
        "--set", "pool.size=3", "--set", "contributions=off", "--format", "concise",
    ])  # fmt: skip
    assert code == 0, out
    return folder


def _called(arguments: list[str]) -> tuple[int, str]:
    """Returns the exit code and all that was printed."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = main(arguments)
    return code, printed.getvalue()


def _command(command: str, run: Path) -> tuple[int, str, Any]:
    """Returns the exit code, the output, and the numbers that came of it."""
    if command == "resume":
        arguments = ["train", "--resume", str(run), "--steps", str(STEPS), "--format", "concise"]
        code, out = _called(arguments)
        return code, out, _numbers(run) if code == 0 else None
    if command == "report":
        code, out = _called(["report", str(run)])
        page = (run / "report.html").read_text("utf-8") if code == 0 else ""
        return code, out, re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d|chart\d+", "", page)
    player = f"run:{run}" + ("@4" if command == "eval checkpoint" else "")
    arguments = ["eval", player, "random", "--game", "prisoners_dilemma", "--format", "json"]
    code, out = _called([*arguments, "--games", "40"])
    # an identity is of all bytes of a file, also of those between the parts of an archive
    numbers = re.sub(r'"identity": "\w+"', "", out.replace(str(run), _MARKED))
    return code, out, numbers if code == 0 else None


def _numbers(run: Path) -> dict[str, Any]:
    lines = (run / "metrics.jsonl").read_text("utf-8").splitlines()
    records = [{k: v for k, v in json.loads(one).items() if k != "seconds"} for one in lines]
    adapters = {path.name: path.read_bytes() for path in (run / "adapters").rglob("*.*")}
    return {"records": records, "adapters": adapters}


@cache
def _expected(command: str, deleted: frozenset[str] = frozenset()) -> Any:
    """Returns the numbers of a folder whose owner has deleted some files; None where it is
    refused."""
    folder = Path(tempfile.mkdtemp(prefix="run-folders-")) / "run"
    shutil.copytree(_made(), folder)
    for name in deleted:
        (folder / name).unlink()
    code, out, numbers = _command(command, folder)
    assert code == 0 or deleted, out
    return numbers


def _run(plan: Mapping[str, Any]) -> Outcome:
    wanted = _expected(plan["command"])
    run = Path(tempfile.gettempdir()) / "run"
    shutil.copytree(_made(), run)
    if not plan["noted"]:
        (run / "checksums.json").unlink()
    for one in plan["damages"]:
        file = run / one["file"]
        if file.is_file() and not file.is_symlink() and file.stat().st_size:
            with suppress(
                ValueError, RecursionError
            ):  # an earlier damage left no text, no JSON, or nothing
                DAMAGES[one["how"]](file, Random(one["seed"]))
    noted = plan["noted"] and (run / "checksums.json").exists()
    code, out, numbers = _command(plan["command"], run)
    files = [Path(one["file"]) for one in plan["damages"]]
    counted = (plan["command"], f"exit {code}", *(one["how"] for one in plan["damages"]))
    if code == 0:
        deleted = frozenset(
            one["file"]
            for one in plan["damages"]
            if one["how"] == "delete" and one["file"].startswith(("pool/", "transcripts/"))
        )
        usual = numbers == wanted or (deleted and numbers == _expected(plan["command"], deleted))
        if noted and not usual:
            return Outcome("silence", f"other numbers:\n{out[-2000:]}", plan["command"])
        return Outcome(counted=counted)
    named = any(str(file.parent) in out or file.name in out for file in files)
    if code not in (1, 2) or (code == 1 and noted) or not (named or code == 1):
        return Outcome("no place", f"exit {code}:\n{out[-2000:]}", plan["command"])
    return Outcome(counted=counted)
