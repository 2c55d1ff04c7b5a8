"""Forms of replies to closed decisions: a label alone, in a tag, or in a tool call, with or without
a thought before it.

A reply is read only if one answer can be meant. It may say what it likes around a tag or a call,
the labels of other options included; a second one, or the beginning of one, leaves open which is
meant, and nothing is read. What stands in a thought is never read.
"""

from __future__ import annotations

import json
import re
from functools import cache

from gamedsl.ir.form import LABEL, Form
from gamedsl.prompting.labels import LabelBook
from gamedsl.prompting.replies import ParseFailure, parse_reply
from gamedsl.prompting.strict_json import LONGEST, Fault, loads, quoted

__all__ = [
    "ASKED", "CLOSE", "LABEL", "OPEN", "Form", "can_hold", "instruction", "label_in",
    "read_choice", "split_thought", "written",
]  # fmt: skip

OPEN, CLOSE = "<think>", "</think>"
"""What a thought stands between."""

ASKED = {
    "label": "Reply with exactly one of the options.",
    "tag": "Reply with exactly one of the options, in this form: <answer>OPTION</answer>",
    "tool": (
        "Reply with exactly one of the options, in this form: "
        '<tool_call>{"name": "choose", "arguments": {"option": "OPTION"}}</tool_call>'
    ),
}
"""What prompts say of each form. It has as few words as can be, none of them a label of any style,
since no action of a masked game may be called by one of them."""

_THINK = "Before that, think between <think> and </think>, in at most {} tokens."


def instruction(form: Form) -> str:
    """How to answer, as prompts say it. It has no name and no label of any game."""
    asked = ASKED[form.kind]
    return asked if form.think is None else f"{asked} {_THINK.format(form.think)}"


def written(label: str, form: Form, thought: str | None = None) -> str:
    """The reply that gives a label, after a thought if there is one: what `read_choice` reads as
    that label and as nothing else. ValueError: the form cannot hold the label or the thought."""
    reply = _written(label, form.kind)
    if thought is not None:
        reply = f"{OPEN}\n{thought}\n{CLOSE}\n{reply}"
    if label_in(reply, form) != label:
        raise ValueError(f"{quoted(reply)} does not give {quoted(label)} in this form")
    return reply


def can_hold(label: str, form: Form) -> bool:
    """Whether a label can be given in this form: it has no part of the form itself in it."""
    return label_in(_written(label, form.kind), form) == label


def split_thought(text: str) -> tuple[str | None, str] | ParseFailure:
    """The thought at the start of a reply, None where there is none, and what comes after it.

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
    text: str, form: Form, legal: tuple[str, ...], book: LabelBook
) -> str | ParseFailure:
    """The canonical name that a reply of this form names, or why it names none. Any text is
    accepted. The label in it counts as `parse_reply` has it: letter for letter."""
    label = label_in(text, form)
    if isinstance(label, ParseFailure):
        return label
    read = parse_reply(label, legal, book)
    return ParseFailure(read.reason, text) if isinstance(read, ParseFailure) else read


def _written(label: str, kind: str) -> str:
    if kind == "tag":
        return f"<answer>{label}</answer>"
    if kind == "tool":
        call = {"name": "choose", "arguments": {"option": label}}
        return f"<tool_call>{json.dumps(call, ensure_ascii=False)}</tool_call>"
    return label


def label_in(text: str, form: Form) -> str | ParseFailure:
    """What stands in a reply in the place of the label, without whitespace around it."""
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
        return _called(_between(rest, "tool_call"))
    except Fault as fault:
        return ParseFailure(fault.reason, text, fault.detail)


def _between(text: str, tag: str) -> str:
    """What stands in the only tag of a reply. Fault where there is none, half a one, or more."""
    marks = [found[0] for found in _marks(tag).finditer(text)]
    opening, closing = f"<{tag}>", f"</{tag}>"
    begun = _breaks_off(text, tag)
    if marks != [opening, closing] or begun:
        if not marks and not begun:
            raise Fault("missing")
        twice = marks.count(opening) > 1 or marks.count(closing) > 1
        raise Fault("several" if twice or {opening, closing} <= set(marks) else "half")
    return text.partition(opening)[2].partition(closing)[0]


def _called(text: str) -> str:
    """The option that a tool call chooses. Fault where it is not the call that is asked for."""
    call = loads(text)
    if not isinstance(call, dict) or call.keys() != {"name", "arguments"}:
        raise Fault("fields", "a call has `name` and `arguments`, and no more")
    if call["name"] != "choose":
        raise Fault("value", "the only tool is `choose`")
    arguments = call["arguments"]
    if not isinstance(arguments, dict) or arguments.keys() != {"option"}:
        raise Fault("fields", "`arguments` has `option`, and no more")
    option = arguments["option"]
    if not isinstance(option, str):
        raise Fault("value", "`option` is a text")
    return option.strip()


@cache
def _marks(tag: str) -> re.Pattern[str]:
    """What looks like a tag of this name, as it must be or not: any case, any spaces, any end."""
    return re.compile(rf"<\s*+/?\s*+{tag}(?![\w-])>?", re.IGNORECASE)


def _breaks_off(text: str, tag: str) -> bool:
    """Whether a text ends inside a tag of this name: `</answ`."""
    part = text[text.rfind("<") :].rstrip().lower() if "<" in text else ""
    return len(part) > 1 and any(whole.startswith(part) for whole in (f"<{tag}", f"</{tag}"))
