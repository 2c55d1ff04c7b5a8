"""Odd command lines in odd surroundings: arguments, streams, locales, caches, places and limits.

The command runs in the guarded child itself, through `gamedsl.cli.main`, with its own files, limits
and environment: a process of its own for each would cost a third of a second. The oracle: it ends
with 0, 1, 2 or 130, without a traceback; a 2 has a message; no file that was there before is
damaged, and nothing half-written is left.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz import Case, Outcome

NAME = "command_lines"
BATCH = 10
FILE = "command.json"

GAMES = ("matching_pennies", "stag_hunt", "stag_hunt", "prisoners_dilemma", "nosuch", "ok.yaml",
         "bad.yaml", "greek.yaml")  # fmt: skip
ODD = (
    "", "-", "--", "0", "-1", "x", "\n", " ", "\x1b[2J", "ü", "λ→👍", "a\0b", "\udcff", "'",
    "%s", "{}",
    "~", ".", "..", "/", "/dev/null", "/dev/full", "/proc/nope", "file", "file/below", "folder",
    "dangling", "loop", "pipe", "new", "new/deep", "odd\nname", "n" * 300, "n/" * 600, "=", "a=",
    "=b", "a=b=c", "NaN", "1e999", "9" * 400, str(10**30), "--nosuch", "--help", "--seed",
    "--format", "json", "@file", "*", "random", "fixed:heads", "mcts:999999999", "policy:file",
    "policy:folder", "run:folder", "model:tiny", "lr=0.1", "steps=0", "games=9999999999",
    "lora.rank=1000000", "lr=\x1b", "lr: 1", "opponents={self: 1e400}", "seed=-1", "rounds=1",
)  # fmt: skip
PLACES = (
    "new", "file", "folder", "file/below", "dangling", "loop", "pipe", "/proc/nope", "/dev/null",
    "new/deep", "odd\nname", "n" * 300, "", ".", "locked/new", "ü→",
)  # fmt: skip
NUMBERS = (
    "0",
    "1",
    "-1",
    "7",
    "1_000",
    "1e3",
    "x",
    "",
    "999999999999",
    str(10**30),
    "9" * 5000,
    "nan",
)
COMMANDS: dict[str, tuple[str, ...]] = {
    "validate": ("GAME", "--format pretty concise json x", "--report text json", "--strict",
                 "--thorough NUMBER", "--param ODD"),
    "new": ("ODD", "--template matrix board ODD"),
    "games": ("PLACE", "--tag bluffing ODD", "--format text json x"),
    "schema": ("ODD", "--path"),
    "play": ("GAME", "--as first all ODD", "--against random minimax ODD", "--seed NUMBER",
             "--save PLACE", "--no-review", "--param ODD"),
    "explain": ("ODD",),
    "calls": ("ODD", "--format text json x"),
    "prompts": ("GAME", "--role ODD", "--seed NUMBER", "--run-seed NUMBER", "--format text json x",
                "--param ODD"),
    "show": ("GAME", "--view table tree flow sight all", "-o PLACE", "--width NUMBER",
             "--limit NUMBER", "--depth NUMBER", "--param ODD"),
    "solve": ("GAME", "--save PLACE", "--rows NUMBER", "--pick NUMBER", "--limit NUMBER",
              "--seed NUMBER", "--format text json", "--method auto lp ODD", "--param ODD"),
    "export": ("GAME", "--to efg nfg x", "-o PLACE", "--limit NUMBER", "--param ODD"),
    "import": ("PLACE", "-o PLACE", "--format pretty json"),
    "replay": ("GAME", "PLACE", "--quiet", "--param ODD"),
    "report": ("PLACE", "PLACE", "--out PLACE"),
    "eval": ("ODD", "--game GAME", "--games NUMBER", "--seed NUMBER", "--out PLACE",
             "--leaderboard PLACE", "--leaderboard-md PLACE", "--role ODD", "--against ODD",
             "--method auto exact sampled", "--search 0 5", "--format text json"),
    "train": ("GAME", "--set ODD", "--param ODD", "--steps 0 1 x", "--seed NUMBER",
              "--out PLACE", "--resume PLACE", "--log ODD", "--format pretty concise json"),
    "nosuch": ("ODD", "ODD"),
    "--version": ("ODD",),
    "help": ("ODD",),
}  # fmt: skip
ENCODINGS = ("utf-8", "utf-8", "ascii", "latin-1", "cp1252", "utf-16")
STREAMS = ("file", "file", "file", "file", "full", "closed", "pipe")
CACHES = ("own", "own", "own", "file", "open", "garbage", "", "/proc/nope", "missing")
LIMITS = (None, None, None, None, 0, 64, 4096)
"""Bytes that a file may have."""

PLAIN = {
    "encoding": "utf-8", "stdout": "file", "stderr": "file", "cache": "own", "limit": None,
    "columns": "80", "gone": False, "home": "own",
}  # fmt: skip
"""Surroundings in which nothing is odd, so that the arguments alone are."""


def cases(seed: int) -> Iterator[Case]:
    """Yields command lines without end."""
    random = Random(seed)
    while True:
        yield case_of({FILE: json.dumps(_command(random), ensure_ascii=True).encode()})


def case_of(files: Mapping[str, bytes]) -> Case:
    """The case of a file that describes a command line and its surroundings."""
    try:
        given: dict[str, Any] = json.loads(files[FILE])
        line = " ".join(map(ascii, given["arguments"]))
    except (KeyError, ValueError, TypeError):
        return Case("no command line", files, Outcome)
    return Case(line[:150], files, lambda: _run(given))


def warm() -> None:
    """Imports what commands import when they are called, and has torch load its libraries: under
    the guard's limit of address space they cannot be loaded."""
    from importlib import import_module

    import torch

    import gamedsl
    from gamedsl import cli

    for name in cli.COMMANDS:
        import_module(f"gamedsl.commands.{'import_' if name == 'import' else name}")
    for name in GAMES[:4]:
        gamedsl.load(name).env()
    torch.set_num_threads(1)
    for model in ("tabular", "tiny"):
        with tempfile.TemporaryFile("w") as nowhere, contextlib.redirect_stdout(nowhere):
            cli.main(["train", "stag_hunt", "--model", model, "--set", "games=8", "--dry-run"])
    for module in ("evaluate.evaluation", "evaluate.record", "solve.solver", "recipe.resolve"):
        import_module(f"gamedsl.{module}")


