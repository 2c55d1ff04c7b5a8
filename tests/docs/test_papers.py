"""The table of papers names modules that cite them."""

from __future__ import annotations

import re
from pathlib import Path

import gamedsl

PAGE = Path(__file__).parents[2] / "docs" / "papers.md"
ROW = re.compile(r"^\| (\w+)\b.*?((?:19|20)\d\d).*\| `([\w/]+\.py)` \|$", re.MULTILINE)


def test_each_module_cites_its_paper() -> None:
    text = PAGE.read_text(encoding="utf-8")
    rows = ROW.findall(text)
    assert len(rows) == text.count(".py` |")
    package = Path(gamedsl.__file__).parent
    for author, year, module in rows:
        source = re.sub(r"\s+", " ", (package / module).read_text(encoding="utf-8"))
        cited = re.search(rf"{author}\b.{{0,80}}?{year}", source)
        assert cited, f"{module} does not cite {author} {year}"
