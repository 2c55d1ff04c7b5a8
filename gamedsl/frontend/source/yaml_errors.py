"""Diagnostics for broken YAML syntax, worded so that it can be fixed.

PyYAML names the token at which it failed; people want to know which rule of YAML they broke. Each
row of `_RULES` recognises one kind of its message; a message without a row becomes GD0030, with a
place.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from yaml.error import MarkedYAMLError

from gamedsl.diagnostics.fixes import Edit, Fix, Help, substitute
from gamedsl.diagnostics.model import Note, Problems
from gamedsl.diagnostics.spans import Source, Span
from gamedsl.frontend.source.cut_expressions import quoted, space_fix, tag_fix


class _Case(NamedTuple):
    """One syntax error: where the scanner stood, and where the thing it was in began.

    `opened` is where the innermost `{` or `[` that is still open stands.
    """

    source: Source
    at: int
    began: int | None
    opened: int | None
    what: str
    context: str
    problems: Problems

    @property
    def text(self) -> str:
        return self.source.text

    @property
    def start(self) -> int:
        """The offset at which the construct began; the scanner's, if it had not begun."""
        return self.at if self.began is None else self.began

    @property
    def char(self) -> str:
        return self.text[self.at : self.at + 1]

    @property
    def line_start(self) -> int:
        return self.text.rfind("\n", 0, self.at) + 1

    @property
    def before(self) -> str:
        """The line up to the place."""
        return self.text[self.line_start : self.at]

    def span(self, start: int, end: int) -> Span:
        return Span(self.source, start, max(start, min(end, len(self.text))))

    def here(self) -> Span:
        return self.span(self.at, self.at + 1)


def report(
    source: Source, error: Exception, at: int, opened: int | None, problems: Problems
) -> None:
    """Turn an exception of the scanner or the parser into a problem at its place."""
    what, context, began = "", "", None
    if isinstance(error, MarkedYAMLError):
        what, context = error.problem or "", error.context or ""
        at = error.problem_mark.index if error.problem_mark else at
        began = error.context_mark.index if error.context_mark else None
    case = _Case(source, min(at, len(source.text)), began, opened, what, context, problems)
    said = f"{context}: {what}" if what else str(error)
    for pattern, rule in _RULES:
        if pattern.search(said) and rule(case):
            return
    _other(case)


def _value_on_line(case: _Case, at: int) -> tuple[str, int, str]:
    """The key before a place on its line, where that key's value begins, and the value's text."""
    start = case.text.rfind("\n", 0, at) + 1
    end = case.text.find("\n", at)
    line = case.text[start : end if end >= 0 else len(case.text)]
    found = re.match(r"[ \t]*(?:- +)*\{? *([\w.()\[\], -]*?): +", line)
    if not found:
        found_item = re.match(r"[ \t]*(?:- +)*", line)
        offset = found_item.end() if found_item else 0
        return "", start + offset, _without_comment(line[offset:])
    return found.group(1) + ": ", start + found.end(), _without_comment(line[found.end() :])


def _value_in_flow(case: _Case, at: int) -> tuple[str, int, str] | None:
    """Returns the same of a place inside `{ }` or `[ ]` on its line: the value as far as the comma
    or the bracket that ends it. None of any other place."""
    line = case.text.rfind("\n", 0, at) + 1
    starts: list[tuple[str, int]] = []  # of each open collection: the key and start of its value
    calls: list[bool] = []  # of each open collection: whether it is `( )`, part of one value
    quote = ""
    for place in range(line, at):
        char = case.text[place]
        if quote or char in "'\"":
            quote = "" if char == quote else quote or char
        elif char in "{[(":
            starts.append(("", place + 1))
            calls.append(char == "(")
        elif char in "}])" and starts:
            starts.pop()
            calls.pop()
        elif char == "," and starts:
            starts[-1] = "", place + 1
        elif case.text.startswith(": ", place) and starts:
            starts[-1] = f"{case.text[starts[-1][1] : place].strip()}: ", place + 2
    while calls and calls[-1]:
        starts.pop()
        calls.pop()
    if not starts or quote:
        return None
    key, start = starts[-1]
    start += len(case.text[start:]) - len(case.text[start:].lstrip(" "))
    depth, end = 0, start
    while end < len(case.text) and case.text[end] != "\n":
        char = case.text[end]
        depth += (char in "{[(") - (char in "}])")
        if depth < 0 or (char == "," and not depth):
            break
        end += 1
    return key, start, case.text[start:end].strip()


