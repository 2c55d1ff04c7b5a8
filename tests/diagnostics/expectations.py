"""The problems that a case file expects, written in its own comments.

Beside the line that causes a problem:

    roles: [hunter, hunterr]    # error[GD0312]@17: unknown role

`@17` (the column) and the text (a part of the message) may be left out, and several may follow each
other. Where no comment can stand on the line, a line of its own anywhere says which line is meant:

    # line 7: error[GD0020]@3: is never closed
    # other.yaml line 2: error[GD0111]
    # rows.jsonl line 3: error[GD0438]

A file that begins with `# part of another case` is not a case.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

CASES = Path(__file__).parent / "cases"

_HEAD = r"#\s*(?:(?:(\S+\.(?:yaml|jsonl|txt)) )?line (\d+): )?(error|warning|note)\[(GD\d{4})\]"
_EXPECTED = re.compile(_HEAD + r"(?:@(\d+))?(?:: (.*?))?(?=\s+" + _HEAD + r"|\s*$)")


class Expected(NamedTuple):
    file: str
    line: int
    severity: str
    code: str
    column: int | None
    text: str

    def __str__(self) -> str:
        at = f"@{self.column}" if self.column is not None else ""
        return f"{self.file} line {self.line}: {self.severity}[{self.code}]{at}: {self.text}"


def case_files() -> list[Path]:
    texts = {path: path.read_text(encoding="utf-8") for path in CASES.rglob("*.yaml")}
    return sorted(path for path in texts if not texts[path].startswith("# part of another case"))


def expectations(path: Path) -> list[Expected]:
    name, text = path.name, path.read_text(encoding="utf-8")
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        for match in _EXPECTED.finditer(line):
            file, at, severity, code, column, part = match.groups()[:6]
            place = int(column) if column else None
            line_number = int(at or number)
            found.append(Expected(file or name, line_number, severity, code, place, part or ""))
    return found


def fits(expected: Expected, diagnostic: object) -> bool:
    span = diagnostic.span
    return (
        (diagnostic.severity, diagnostic.code) == (expected.severity, expected.code)
        and (Path(span.source.name).name, span.line) == (expected.file, expected.line)
        and expected.column in (None, span.column)
        and expected.text in diagnostic.message
    )


def differences(expected: list[Expected], diagnostics: list) -> list[str]:
    """What is missing and what is extra; a problem answers one expectation."""
    left = list(diagnostics)
    missing = []
    for wanted in expected:
        hit = next((d for d in left if fits(wanted, d)), None)
        if hit is None:
            missing.append(f"missing  {wanted}")
        else:
            left.remove(hit)
    extra = [
        f"extra    {d.span.source.name} line {d.span.line}: "
        f"{d.severity}[{d.code}]@{d.span.column}: {d.message}"
        for d in left
    ]
    return missing + extra
