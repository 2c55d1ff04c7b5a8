"""Diagnostics for expressions that do not parse.

Imported only after a failure. The commonest mistakes have headlines of their own; the parser's list
of acceptable tokens is reduced to one suggestion.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedInput, UnexpectedToken

from gamedsl.diagnostics.fixes import Edit, Fix, Help, substitute
from gamedsl.diagnostics.model import Note, Problems
from gamedsl.diagnostics.spans import Span
from gamedsl.frontend.source.cut_expressions import LISTED_WORDS
from gamedsl.frontend.source.edits import key_of, nodes_around
from gamedsl.frontend.source.nodes import Mapping, Node, Scalar, Sequence

Place = Callable[[int, int], Span]

_TOKENS = {
    "NAME": "a name", "NUMBER": "a number", "COMPARE": "a comparison", "TIMES": "`*` or `/`",
    "PLUS_MINUS": "`+` or `-`", "POWER": "`**`", "RPAR": "`)`", "LPAR": "`(`", "RSQB": "`]`",
    "LSQB": "`[`", "COMMA": "`,`", "DOT": "`.`", "IF": "`if`", "ELSE": "`else`", "FOR": "`for`",
    "IN": "`in`", "NOT": "`not`", "AND": "`and`", "OR": "`or`", "__ANON_0": "`..`",
}  # fmt: skip

_ALIEN = {
    "=": "to compare, write `==`",
    "&": "write `and`",
    "|": "write `or`",
    "!": "write `not`",
    "^": "a power is written `**`",
    "~": "write `not`",
    "?": "a choice is written `a if test else b`",
    ":": "a choice is written `a if test else b`",
    ";": "one expression stands alone",
    "'": "names stand without quotes",
    '"': "names stand without quotes",
    "{": "a list is written `[a, b]`",
    "×": "write `*`",
    "·": "write `*`",
    "÷": "write `/`",
    "−": "write the minus sign `-` of the keyboard",
    "–": "write the minus sign `-` of the keyboard",
    "≤": "write `<=`",
    "≥": "write `>=`",
    "≠": "write `!=`",
    "’": "names stand without quotes",
    "“": "names stand without quotes",
    "”": "names stand without quotes",
}

_MEANT = {
    "=": "==", "&": "and", "&&": "and", "|": "or", "||": "or", "!": "not ", "^": "**", "~": "not ",
    "×": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "≤": "<=", "≥": ">=", "≠": "!=",
}  # fmt: skip
"""Signs of other languages, and what is written here in their place."""

_QUOTED = re.compile(r"(['\"])([A-Za-z_][A-Za-z0-9_]*)\1")
_OPEN = {")": "(", "]": "["}
_CLOSE = {"(": ")", "[": "]"}
_TERNARY = "a conditional needs both halves: `a if test else b`"


def report(error: UnexpectedInput, text: str, place: Place, problems: Problems) -> None:
    """Add the one problem of a text that does not parse; `place` turns offsets into spans."""
    if isinstance(error, UnexpectedCharacters):
        at = error.pos_in_stream or 0
        if text[at] != ";" or not _bracket(at, "", text, place, problems):
            _character(at, text, place, problems)
        return
    token = error.token if isinstance(error, UnexpectedToken) else None
    ended = isinstance(error, UnexpectedEOF) or token is None or token.type == "$END"
    at = len(text.rstrip()) if ended or token is None else token.start_pos or 0
    word = "" if ended else str(token)
    if _bracket(at, word, text, place, problems):
        return
    if word in _ALIEN:
        _character(at, text, place, problems)
        return
    accepted = set(getattr(error, "expected", ()) or ())
    if word == "else" and {"RPAR", "RSQB"} & accepted and _unclosed_test(at, text, place, problems):
        return
    if word == "else" and "RPAR" in accepted and _unclosed_before(at, text, place, problems):
        return
    for name, opens, closes in (("RPAR", "(", ")"), ("RSQB", "[", "]")):
        if text[:at].count(opens) <= text[:at].count(closes):
            accepted.discard(name)
    if "ELSE" in accepted and word in ("", ")", "]", ",", "for"):
        _no_else(text[:at], place, problems)
    elif word in ("<", "<=", ">", ">=", "==", "!=", "in", "not") and "NAME" not in accepted:
        problems.add(
            "GD0205",
            "comparisons do not chain",
            place(at, at + len(word)),
            why="a second comparison",
            help=_chained(text, at, word, place),
        )
    elif ended:
        problems.add(
            "GD0201",
            "the expression ends too early",
            place(at - 1, at),
            why=f"{_expected(accepted)} is missing after this",
        )
    else:
        problems.add(
            "GD0201",
            f"`{word}` is not expected here",
            place(at, at + len(word)),
            why=f"{_expected(accepted)} was expected",
            help=_hint(text, at, word, place),
        )


def _unclosed_test(at: int, text: str, place: Place, problems: Problems) -> bool:
    """Whether an `else` comes inside of a bracket that was opened in its test, behind the `if`: the
    bracket is to be closed before it."""
    opened: list[int] = []
    for offset, character in enumerate(text[:at]):
        if character in _CLOSE:
            opened.append(offset)
        elif character in _OPEN and opened:
            opened.pop()
    if not opened:
        return False
    last, outer = opened[-1], opened[-2] if len(opened) > 1 else 0
    if re.search(r"\bif\b", text[last:at]) or not re.search(r"\bif\b", text[outer:last]):
        return False
    close, end = _CLOSE[text[last]], len(text[:at].rstrip())
    whole = f"{' '.join(text[last:end].split())}{close} else"
    problems.add(
        "GD0207",
        f"`{text[last]}` is not closed before `else`",
        place(last, last + 1),
        why="opened here",
        help=Fix(
            f"add the `{close}` before `else`" + f": `{whole}`" * (len(whole) < 60),
            (_appended(text[:at], close, place),),
        ),
    )
    return True


def _unclosed_before(at: int, text: str, place: Place, problems: Problems) -> bool:
    """Whether an `else` comes inside of `( )` that is never closed: the choice stands outside."""
    opened: list[int] = []
    for offset, character in enumerate(text):
        if character in _CLOSE:
            opened.append(offset)
        elif character in _OPEN and opened:
            opened.pop()
    tests = [m for m in re.finditer(r"\s+if\b", text[:at]) if opened and m.start() > opened[-1]]
    if not tests or text[opened[-1]] != "(":
        return False
    name = re.search(r"\w*$", text[: opened[-1]])
    called = name[0] if name is not None else ""
    last = tests[-1].start()
    edit = Edit(place(last, last), ")")
    problems.add(
        "GD0207",
        f"the `(` of `{called}(` is never closed" if called else "`(` is never closed",
        place(opened[-1], opened[-1] + 1),
        why="opened here",
        help=Fix(f"add the `)`, before `{text[last:at].strip()} else`", (edit,)),
    )
    return True


_OPERAND = re.compile(r"[\w.]+(?:\([^()]*\)|\[[^\[\]]*\])*")


_MEMBER = re.compile(rf"{_OPERAND.pattern} (?:not )?in {_OPERAND.pattern}\s*$")
"""A test of membership, which may be compared with a truth value."""


def _chained(text: str, at: int, word: str, place: Place) -> Fix:
    """Returns the fix of `a < b < c`: the middle is compared twice, where it is one operand."""
    middle = list(_OPERAND.finditer(text[:at]))
    edits: tuple[Edit, ...] = ()
    member = _MEMBER.search(text[:at])
    if member is not None and word in ("==", "!="):
        whole = member[0].strip()
        start = member.end() - len(member[0].lstrip())
        end = start + len(whole)
        edits = (Edit(place(start, start + 1), f"({text[start]}"),
                 Edit(place(end - 1, end), f"{text[end - 1]})"))  # fmt: skip
        other = _OPERAND.match(text[at + len(word) :].lstrip())
        return Fix(f"write `({whole}) {word} {other[0] if other else '…'}`", edits)
    if middle and not text[middle[-1].end() : at].strip():
        edits = (Edit(place(at, at + len(word)), f"and {middle[-1][0]} {word}"),)
    return Fix("write `a < b and b < c`", edits)


def _character(at: int, text: str, place: Place, problems: Problems) -> None:
    character, length = text[at], 1
    help: Help = _ALIEN.get(character, "")
    meant = _MEANT.get(character)
    if looks := _looked_into(at, text, place):
        length, help, meant = *looks, None
    elif quoted := _QUOTED.match(text, at):
        length, help = len(quoted[0]), f"names stand without quotes: `{quoted[2]}`"
        meant = quoted[2]
    elif character == "|" and (listed := _listed_names(text, place)) is not None:
        meant, help = None, listed
    elif text[at : at + 2] in ("&&", "||"):
        length = 2
    elif character == "=" and text[max(at - 1, 0)] in "*/%":
        help, meant = f"only `+=` and `-=` are short: write `x = x {text[at - 1]} …`", None
    elif character.isdigit():
        help = "write the digits 0 to 9"
    elif character.isalpha():
        help = "names have the letters a to z, A to Z, digits and `_`"
    if meant is not None and isinstance(help, str):
        help = substitute(place(at, at + length), meant, help)
    if isinstance(help, Fix) and not character.isascii():
        help = Fix(help.text, tuple(_typography(text, place)))
    problems.add(
        "GD0202",
        f"`{text[at : at + length]}` has no meaning in an expression",
        place(at, at + length),
        why="not expected here",
        help=help,
    )


_ANY_QUOTED = re.compile(r"(['\"])(.*?)\1", re.DOTALL)
_BEHIND = re.compile(r"\s*(in|not in|==|!=)\s*([A-Za-z_][\w.]*)")
_BEFORE = re.compile(r"([A-Za-z_][\w.]*)\s*(==|!=)\s*\Z")


def _looked_into(at: int, text: str, place: Place) -> tuple[int, str] | None:
    """Returns the length of a text in quotes that is sought in a text of the game, or compared with
    one, and which function does that; None for anything else in quotes."""
    quoted = _ANY_QUOTED.match(text, at)
    if quoted is None:
        return None
    if (behind := _BEHIND.match(text, quoted.end())) is not None:
        operator, name = behind[1], behind[2]
    elif (before := _BEFORE.search(text[:at])) is not None:
        operator, name = before[2], before[1]
    else:
        return None
    if not _holds_text(name, place(at, quoted.end())):
        return None
    function, other = ("names", "name") if "in" in operator else ("exact", "value")
    call = f"{{call: {function}, with: {{text: {name}, {other}: word}}, gives: found}}"
    return len(quoted[0]), (
        f"no expression looks into a text; a function does, in a step before: `- {call}`, with "
        f"`params: {{word: {{type: text, default: {quoted[0]}}}}}`; then `found` is true or false, "
        "and `gamedsl calls` lists all functions"
    )


def _holds_text(name: str, at: Span) -> bool:
    """Whether a name, or a field of one, is what a step of the same file says in words."""
    root, *rest = name.split(".")
    for step in _maps(nodes_around(at)[:1]):
        said, read = step.get("say"), step.get("read")
        if not isinstance(said, Scalar) or said.text != root:
            continue
        of = read.get(rest[-1]) if isinstance(read, Mapping) and rest else read
        return read is None or (isinstance(of, Scalar) and of.text.startswith("text"))
    return False


def _maps(nodes: Iterable[Node]) -> Iterator[Mapping]:
    """Yields the maps among nodes, and all within them."""
    for node in nodes:
        if isinstance(node, Mapping):
            yield node
            yield from _maps(entry.value for entry in node)
        elif isinstance(node, Sequence):
            yield from _maps(node)


def _listed_names(text: str, place: Place) -> Fix | None:
    """Returns the fix of `from: x | y`; None where the place holds anything else."""
    names = [name.strip() for name in text.split("|")]
    whole_place = place(0, len(text))
    if not all(map(str.isidentifier, names)) or key_of(whole_place).text != "from":
        return None
    whole = f"[{', '.join(names)}]"
    return substitute(whole_place, whole, f"options are listed: `{whole}`")


def _typography(text: str, place: Place) -> Iterator[Edit]:
    """Yields the edits of all typographic signs in a text, which come together."""
    for at, character in enumerate(text):
        if not character.isascii() and character in _MEANT:
            yield Edit(place(at, at + 1), _MEANT[character])


def _bracket(at: int, word: str, text: str, place: Place, problems: Problems) -> bool:
    """Whether the mistake is a bracket that is never closed, or closes nothing."""
    opened = []
    for offset, character in enumerate(text[:at]):
        if character in _CLOSE:
            opened.append(offset)
        elif character in _OPEN and opened:
            opened.pop()
    if word in _OPEN and not (opened and text[opened[-1]] == _OPEN[word]):
        notes = tuple(Note(place(i, i + 1), "open here") for i in opened[-1:])
        problems.add(
            "GD0207",
            f"`{word}` closes nothing",
            place(at, at + 1),
            why=f"no `{_OPEN[word]}` is open here",
            notes=notes,
            help=substitute(
                place(at, at + 1), _CLOSE[text[opened[-1]]], f"write `{_CLOSE[text[opened[-1]]]}`"
            )
            if opened
            else substitute(place(at, at + 1), "", f"delete the `{word}`"),
        )
        return True
    if word == "" and opened:
        problems.add(
            "GD0207",
            f"`{text[opened[-1]]}` is never closed",
            place(opened[-1], opened[-1] + 1),
            why="opened here",
            help=Fix(
                f"add the `{_CLOSE[text[opened[-1]]]}`",
                (_appended(text[:at], _CLOSE[text[opened[-1]]], place),),
            ),
        )
        return True
    return False


def _no_else(text: str, place: Place, problems: Problems) -> None:
    tests = [*re.finditer(r"\bif\b", text)] or [*re.finditer("if", text)]  # `7ife` is `7 if e`
    test = tests[-1].start()
    if re.match(r"(add|drop)\b|[^=<>!]+=[^=]", text):
        help: Help = "whether a step runs is its `if:`; a value is chosen by `a if test else b`"
    elif len(text) < 60 and not set(text) & set("(["):
        whole = f"{' '.join(text.split())} else 0"
        help = Fix(f"say what holds otherwise: `{whole}`", (_appended(text, " else 0", place),))
    else:
        help = _TERNARY
    problems.add(
        "GD0206",
        "this conditional has no `else`",
        place(test, len(text.rstrip())),
        why="and if it is not so?",
        help=help,
    )


def _appended(text: str, new: str, place: Place) -> Edit:
    """Returns the edit that writes something behind the last character of a text."""
    last = len(text.rstrip())
    end = place(last - 1, last).end
    return Edit(Span(place(last - 1, last).source, end, end), new)


_MEANT_WORDS = (
    (re.compile(r"(?:append|push|insert) (.+?) (?:to|into|in) ([\w.]+)"), r"add \1 to \2"),
    (re.compile(r"(?:remove|delete|pop) (.+?) (?:from|of) ([\w.]+)"), r"drop \1 from \2"),
    (re.compile(r"([\w.]+) ?([+-])\2"), r"\1 \2= 1"),
    (re.compile(r"(?:from )?([\w.]+) (?:to|until|through) ([\w.]+)"), r"\1..\2"),
)
"""Texts of other languages, and what is written here in their place."""


def _meant_words(text: str, at: int, word: str) -> str | None:
    """Returns what is meant by a text that is written as in another language."""
    written = " ".join(text.split())
    for pattern, new in _MEANT_WORDS:
        if (found := pattern.fullmatch(written)) is not None:
            return found.expand(new)
    return None


_ENTRY_BEHIND = re.compile(r",\s*([a-z_]+):\s*([\w.]+)")
_IF_THEN = re.compile(r"if\s+(.+?)\s+then\s+(.+?)\s+else\s+(.+)", re.DOTALL)


def _hint(text: str, at: int, word: str, place: Place) -> Help:
    if choice := _IF_THEN.fullmatch(text.strip()):
        whole = " ".join(f"{choice[2]} if {choice[1]} else {choice[3]}".split())
        whole_span = place(len(text) - len(text.lstrip()), len(text.rstrip()))
        return substitute(whole_span, whole, f"a choice is written `{whole}`")
    if (meant := _meant_words(text, at, word)) is not None:
        whole_span = place(len(text) - len(text.lstrip()), len(text.rstrip()))
        return substitute(whole_span, meant, f"write `{meant}`")
    if word in ("elif", "elsif", "elseif"):
        return "a further case stands behind `else`: `a if test else b if other_test else c`"
    if word == "else" or re.match(r"\s*if\b", text):
        return _TERNARY
    if word == "." and text[at + 1 : at + 2].isdigit():
        start = place(at, at + 1)
        return substitute(start, "0.", "write a digit before the point: `0.5`")
    if re.match(r"\d[eE]\d|\d_\d|\d[A-Za-z_]", text[max(at - 1, 0) : at + 2]):
        return "numbers are written out, and a product needs its `*`"
    if word == "," and (key := _ENTRY_BEHIND.match(text, at)):
        return f"`{key[1]}` is a key of its own: write `{key[1]}: {key[2]}` on the next line"
    if word == "," and LISTED_WORDS.fullmatch(text.strip()):
        whole = f"[{text.strip()}]"
        return substitute(place(0, len(text)), whole, f"a list is written `{whole}`")
    if word == ",":
        return "a list is written `[a, b]`"
    if word == "(":
        return "only a name can be called, as in `sum(payoff)`"
    return ""


def _expected(accepted: set[str]) -> str:
    if {"NAME", "NUMBER"} & accepted:
        return "a name" if "NUMBER" not in accepted else "a value"
    words = {_TOKENS[name] for name in accepted if name in _TOKENS}
    for word in ("`)`", "`]`"):
        if word in words:
            return f"an operator or {word}"
    return "an operator" if "`and`" in words else " or ".join(sorted(words)) or "the end"