def _without_comment(text: str) -> str:
    return re.split(r"\s#", text)[0].strip()


_ENTRY = re.compile(r"[A-Za-z_]\w*: (\d[\w.]*|true|false)")
"""An entry of a map whose value is no text."""


_SECTIONS = ("params: ", "types: ", "state: ", "let: ", "labels: ", "scores: ", "data: ")
"""The keys of sections that are maps of what they declare."""

_DECLARED = re.compile(r"[A-Za-z_]\w*(?:\([\w, ]*\))?: ")
"""The beginning of an entry of a section."""


def _quote_fix(case: _Case, at: int) -> Fix:
    key, start, value = _value_in_flow(case, at) or _value_on_line(case, at)
    place = case.span(start, start + len(value))
    if key in _SECTIONS and case.text[start - 1] == " " and _DECLARED.match(value):
        said = f"begin a line with it, below `{key.strip()}`"
        return substitute(case.span(start - 1, start), "\n  ", said)
    if key not in ("", "about: ") and _ENTRY.fullmatch(value):
        whole = f"{{{value}}}"
        return substitute(place, whole, f"write a map in braces: {key}{whole}")
    return substitute(place, quoted(value), f"write quotes around it: {key}{quoted(value)}")


def _neighbours_indent(case: _Case, at: int) -> str:
    """Returns the indentation of the line above a place; of what it begins, two spaces more."""
    above = case.text[: case.text.rfind("\n", 0, at) + 1].rstrip().rpartition("\n")[2]
    deeper = "  " if _without_comment(above).endswith(":") else ""
    return above[: len(above) - len(above.lstrip(" "))] + deeper


def _tab(case: _Case) -> bool:
    if case.char != "\t":
        return False
    end = case.at
    while case.text[end : end + 1] == "\t":
        end += 1
    case.problems.add(
        "GD0012",
        "a tab stands where YAML wants spaces",
        case.span(case.at, end),
        why="a tab",
        help=substitute(case.span(case.at, end), _spaces(case), "indent with spaces"),
    )
    return True


def _spaces(case: _Case) -> str:
    """Returns what stands for a tab: an indentation at the start of a line, else one space."""
    written = case.text[case.text.rfind("\n", 0, case.at) + 1 : case.at]
    return " " if written.strip() else _neighbours_indent(case, case.at)[len(written) :] or "  "


def _reserved(case: _Case) -> bool:
    if not case.char or case.char.isspace():
        return False
    if case.char in "]},":
        return _empty_item(case)
    case.problems.add(
        "GD0018",
        f"an unquoted value may not begin with `{case.char}`",
        case.here(),
        why="YAML reads this as punctuation",
        help=_reserved_fix(case),
    )
    return True


def _reserved_fix(case: _Case) -> Help:
    if case.char == "-":
        return "begin the list on the next line, or write it as `[a, b]`"
    return _quote_fix(case, case.at)


def _block_indicator(case: _Case) -> bool:
    """`a: | b`, `a: > 3`, or `[x] | [y]`: something follows the mark of a block of text."""
    mark = case.start
    before = case.text[case.text.rfind("\n", 0, mark) + 1 : mark].rstrip()
    moved = case._replace(at=mark)
    if before.endswith(("'", '"', "]", "}")):
        return _after_value(moved)
    return _reserved(moved)


