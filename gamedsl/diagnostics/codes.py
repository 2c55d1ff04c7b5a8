"""The table of diagnostic codes, a folder: `explain/GDxxxx.md`, one file for each code.

No explanation is read while a file is checked: a code is a string until `explain` is asked for it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent / "explain"
BANDS = {
    "00": "YAML",
    "01": "shape",
    "02": "expression syntax",
    "03": "names and types",
    "04": "game semantics",
    "05": "prompts and labels",
    "06": "rewards",
    "07": "training recipes",
    "08": "imported files",
}
_CODE = re.compile(r"GD\d{4}")
_TEXT = re.compile(r"^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PART = re.compile(r"^## (Wrong|Right)\n+```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Explanation(NamedTuple):
    """The long form of a code; `wrong` yields exactly that code and `right` compiles."""

    code: str
    title: str
    text: str
    wrong: str
    right: str


def codes() -> list[str]:
    """Returns every code that has an explanation, in order."""
    return sorted(path.stem for path in FOLDER.glob("GD*.md") if _CODE.fullmatch(path.stem))


def explain(code: str) -> str:
    """Returns the long form of a code, as Markdown. Raises KeyError for an unknown code."""
    if not _CODE.fullmatch(code):
        raise KeyError(code)
    try:
        return (FOLDER / f"{code}.md").read_text(encoding="utf-8")
    except FileNotFoundError:
        raise KeyError(code) from None


def explanation(code: str) -> Explanation:
    """Returns the parts of an explanation. Raises KeyError; ValueError for a missing part."""
    text = explain(code)
    first, _, rest = text.partition("\n")
    parts = dict(_PART.findall(text))
    if not first.startswith("# ") or set(parts) != {"Wrong", "Right"}:
        raise ValueError(f"{code}.md needs `# title`, prose, `## Wrong` and `## Right`")
    prose = rest.partition("\n## ")[0].strip()
    return Explanation(code, first[2:].strip(), prose, parts["Wrong"], parts["Right"])


def text_examples(code: str) -> list[str]:
    """Returns the wrong and the right example of a code about other text than YAML."""
    return _TEXT.findall(explain(code))
