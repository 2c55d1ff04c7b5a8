"""Terms are linked to the glossary where a page first uses them."""

from __future__ import annotations

import re
from pathlib import Path

import page_blocks
import pytest

FOLDERS = ("how-to", "concepts", "coming-from")
PAGES = [page for folder in FOLDERS for page in sorted((page_blocks.DOCS / folder).glob("*.md"))]
TERMS = dict(
    re.findall(
        r'^\| <a id="([\w-]+)"></a>([\w -]+) \|',
        (page_blocks.DOCS / "glossary.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
)
LINKED = (
    "advantage", "adapter", "baseline", "best-response", "checkpoint", "closed-decision",
    "exploitability", "forfeit", "held-out-rows", "information-set", "masked-labels",
    "nash-equilibrium", "nashconv", "referee", "regret", "rollout", "transcript",
)  # fmt: skip
"""Terms of the field that a reader may not know; words such as action and payoff say themselves."""


def first_use(term: str, prose: str) -> re.Match[str] | None:
    """The first use of a term, with what stands around it."""
    return re.search(rf"(.?)\b{re.escape(term)}(?:s|es)?\b(.*)", prose, re.IGNORECASE)


def test_terms_are_in_the_glossary() -> None:
    assert set(LINKED) <= set(TERMS)
    assert len(TERMS) > 25
    assert list(TERMS.values()) == sorted(TERMS.values(), key=str.lower)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_first_uses_are_linked(page: Path) -> None:
    prose = page_blocks.FENCED.sub("", page.read_text(encoding="utf-8"))
    prose = re.sub(r"^#.*$|`[^`]*`|\]\((?!\.\./glossary)[^)]*\)", "", prose, flags=re.MULTILINE)
    for anchor in LINKED:
        found = first_use(TERMS[anchor], prose)
        if found is not None:
            assert found[1] == "[", f"{TERMS[anchor]}: …{found[0][:60]}"
            assert found[2].partition(")")[0].endswith(f"(../glossary.md#{anchor}"), found[0][:60]