def _anchor(case: _Case) -> bool:
    return _reserved(case._replace(at=case.start))


def _empty_item(case: _Case) -> bool:
    closes = case.char in "]}"
    message = f"`{case.char}` closes nothing" if closes else "nothing stands before this comma"
    fix = substitute(case.here(), "", "delete it, or put the text in quotes")
    case.problems.add("GD0019", message, case.here(), help=fix)
    return True


def _colon(case: _Case) -> bool:
    """A second `: ` in a value, or a key where the lines above allow none."""
    if re.search(r"(?:^|[\s{,])[^\s:{,][^:]*: ", case.before) or "{" in case.before:
        case.problems.add(
            "GD0017",
            "a colon and a space may not stand in unquoted text",
            case.here(),
            why="YAML takes what is before it for a key",
            help=_quote_fix(case, case.at),
        )
        return True
    above = case.text[: max(case.line_start - 1, 0)].rstrip().rpartition("\n")[2]
    indent = len(case.before) - len(case.before.lstrip())
    if above.strip() and ":" not in above and indent <= len(above) - len(above.lstrip()):
        end = len(case.text[: case.line_start].rstrip())
        start = end - len(above.lstrip())
        return _no_colon(case, case.span(start, end))
    return _indentation(case._replace(at=case.line_start + indent))


def _missing_colon(case: _Case) -> bool:
    start = case.start
    end = case.text.find("\n", start)
    end = end if end >= 0 else len(case.text)
    line = _without_comment(case.text[start:end])
    return _no_colon(case, case.span(start, start + len(line)))


def _item_fix(case: _Case, at: int) -> Fix | None:
    """Returns the fix of a line that begins with a bracket below an item of a list: it is the next
    item. None of any other line."""
    start = case.text.rfind("\n", 0, at) + 1
    above = case.text[:start].rstrip().rpartition("\n")[2]
    if case.text[at : at + 1] not in ("{", "[") or not above.lstrip(" ").startswith("- "):
        return None
    indent = above[: len(above) - len(above.lstrip(" "))]
    return substitute(
        case.span(start, at), f"{indent}- ", "begin the line with `- `: it is the next item"
    )


_NO_SPACE = re.compile(r"(?P<indent> *)(?:- +)*(?P<key>[A-Za-z_]\w*:)(?=[^\s:/])")
"""A line that begins with a key without a space behind its colon, as no web address does."""


def _no_space(case: _Case) -> bool:
    """A key without its space, here or in the line above: YAML takes what follows for more text of
    it, and stumbles over the first colon or line that does not go on with it."""
    above = len(case.text[: case.line_start].rstrip())
    for at in (case.line_start, case.text.rfind("\n", 0, above) + 1):
        found = _NO_SPACE.match(case.text, at)
        if found is not None and case.text.startswith(found["indent"], case.line_start):
            end = case.text.find("\n", at)
            line = case.text[found.start("key") : end if end >= 0 else len(case.text)]
            place = case.span(found.start("key"), found.start("key") + len(_without_comment(line)))
            return _no_colon(case, place)
    return False


def _no_colon(case: _Case, place: Span) -> bool:
    text = place.text
    message, why = "this line is neither `name: value` nor a list item", "no colon and space in it"
    if (found := _NO_SPACE.match(text)) is not None:
        at, why = place.start + found.end(), "no space after its first colon"
        fix = space_fix(case.span(at, at))
    else:
        fix = Fix(f"write `{text.split()[0].rstrip(':') if text.split() else 'name'}: <value>`")
    if (item := _item_fix(case, place.start)) is not None:
        why, fix = "no `- ` before it", item
    case.problems.add("GD0029", message, place, why=why, help=fix)
    return True


def _quote_open(case: _Case) -> bool:
    start = case.start
    quote = case.text[start : start + 1]
    case.problems.add(
        "GD0020",
        f"the quote {quote} is never closed",
        case.span(start, start + 1),
        why="opened here",
        help=Fix(
            f"close it with {quote}; inside single quotes an apostrophe is written twice",
            (Edit(_line_end(case, start), quote),),
        ),
    )
    return True


