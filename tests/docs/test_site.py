"""The site: its links lead to pages and anchors, and it needs no network."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import gamedsl

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"")
LOADED = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*?(?:src|href|srcset)=\"([^\"]+)\"")


@cache
def anchors(page: Path) -> set[str]:
    """The anchors of a page as GitHub names them; the site's are the same, which MkDocs checks."""
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    found = set(re.findall(r'<a id="([^"]+)">', text))
    for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)|[`*]", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", plain).strip().replace(" ", "-")
        same = [one for one in found if re.fullmatch(rf"{re.escape(slug)}(-\d+)?", one)]
        found.add(f"{slug}-{len(same)}" if slug in found else slug)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_to_files_and_anchors(page: Path) -> None:
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    for found in LINK.finditer(text):
        link = found[1] or found[2]
        if ":" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.is_file(), link
        assert not anchor or anchor in anchors(target), link


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site. A page without a place in the navigation fails the build."""
    pytest.importorskip("mkdocs", reason='needs pip install -e ".[docs]"')
    pytest.importorskip("mkdocstrings")
    built = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(built)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return built


@pytest.mark.slow
def test_site_loads_nothing_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 25
    for page in pages:
        for link in LOADED.findall(page.read_text(encoding="utf-8")):
            assert not re.match(r"(https?:)?//", link), f"{page.name}: {link}"
    for sheet in site.rglob("*.css"):
        assert "url(http" not in sheet.read_text(encoding="utf-8"), sheet.name


@pytest.mark.slow
def test_search_works_from_files(site: Path) -> None:
    index = (site / "search" / "search_index.js").read_text(encoding="utf-8")
    for words in ("stag_hunt", "exploitability", "GD0414"):
        assert words in index


@pytest.mark.slow
def test_api_page_shows_docstrings(site: Path) -> None:
    page = (site / "reference" / "python-api.html").read_text(encoding="utf-8")
    for name in gamedsl.__all__:
        assert re.search(rf'id="gamedsl\.[\w.]*{name}"', page), name


@pytest.mark.slow
def test_options_are_not_broken_between_lines(site: Path) -> None:
    page = (site / "index.html").read_text(encoding="utf-8")
    assert 'kuhn_poker <span class="option">--report</span> text' in page
    for block in re.findall(r"<pre>.*?</pre>", page, re.DOTALL):
        assert 'class="option"' not in block
    assert re.search(r"\.option \{[^}]*nowrap", (site / "style.css").read_text(encoding="utf-8"))
