"""Unit tests of code that players wrote: `run_python`."""

from __future__ import annotations

import os
import select
import socket
from contextlib import ExitStack
from fractions import Fraction
from typing import Any

from gamedsl.calls.registry import CallError, function
from gamedsl.calls.sandbox.launch import Confined, Limits, SandboxError, confined
from gamedsl.calls.sandbox.report import best_way
from gamedsl.storage.characters import blanked
from gamedsl.storage.strict_json import JsonRefused, parse

LIMITS = Limits(seconds=10, cpu=10)
"""For the code and for the tests, each."""

MAX_TEXT = 100_000
MAX_RESULT = 4096


def sandbox_missing() -> str | None:
    """Why nothing can be confined here; finding out takes some runs of the sandbox, once."""
    try:
        best_way()
    except SandboxError as error:
        return str(error)
    return None


@function(
    arguments={"code": "text", "tests": "text"},
    result={"ok": "bool", "passed": "int", "failed": "int", "share": "number", "error": "text"},
    pure=True,
    version=1,
    time_limit=LIMITS.seconds,
    on_timeout={"ok": False, "passed": 0, "failed": 0, "share": 0, "error": "out of time"},
    missing=sandbox_missing,
)
def run_python(code: str, tests: str) -> dict[str, Any]:
    """Run unit tests against Python code, both confined. A test is an `assert` at the top level, a
    top-level block that holds one, or a function `test_…`; `ok` if there are any and all pass,
    `share` of them pass, and `error` says what went wrong first, in at most 200 characters.
    """
    if max(len(code), len(tests)) > MAX_TEXT:
        return result(0, 0, f"more than {MAX_TEXT} characters")
    try:
        said = _judged(code, tests)
    except TimeoutError:
        raise
    except (SandboxError, OSError) as error:
        raise CallError("run_python", str(error)) from error
    lines = [_values(line) for line in said.splitlines()]
    count = lines[0][0] if lines and len(lines[0]) == 1 else 0
    match lines[1:]:
        case [[int() as passed, str() as first]] if passed <= count:
            return result(passed, count, first)
    return result(0, count, "the tests ended before their end")


def result(passed: int, count: int, error: str) -> dict[str, Any]:
    """The result in numbers; an error is one line of printable text."""
    share = Fraction(passed, count) if count else Fraction(0)
    return {
        "ok": 0 < count == passed, "passed": passed, "failed": count - passed, "share": share,
        "error": blanked(error)[:200],
    }  # fmt: skip


def _values(line: bytes) -> list[Any]:
    """Returns the list that the judge wrote in a line if it starts with a whole number, else an
    empty list. The tests could have written the line too."""
    try:
        values = parse(line, limit=MAX_RESULT)
    except JsonRefused:
        return []
    if isinstance(values, list) and values and type(values[0]) is int and 0 <= values[0] <= 10_000:
        return values
    return []


def _judged(code: str, tests: str) -> bytes:
    """Returns the output of the side of the tests. Raises `TimeoutError`, and `SandboxError` if
    one of the two could not be confined."""
    way = best_way()
    with ExitStack() as open_things:
        ends = socket.socketpair()
        results, results_end = os.pipe()
        open_things.callback(os.close, results)
        try:
            code_end, tests_end = (end.fileno() for end in ends)
            subject, judge = (
                open_things.enter_context(
                    confined(
                        f"gamedsl.calls.unittests.{name}", text, limits=LIMITS, way=way, fds=fds
                    )
                )
                for name, text, fds in (
                    ("subject", code, (code_end,)),
                    ("judge", tests, (tests_end, results_end)),
                )
            )
        finally:
            ends[0].close()
            ends[1].close()
            os.close(results_end)
        said = _read_results(results, judge)
        if judge.finish().ended == "time":
            raise TimeoutError
        subject.check()
        return said


def _read_results(results: int, judge: Confined) -> bytes:
    """All that is written, up to a limit or until the time is up."""
    said = b""
    poll = select.poll()
    poll.register(results, select.POLLIN)
    while len(said) <= MAX_RESULT and poll.poll(judge.remaining_seconds() * 1000):
        part = os.read(results, MAX_RESULT)
        if not part:
            break
        said += part
    return said