def _line_end(case: _Case, at: int) -> Span:
    """Returns the empty place behind the text of the line that a place is in."""
    newline = case.text.find("\n", at)
    rest = case.text[at : newline if newline >= 0 else len(case.text)]
    end = at + len(_without_comment(rest))
    return case.span(end, end)


def _escape(case: _Case) -> bool:
    back = case.text.rfind("\\", 0, case.at + 1)
    start = back if back >= 0 else case.at
    written = case.text[start : start + 2]
    case.problems.add(
        "GD0021",
        f"`{written}` is not an escape that double quotes know",
        case.span(start, start + 2),
        why="an escape",
        help=Fix(
            "write `\\\\` for a backslash, or use single quotes, where it stands for itself",
            (Edit(case.span(start, start), "\\"),),
        ),
    )
    return True


def _block_end(case: _Case) -> bool:
    before = case.before.rstrip()
    if case.char in "]}" and case.char:
        return _empty_item(case)
    if before.endswith(("'", '"', "]", "}")):
        return _after_value(case)
    return _indentation(case)


def _after_value(case: _Case) -> bool:
    end = case.text.find("\n", case.at)
    rest = _without_comment(case.text[case.at : end if end >= 0 else len(case.text)])
    case.problems.add(
        "GD0028",
        "text follows a value that has ended",
        case.span(case.at, case.at + max(len(rest), 1)),
        why="after the closing quote or bracket",
        help=_quote_fix(case, case.at),
    )
    return True


_AS_NEIGHBOURS = "indent it by as many spaces as its neighbours"


def _indentation(case: _Case) -> bool:
    end = case.text.find("\n", case.at)
    line = _without_comment(case.text[case.at : end if end >= 0 else len(case.text)])
    if line.startswith("- ") and case.what.endswith("'-'"):
        message = "a list item stands among the keys of a map"
        fix: Help = "indent it below its key"
    elif case.what.endswith("'?'"):
        message, fix = "a key stands among the items of a list", "indent it, or begin it with `- `"
    else:
        message = "this line is not aligned with the lines it belongs to"
        fix = _AS_NEIGHBOURS
    place = case.span(case.at, case.at + max(len(line), 1))
    if fix == _AS_NEIGHBOURS and (item := _item_fix(case, case.at)) is not None:
        fix = item
    elif fix == _AS_NEIGHBOURS:
        start = case.text.rfind("\n", 0, case.at) + 1
        fix = substitute(
            case.span(start, case.at), _neighbours_indent(case, case.at), _AS_NEIGHBOURS
        )
    case.problems.add("GD0022", message, place, why="indented differently", help=fix)
    return True


def _flow(case: _Case) -> bool:
    """Inside `{ }` or `[ ]`: something else than a comma or the closing bracket."""
    begin = case.start
    opener = case.text[begin : begin + 1]
    closer = {"{": "}", "[": "]"}.get(opener, "}")
    same_line = "\n" not in case.text[begin : case.at]
    ended = case.text[begin : case.at].rstrip()[-1:]
    if case.char == ":" and same_line:
        case.problems.add(
            "GD0017",
            "a colon and a space may not stand in unquoted text",
            case.here(),
            why="YAML takes what is before it for a key",
            help="write quotes around the value",
        )
    elif case.char and case.char in "[{?" and same_line:
        case.problems.add(
            "GD0016",
            f"YAML cuts this text at its `{case.char}`",
            case.here(),
            why=f"inside `{opener}{closer}` an unquoted value may hold none of , [ ] {{ }} ?",
            help=_quote_fix(case, case.at),
        )
    elif same_line and case.char and case.char not in "]}" and ended in ("'", '"', "]", "}"):
        case.problems.add(
            "GD0028",
            "text follows a value that has ended",
            case.here(),
            why="after the closing quote or bracket",
            help="write one pair of quotes around the whole value",
        )
    else:
        _unclosed(case, begin, opener, closer)
    return True


