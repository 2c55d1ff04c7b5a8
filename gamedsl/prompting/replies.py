"""Replies: which action or saying a text names, and why it names none.

Nothing is guessed. A closed decision is answered with a label, letter for letter: case, full stops
and quotes count. A lenient rule would turn text that nobody meant into a move, and would credit the
move to the model that wrote it. Whitespace around a label is admitted because chat templates and
samplers add it and no label begins or ends with it. The label stands alone, in a tag or in a tool
call, with or without a thought before it. A reply may say anything around a tag or a call, the
labels of other options included. A second tag or call, or the beginning of one, leaves open which
is meant, and the reply is refused. Text inside a thought is never read.

An open decision is answered in one of five forms. Text: the whole reply. Code: the content of its
only fenced block. JSON: its only object, with the fields of a record type and values of their types
(`gamedsl.prompting.json_values`), or `null` and nothing else, where that may be none. Either: an
object and nothing else, or a text without braces. Tool: its only object, with a tool's `name` and
`arguments`. A reply that could be taken in two ways, or that would have to be mended first, is
refused. Its canonical name is the text, the code, or the JSON with the fields in their declared
order and no spaces; a number that is not whole is a string there, `"1/3"`. Always:
`open_reply_value` and `open_reply_name` are inverse to each other, and `read_open_reply` reads what
`write_open_reply` writes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

from gamedsl.call_syntax import CALL_TAG, TAGGED, CallSyntax
from gamedsl.ir.option_calls import OptionCall
from gamedsl.ir.program import Said
from gamedsl.ir.replies import Form
from gamedsl.ir.types import Option, Record, TextOrRecord, Type, plain, text_or_record
from gamedsl.prompting.json_values import (
    LONGEST,
    Fault,
    JsonReader,
    check_text,
    data_of,
    decimal,
    dumps,
    find_object,
    loads,
    quoted,
)
from gamedsl.prompting.labels import LabelBook
from gamedsl.prompting.tool_calls import (
    NO_CALLS,
    label_of_call,
    parts_of_call,
    write_call,
    write_option,
)
from gamedsl.thought_syntax import CLOSE, OPEN

REASONS: dict[str, str] = {
    "empty": "there is nothing in it",
    "unknown": "it is no label of the game",
    "illegal": "it is a label, but of no option that is open here",
    "thoughts": "it has a thought that is not asked for, not at its start or not the only one",
    "unclosed": "it ends before its thought does",
    "missing": "it has no answer of the form that is asked for",
    "half": "a tag, block or object in it begins or ends, and does not do both",
    "several": "it has more than one answer of the form that is asked for, or a part of another",
    "malformed": "what must be JSON is not",
    "fields": "a field is missing, unknown or given twice",
    "value": "a value is not of the type that is asked for",
    "length": "a text or a list has a length that it may not have",
    "characters": "it has a control character, or half of a surrogate pair",
    "large": "it is longer, or nested deeper, than any reply may be",
    "tokens": "it has more tokens than the step allows",
    "invalid": "what it says is against the step's `valid`",
    "truncated": "it reached its limit of tokens before it ended",
    "timeout": "it did not come in time",
    "endpoint": "what the endpoint answered is no reply",
}
"""The reasons why a reply is no action, each with a description of the reply."""


@dataclass(frozen=True)
class ParseFailure:
    """A reply that names no legal action.

    `reason` is one of `REASONS`, `text` the reply as it came. `detail` says for people where in the
    reply the fault is and what was wanted there, where there is more to say than the reason does;
    it takes no part in comparison, and transcripts do without it.
    """

    reason: str
    text: str = ""
    detail: str = field(default="", compare=False)


def read_label(text: str, legal: tuple[str, ...], book: LabelBook) -> str | ParseFailure:
    """Returns the canonical name that a label names, or why it names none. Any text is accepted."""
    said = text.strip()
    if not said:
        return ParseFailure("empty", text)
    name = book.name(said)
    if name is None:
        return ParseFailure("unknown", text)
    return name if name in legal else ParseFailure("illegal", text)


def write_choice(
    label: str, form: Form, thought: str | None = None,
    calls: Mapping[str, OptionCall] = NO_CALLS, syntax: CallSyntax = TAGGED,
) -> str:  # fmt: skip
    """Returns the reply that gives a label, after a thought if there is one: `read_choice` reads it
    as that label and as nothing else. `calls` are the labels that are calls of typed tools, as
    `GameIR.option_calls` has them. Raises ValueError where the form cannot hold the label or the
    thought."""
    reply = _written(label, form.kind, calls, syntax)
    if thought is not None:
        reply = f"{OPEN}\n{thought}\n{CLOSE}\n{reply}"
    if label_in(reply, form, calls) != label:
        raise ValueError(f"{quoted(reply)} does not give {quoted(label)} in this form")
    return reply


def can_hold(label: str, form: Form) -> bool:
    """Returns whether a label can be given in this form: it contains no part of the form itself."""
    return label_in(_written(label, form.kind), form) == label


def split_thought(text: str) -> tuple[str | None, str] | ParseFailure:
    """Returns the thought at the start of a reply, None where there is none, and the text after it.

    Chat templates may open the thought in the prompt, so that a reply begins inside it; whatever
    stands before `</think>` is then the thought. A reply without either tag has no thought: who
    knows that the prompt opened one puts `<think>` before the reply. Failures: "unclosed" for a
    reply that opens a thought, or begins to close it, and ends; "thoughts" for a tag anywhere else,
    in any case and spacing, such as a thought in a thought, after an answer, or a second one.
    """
    start = text.lstrip()
    marks = [found[0] for found in _marks("think").finditer(start)]
    begun = _breaks_off(start, "think")
    if not marks and not begun:
        return None, text
    opened = start.startswith(OPEN)
    if marks == ([OPEN] if opened else []):
        return ParseFailure("unclosed", text)
    if marks != ([OPEN, CLOSE] if opened else [CLOSE]) or begun:
        return ParseFailure("thoughts", text)
    thought, _, rest = start.removeprefix(OPEN).partition(CLOSE)
    return thought.strip(), rest


def read_choice(
    text: str, form: Form, legal: tuple[str, ...], book: LabelBook,
    calls: Mapping[str, OptionCall] = NO_CALLS,
) -> str | ParseFailure:  # fmt: skip
    """Returns the canonical name that a reply of this form names, or why it names none. Any text is
    accepted. The label in it counts as in `read_label`: letter for letter. `calls` as in
    `write_choice`."""
    label = label_in(text, form, calls)
    if isinstance(label, ParseFailure):
        return label
    read = read_label(label, legal, book)
    return ParseFailure(read.reason, text) if isinstance(read, ParseFailure) else read


def _written(
    label: str, kind: str, calls: Mapping[str, OptionCall] = NO_CALLS, syntax: CallSyntax = TAGGED
) -> str:
    if kind == "tag":
        return f"<answer>{label}</answer>"
    return write_option(syntax, label, calls) if kind == "tool" else label


def label_in(
    text: str, form: Form, calls: Mapping[str, OptionCall] = NO_CALLS
) -> str | ParseFailure:
    """Returns the text in the place of the label, without whitespace around it, or why there is
    none."""
    if len(text) > LONGEST:
        return ParseFailure("large", text)
    rest = text
    if form.think is not None:
        split = split_thought(text)
        if isinstance(split, ParseFailure):
            return split
        rest = split[1]
    elif form.kind != "label" and _marks("think").search(text):
        return ParseFailure("thoughts", text)
    if form.kind == "label":
        return rest.strip()
    try:
        if form.kind == "tag":
            return _between(rest, "answer").strip()
        return label_of_call(_call(rest), calls)
    except Fault as fault:
        return ParseFailure(fault.reason, text, fault.detail)


def _between(text: str, tag: str) -> str:
    """Returns the text inside the only tag of a reply. Raises Fault where there is no tag, half a
    one, or more."""
    marks = [found[0] for found in _marks(tag).finditer(text)]
    opening, closing = f"<{tag}>", f"</{tag}>"
    begun = _breaks_off(text, tag)
    if marks != [opening, closing] or begun:
        if not marks and not begun:
            raise Fault("missing")
        twice = marks.count(opening) > 1 or marks.count(closing) > 1
        raise Fault("several" if twice or {opening, closing} <= set(marks) else "half")
    return text.partition(opening)[2].partition(closing)[0]


def _call(text: str) -> Any:
    """Returns the only call of a reply, as JSON data: between tags, or, as Llama 3 writes calls,
    an object with `parameters` without any. Raises Fault."""
    try:
        return loads(_between(text, CALL_TAG))
    except Fault as fault:
        if fault.reason != "missing" or '"parameters"' not in text:
            raise
    data = loads(find_object(text))
    if not isinstance(data, dict) or "parameters" not in data:
        raise Fault("missing")
    return data


@cache
def _marks(tag: str) -> re.Pattern[str]:
    """Returns a pattern for anything that looks like a tag of this name: any case, any spaces, any
    end."""
    return re.compile(rf"<\s*+/?\s*+{tag}(?![\w-])>?", re.IGNORECASE)


def _breaks_off(text: str, tag: str) -> bool:
    """Returns whether a text ends inside a tag of this name: `</answ`."""
    part = text[text.rfind("<") :].rstrip().lower() if "<" in text else ""
    return len(part) > 1 and any(whole.startswith(part) for whole in (f"<{tag}", f"</{tag}"))


JSON_FORMS = ("json", "tool")
"""The forms of open replies that are read from the only JSON object of a text."""

_FENCED = re.compile(r"```|~~~")
_FENCE = re.compile(r"(`{3,}|~{3,})[ \t]*[A-Za-z0-9_+#.-]*[ \t]*")
_CACHED_VALUES = 4096


def read_open_reply(
    text: str, said: Said, type: Type, seats: tuple[str, ...]
) -> str | ParseFailure:
    """Returns the canonical name of an open reply, or why it is invalid. Any text is accepted; the
    runtime checks `said.valid`."""
    try:
        if len(text) > LONGEST:
            raise Fault("large", f"{len(text)} characters")
        in_json = said.form in JSON_FORMS
        if said.form == "either":
            in_json = _is_object(text)
            type = _either(type)[in_json]
        if in_json:
            none = isinstance(type, Option) and text.strip() == "null"
            data = None if none else loads(find_object(text))
            reader = JsonReader(seats)
            if said.form == "tool":
                return _name(read_call(data, type, reader), type, seats)
            return _name(reader.value(data, type, ""), type, seats)
        return _checked(_block(text) if said.form == "code" else text.strip(), type)
    except Fault as fault:
        return ParseFailure(fault.reason, text, fault.detail)


def open_reply_value(name: str, said: Said, type: Type, seats: tuple[str, ...]) -> Any:
    """Returns the value of a canonical name. Raises ValueError where no reply has this name."""
    if said.form == "either":
        kind = _either(type)[_is_object(name)]
        return _record(name, kind, seats) if isinstance(kind, Record) else _stripped(name, kind)
    if said.form in JSON_FORMS:
        value = _record(name, type, seats)
        if said.form == "tool":
            called_tool(value, type)
        return value
    return _stripped(name, type) if said.form == "text" else _checked(name, type)


def _stripped(name: str, type: Type) -> str:
    if name != name.strip():
        raise ValueError(f"{quoted(name)} has spaces around it")
    return _checked(name, type)


def open_reply_name(value: Any, said: Said, type: Type, seats: tuple[str, ...]) -> str:
    """Returns the canonical name of a value. Raises ValueError where it is not of the type."""
    try:
        name = _name(value, type, seats) if _in_json(value, said) else value
        if open_reply_value(name, said, type, seats) == value:
            return str(name)
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise ValueError(f"{quoted(str(value))} is not {type}") from error
    raise ValueError(f"{quoted(str(value))} is not {type}")


def write_open_reply(
    name: str, said: Said, type: Type, seats: tuple[str, ...], syntax: CallSyntax | None = None
) -> str:
    """Returns the reply of this canonical name, and no more; a call without a syntax is its object
    alone. Raises ValueError where there is none, or it has a number of endless decimals, which JSON
    cannot express."""
    value = open_reply_value(name, said, type, seats)
    if said.form == "tool":
        place, tool, arguments = called_tool(value, type)
        given = data_of(value[place], arguments, seats)
        if syntax is not None:
            return write_call(syntax, tool, given)
        return dumps({"name": tool, "arguments": given}, decimal)
    if _in_json(value, said):
        return dumps(data_of(value, type, seats), decimal)
    if said.form == "code":
        longest = max(map(len, re.findall("`+", name)), default=0)
        fence = "`" * max(3, longest + 1)
        return f"{fence}\n{name}\n{fence}"
    return name


def read_call(data: Any, type: Type, reader: JsonReader) -> Any:
    """Returns the value of a tool call, as JSON data. Raises Fault where it is none."""
    assert isinstance(type, Record)
    tools = {name: plain(of) for name, of in type.fields}
    called, arguments = parts_of_call(data)
    if not isinstance(called, str) or called not in tools:
        raise Fault("value", f"`name` must be {' or '.join(tools)}")
    given = reader.value(arguments, tools[called], "arguments")
    return tuple(given if name == called else None for name in tools)


def called_tool(value: Any, type: Type) -> tuple[int, str, Type]:
    """Returns which tool a call names: its place, name, and the type of its arguments. Raises
    ValueError for a value that calls none or several."""
    assert isinstance(type, Record)
    found = [place for place, given in enumerate(value) if given is not None]
    if len(found) != 1:
        raise ValueError("a call names one tool")
    name, of = type.fields[found[0]]
    return found[0], name, plain(of)


def _in_json(value: Any, said: Said) -> bool:
    """Returns whether a value is said as JSON."""
    return said.form in JSON_FORMS or (said.form == "either" and not isinstance(value, str))


def _is_object(text: str) -> bool:
    """Returns whether a reply that is a text or an object is the object: it has nothing else, and
    a text has no brace. Raises Fault where it has some of both."""
    if "{" not in text and "}" not in text:
        return False
    if find_object(text) != text.strip():
        raise Fault("several", "a text has no `{` and no `}`; an object stands alone")
    return True


def _either(type: Type) -> TextOrRecord:
    kinds = text_or_record(type)
    assert kinds is not None, "the compiler has checked it"
    return kinds


def _name(value: Any, type: Type, seats: tuple[str, ...]) -> str:
    return dumps(data_of(value, type, seats), lambda number: f'"{number}"')


@lru_cache(maxsize=_CACHED_VALUES)
def _record(name: str, type: Type, seats: tuple[str, ...]) -> Any:
    """Returns the value of this canonical JSON. Raises ValueError where there is none."""
    value = JsonReader(seats, named=True).value(loads(name), type, "")
    if _name(value, type, seats) != name:
        raise ValueError(f"{quoted(name)} is not the canonical name of what it says")
    return value


def _checked(text: str, type: Type) -> str:
    """Returns a text. Raises Fault where it is empty, too long, or has characters that no text
    has."""
    if not text.strip():
        raise Fault("empty")
    return check_text(text, type, "")


def _block(text: str) -> str:
    """Returns the content of the only fenced block of a reply: the lines between a line of three or
    more backticks or tildes, with or without a word for the language, and the next line of as many
    or more and nothing else. Raises Fault where there is no block, half a one, or more."""
    lines = text.strip().split("\n")
    first = next((i for i, line in enumerate(lines) if _FENCED.search(line)), None)
    if first is None:
        raise Fault("missing")
    opening = _FENCE.fullmatch(lines[first])
    if opening is None:
        raise Fault("half", f"line {first + 1} is not the first line of a block")
    fence = opening[1]
    for last in range(first + 1, len(lines)):
        line = lines[last].rstrip(" \t")
        if len(line) >= len(fence) and not line.strip(fence[0]):
            if any(map(_FENCED.search, lines[last + 1 :])):
                raise Fault("several")
            return "\n".join(lines[first + 1 : last])
    raise Fault("half", f"the block of line {first + 1} does not end")
