"""Pages and files of the site that stand outside of `docs/`; a hook of MkDocs.

README.md is the site's first page and CHANGELOG.md its last. A file of the repository that a page
links to is copied into the site, so that every link works offline and no link names a server.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
OUTSIDE = {"README.md": "index.md", "CHANGELOG.md": "changelog.md"}
"""Pages of the site by their path in the repository."""

COPIES = "repository"
"""The folder of the site that holds what is only linked to."""

FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"""(\]\(|(?:src|srcset|href)=")([^)#"\s]+)""")
CODE = re.compile(r"<pre.*?</pre>|<code>[^<]*</code>", re.DOTALL)
OPTION = re.compile(r"(?<=[>\s])--?\w[\w-]*")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages of `OUTSIDE`, and each file outside of `docs/` that a page links to."""
    waiting = [*OUTSIDE, *(f"docs/{file.src_uri}" for file in files.documentation_pages())]
    seen = set(waiting)
    while waiting:
        path = waiting.pop()
        if not path.startswith("docs/"):
            files.append(File.generated(config, _in_site(path), abs_src_path=str(ROOT / path)))
        if not path.endswith(".md"):
            continue
        for link in LINK.finditer((ROOT / path).read_text(encoding="utf-8")):
            target = _target(path, link[2])
            if target and not target.startswith("docs/") and target not in seen:
                seen.add(target)
                waiting.append(target)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turns links between files of the repository into links between files of the site."""
    source = Path(page.file.abs_src_path or "").relative_to(ROOT).as_posix()
    here = posixpath.dirname(page.file.src_uri)

    def link(found: re.Match[str]) -> str:
        target = _target(source, found[2])
        if target is None:
            return found[0]
        return found[1] + posixpath.relpath(_in_site(target), here or ".")

    parts = FENCED.split(markdown)
    return "".join(part if at % 2 else LINK.sub(link, part) for at, part in enumerate(parts))


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Keeps the names of options whole: browsers break a line after a hyphen, `--` included, and
    style sheets know no rule against it."""

    def whole(found: re.Match[str]) -> str:
        if found[0].startswith("<pre"):
            return found[0]
        return OPTION.sub(r'<span class="option">\g<0></span>', found[0])

    return CODE.sub(whole, html)


def _in_site(path: str) -> str:
    """Returns the place in the site of a file of the repository."""
    return OUTSIDE.get(path) or (
        path.removeprefix("docs/") if path.startswith("docs/") else f"{COPIES}/{path}"
    )


def _target(source: str, link: str) -> str | None:
    """Returns the file that a link of a page leads to, by its path in the repository, if any."""
    if ":" in link or link.startswith("/"):
        return None
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), link))
    return path if not path.startswith("..") and (ROOT / path).is_file() else None
