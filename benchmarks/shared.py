"""Code that the benchmarks share: command lines, the machine they ran on, their files."""

from __future__ import annotations

import argparse
import json
import platform
from pathlib import Path
from typing import Any


def command(doc: str, *, out: bool = True) -> argparse.ArgumentParser:
    """A parser described by the first line of a module's docstring; `--out` names a file."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    if out:
        parser.add_argument("--out", type=Path, metavar="JSON")
    return parser


def machine(*more: str) -> str:
    """The processor, what else matters to a measurement, and the Python that ran it."""
    told = Path("/proc/cpuinfo")
    lines = told.read_text().splitlines() if told.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    cpu = names[0] if names else platform.processor() or platform.machine()
    return ", ".join([cpu, *more, f"Python {platform.python_version()}"])


def keep(found: dict[str, Any], out: Path | None) -> None:
    """Write what was measured, if a file was named."""
    if out:
        out.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