def _command(random: Random) -> dict[str, Any]:
    name = random.choice(tuple(COMMANDS))
    arguments = [name]
    for form in COMMANDS[name]:
        if not form.startswith("-"):
            arguments.append(_word(random, form))
        elif random.random() < 0.15:
            flag, *words = form.split(" ")
            arguments += [flag, *([_word(random, random.choice(words))] if words else [])]
    if name == "train" and "--resume" not in arguments:
        arguments.append("--dry-run")
        arguments += ["--model", "tabular", "--set", "games=8"]
    if name == "eval":
        arguments += ["--games", "4"] if "--games" not in arguments else []
    if random.random() < 0.15:
        arguments.insert(random.randint(0, len(arguments)), random.choice(ODD))
    return {"arguments": arguments} | (PLAIN if random.random() < 0.4 else _surroundings(random))


def _surroundings(random: Random) -> dict[str, Any]:
    return {
        "encoding": random.choice(ENCODINGS),
        "stdout": random.choice(STREAMS),
        "stderr": random.choice(STREAMS[:-2]),
        "cache": random.choice(CACHES),
        "limit": random.choice(LIMITS),
        "columns": random.choice(("80", "80", "0", "1", "-5", "x", "99999", "")),
        "gone": random.random() < 0.05,
        "home": random.choice(("own", "own", "", "/proc/nope", "file")),
    }


def _word(random: Random, form: str) -> str:
    words = {"GAME": GAMES, "ODD": ODD, "PLACE": PLACES, "NUMBER": NUMBERS}.get(form)
    if words is None:
        return form
    return random.choice(ODD if random.random() < 0.1 else words)


