"""Pages from templates. Every text is escaped, unless it is `Markup` that we made."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

from gamedsl.play.sight import marks_of
from gamedsl.tables.numbers import number
from gamedsl.view.canvas import palette
from gamedsl.view.charts import chart_rules
from gamedsl.view.conversation import conversation_rules

_PAGES = files("gamedsl.studio").joinpath("pages")


@cache
def _environment() -> jinja2.Environment:
    found = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True,
        loader=jinja2.FunctionLoader(lambda name: _PAGES.joinpath(name).read_text("utf-8")),
    )  # fmt: skip
    found.filters |= {"number": number, "percent": _percent, "covered": _covered}
    return found


def page(template: str, /, **content: Any) -> Markup:
    """Returns the page or fragment that a template makes of its content."""
    return Markup(_environment().get_template(f"{template}.html.jinja").render(**content))


def seat_part(seen: dict[str, Any], **content: Any) -> Markup:
    """Returns what a seat sees, as the fragment of its page."""
    marks = marks_of([seat for seat, _ in seen["seats"]])
    return page("seat_part", seen=jinja2_safe(seen), marks=marks, **content)


def jinja2_safe(seen: dict[str, Any]) -> dict[str, Any]:
    """Returns what a seat sees with the keys that its page may ask for."""
    return {"refused": "", "typed": "", "whole": False, **seen}


@cache
def style_sheet() -> str:
    """Returns the style sheet of all pages: with the colours of pictures and reports, and the
    conversations of reports."""
    own = _PAGES.joinpath("studio.css").read_text("utf-8")
    return palette() + chart_rules() + conversation_rules() + own


@cache
def script() -> str:
    """Returns the script of all pages."""
    return _PAGES.joinpath("studio.js").read_text("utf-8")


def _percent(share: float) -> str:
    return number(share, percent=True)


def _covered(boards: Sequence[dict[str, Any]]) -> list[int]:
    """Returns the numbers of the options that cells of boards name."""
    cells = (cell for board in boards for row in board["cells"] for cell in row)
    return [cell["option"] for cell in cells if cell["option"] is not None]