def _unclosed(case: _Case, begin: int, opener: str, closer: str) -> None:
    notes: tuple[Note, ...] = ()
    wrong = case.char in ("]", "}") and "\n" not in case.text[begin : case.at]
    place = case.here() if wrong else _line_end(case, begin)
    if case.at < len(case.text):
        notes = (Note(case.here(), f"`{closer}` or a comma must come before this"),)
    case.problems.add(
        "GD0019",
        f"`{opener}` is not closed",
        case.span(begin, begin + 1),
        why="opened here",
        notes=notes,
        help=substitute(place, closer, f"write `{closer}` after its last value"),
    )


def _flow_content(case: _Case) -> bool:
    if case.opened is not None and case.what.endswith(("'<stream end>'", "'<document end>'")):
        opener = case.text[case.opened]
        _unclosed(case, case.opened, opener, {"{": "}", "[": "]"}.get(opener, "}"))
        return True
    return _reserved(case)


def _tag(case: _Case) -> bool:
    start = case.start
    case.problems.add(
        "GD0011",
        "a YAML tag begins here; tags are not part of the language",
        case.span(start, start + 1),
        why="a value may not begin with `!`",
        help=tag_fix("", case.span(start, start + 1)),
    )
    return True


def _document_start(case: _Case) -> bool:
    if case.char in ("}", "]"):
        return _empty_item(case)
    if re.search(r"^\.\.\.", case.text[: case.at], re.MULTILINE):
        message = "a file holds one document, and this text follows its end"
        end = re.search(r"^\.\.\.[^\n]*\n", case.text, re.MULTILINE)
        assert end is not None
        fix = substitute(case.span(end.start(), end.end()), "", "delete the line `...` before it")
        case.problems.add("GD0010", message, case.here(), why="after the end", help=fix)
        return True
    first = case.text.lstrip()[:1]
    if first in ("{", "[", '"', "'"):
        return _after_value(case)
    if first == "%":
        return False
    begins = re.search(r"^(?!#|---)\S.*$", case.text[: case.at], re.MULTILINE)
    if begins and not re.search(r":(\s|$)", line := _without_comment(begins.group())):
        return _no_colon(case, case.span(begins.start(), begins.start() + len(line)))
    return _indentation(case)


def _other(case: _Case) -> None:
    case.problems.add(
        "GD0030",
        "this is not YAML" + (f": {case.what}" if case.what else ""),
        case.here(),
        why="YAML stops here",
        help="write `name: value`, one to a line, and put doubtful text in double quotes",
    )


_RULES: tuple[tuple[re.Pattern[str], Callable[[_Case], bool]], ...] = tuple(
    (re.compile(pattern), rule)
    for pattern, rule in (
        (r"found character .* that cannot start any token", _tab),
        (r"found character .* that cannot start any token", _reserved),
        (r"(sequence entries|mapping keys) are not allowed here", _reserved),
        (r"mapping values are not allowed|<block end>|<document start>", _no_space),
        (r"mapping values are not allowed here", _colon),
        (r"could not find expected ':'", _missing_colon),
        (r"while scanning a block scalar", _block_indicator),
        (r"while scanning an (alias|anchor)", _anchor),
        (r"while (scanning|parsing) a tag|undefined tag handle", _tag),
        (r"double-quoted scalar: (found unknown|expected) escape|chr\(\)|Python int", _escape),
        (r"scanning a quoted scalar: found unexpected", _quote_open),
        (r"expected <block end>", _block_end),
        (r"while parsing a flow (mapping|sequence): expected ','", _flow),
        (r"while parsing a flow node: expected the node content", _flow_content),
        (r"expected the node content", _reserved),
        (r"expected '<document start>'", _document_start),
    )
)