def _prepare(folder: Path) -> None:
    """Puts files of many kinds into a folder."""
    (folder / "file").write_text("mine")
    (folder / "folder").mkdir()
    (folder / "locked").mkdir(mode=0o500)
    (folder / "dangling").symlink_to("nowhere/at/all")
    (folder / "loop").symlink_to("loop")
    os.mkfifo(folder / "pipe")
    (folder / "ok.yaml").write_text("game: mine\nextends: stag_hunt\n")
    (folder / "bad.yaml").write_text("game: [\n")
    (folder / "greek.yaml").write_text("game: λ\nextends: stag_hunt\nαβγ: →\n", encoding="utf-8")
    (folder / "opened").mkdir(mode=0o777)
    (folder / "opened").chmod(0o777)
    garbage = folder / "garbage"
    (garbage / "games").mkdir(parents=True)
    for number in range(3):
        (garbage / "games" / f"{number}.py").write_text("raise SystemExit(77)")


def _environment(given: Mapping[str, Any], folder: Path) -> None:
    caches = {"own": os.environ.get("GAMEDSL_CACHE", ""), "file": str(folder / "file"),
              "open": str(folder / "opened" / "cache"), "garbage": str(folder / "garbage"),
              "missing": "~nobody_of_this_name"}  # fmt: skip
    os.environ["GAMEDSL_CACHE"] = caches.get(given["cache"], given["cache"])
    os.environ["COLUMNS"] = given["columns"]
    home = given["home"]
    os.environ["HOME"] = str(folder) if home == "own" else home


def _stream(kind: str, path: Path, encoding: str) -> Any:
    """A standard stream as the interpreter makes it; None where it is closed."""
    if kind == "closed":
        return None
    if kind == "pipe":
        reading, writing = os.pipe()
        os.close(reading)
        return os.fdopen(writing, "w", encoding=encoding)
    target = Path("/dev/full") if kind == "full" and Path("/dev/full").is_char_device() else path
    return target.open("w", encoding=encoding)


def _run(given: Mapping[str, Any]) -> Outcome:
    from gamedsl.cli import main

    sys.dont_write_bytecode = True  # under a limit of size Python leaves half of a module's
    folder = Path(tempfile.mkdtemp())
    _prepare(folder)
    os.chdir(folder)
    old_environment, old_streams = dict(os.environ), (sys.stdout, sys.stderr, sys.stdin)
    old_limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    notes = Path(tempfile.mkdtemp())
    code: object = None
    try:
        _environment(given, folder)
        if given["gone"]:
            gone = Path(tempfile.mkdtemp())
            os.chdir(gone)
            gone.rmdir()
        sys.stdout = _stream(given["stdout"], notes / "out", given["encoding"])
        sys.stderr = _stream(given["stderr"], notes / "err", given["encoding"])
        if given["limit"] is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (given["limit"], old_limit[1]))
        code = main(given["arguments"])
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except OSError:
        # The limit on files is also one on the file that stands for standard error.
        if code is None:
            raise
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old_limit)
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, AttributeError):
                stream.close()
        sys.stdout, sys.stderr, sys.stdin = old_streams
        os.environ.clear()
        os.environ.update(old_environment)
        os.chdir(folder)
    return _judged(given, code, folder, notes)


def _judged(given: Mapping[str, Any], code: object, folder: Path, notes: Path) -> Outcome:
    err = notes / "err"
    said = err.read_bytes().decode(given["encoding"], "replace") if err.exists() else ""
    word = f"exit {code}"
    if code not in (0, 1, 2, 130):
        return Outcome("traceback", f"{word}\n{said[-3000:]}", word)
    if "Traceback" in said:
        return Outcome("traceback", said[-4000:], said.strip().splitlines()[-1][:80])
    spoken = given["stderr"] == "file" and given["limit"] is None
    if code == 2 and spoken and not said.strip():
        return Outcome("silence", "refused without a message", word)
    left = [path.name for path in folder.rglob(".partial-*")]
    if left:
        return Outcome("silence", f"half-written files are left: {left}", "partial")
    for name in ("file", "ok.yaml", "bad.yaml"):
        path = folder / name
        if not path.is_file() or (code != 0 and not path.stat().st_size):
            return Outcome("silence", f"{name} is gone or emptied", name)
    if not (folder / "pipe").is_fifo():
        return Outcome("silence", "a pipe was replaced", "pipe")
    return Outcome(counted=(f"{given['arguments'][0][:10] if given['arguments'] else ''}: {code}",))
