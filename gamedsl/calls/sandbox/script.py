"""A program that a sandbox runs: the text of a Python script."""

from __future__ import annotations

import os
import sys


def main(text: str) -> None:
    """Run it as `__main__`; like Python's own, it ends with 1 and a traceback where it fails."""
    code = 0
    try:
        exec(compile(text, "script", "exec"), {"__name__": "__main__"})
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException as error:
        sys.excepthook(error.__class__, error, error.__traceback__)
        code = 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)
