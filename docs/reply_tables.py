"""The tables of `docs/replies.md`: each reply in them is read by the code that reads replies.

`docs/generate.py` puts them between the page's markers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from gamedsl.ir.json_types import call_schema, schema_of
from gamedsl.ir.option_calls import OptionCall, parameters_of
from gamedsl.ir.program import Said
from gamedsl.ir.replies import Form
from gamedsl.ir.types import Enum, Option, PerValue, Record, Text, Union, range_type
from gamedsl.prompting.labels import LabelBook
from gamedsl.prompting.replies import (
    REASONS,
    ParseFailure,
    read_choice,
    read_open_reply,
)
from gamedsl.prompting.reply_instructions import instruction

BOOK = LabelBook("fixed", (("stag", "K"), ("hare", "B"), ("rest", "W")))
OPEN = ("stag", "hare")
CALL = '<tool_call>{"name": "choose", "arguments": {"option": "K"}}</tool_call>'
OTHER = CALL.replace('"K"', '"B"')

HAND = {
    f"{name}({card})": OptionCall(name, (("card", card),))
    for name in ("play", "discard") for card in (0, 1)
} | {
    f"hint({to},{what})": OptionCall("hint", (("to", to), ("what", what)))
    for to in ("ann", "bob") for what in ("red", 1)
}  # fmt: skip
HAND_TOOLS = [
    {"name": name, "parameters": parameters_of(name, HAND.values())}
    for name in ("play", "discard", "hint")
]
PLAY = '<tool_call>{"name": "play", "arguments": {"card": 0}}</tool_call>'
TYPED = (
    PLAY, PLAY.replace('{"card": 0}', '{"what": "red", "to": "bob"}').replace("play", "hint"),
    PLAY.replace("play", "discard"), PLAY.replace("0", "2"), PLAY.replace("0", '"0"'),
    PLAY.replace("card", "i"), PLAY.replace("play", "shoot"),
    '{"name": "play", "parameters": {"card": 0}}', PLAY + PLAY, "play(0)",
)  # fmt: skip

CHOICES = {
    "label": (Form("label"), ("K", " K\n", "k", "K.", "I choose K", "W", "")),
    "tag": (
        Form("tag"),
        (
            "<answer>K</answer>", "B is weak, so <answer> K </answer>.", "K", "<answer>K",
            "<answer>K</answer> or <answer>B</answer>", "<answer>K</answer> <Answer>",
            "<answer>Option K</answer>", "<think>B?</think><answer>K</answer>",
        ),
    ),
    "tool": (
        Form("tool"),
        (
            CALL, f"Let me see.\n{CALL}", CALL.replace('"K"', '"W"'),
            CALL.replace("choose", "pick"), CALL.replace('"K"', '"K", "why": ""'),
            CALL.replace('"', "'"), CALL[:-12], CALL + OTHER,
        ),
    ),
    "label, think: 64": (
        Form("label", 64),
        (
            "<think>B? No.</think>K", "B? No.</think>\n\nK", "K", "<think>B? No.",
            "<think>B</think>K<think>B</think>", "K<think>B</think>",
        ),
    ),
    "tag, think: 64": (
        Form("tag", 64),
        (
            "<think><answer>B</answer>?</think><answer>K</answer>",
            "<think><answer>K</answer></think>",
        ),
    ),
}  # fmt: skip

OFFER = Record(
    "",
    (("message", Text(20)), ("keep", PerValue(Enum("Good", ("book", "hat")), range_type(0, 3)))),
)
GOOD = '{"message": "Take it.", "keep": {"hat": 0, "book": 3}}'
OFFERS = (
    GOOD, f"My offer:\n{GOOD}", GOOD + GOOD, f"{{{GOOD}}}", GOOD[:-1], GOOD.replace("3", "3.0"),
    GOOD.replace("3", '"3"'), GOOD.replace("3", "4"), GOOD.replace('"hat": 0, ', ""),
    GOOD.replace("hat", "book"), GOOD.replace("Take it.", "Take it or leave it. Now!"),
    GOOD.replace("Take it.", "\\u0007"), "Take it.",
)  # fmt: skip

TOOLS = Record(
    "move",
    (
        ("search", Option(Record("search", (("query", Text(20)),)))),
        ("answer", Option(Record("answer", (("number", range_type(0, 9)),)))),
    ),
)
ABOUT = (("search", "Finds a fact."), ("search.query", "words to look for"))
SEARCH = '{"name": "search", "arguments": {"query": "moon"}}'
ANSWER = '{"name": "answer", "arguments": {"number": 4}}'
CALLS = (
    SEARCH, f"Let me see.\n<tool_call>{SEARCH}</tool_call>", ANSWER, SEARCH + ANSWER,
    SEARCH.replace("search", "find"), SEARCH.replace("query", "text"), ANSWER.replace("4", '"4"'),
    '{"search": {"query": "moon"}}', '{"name": "search"}', SEARCH.replace("moon", "m" * 21),
    "search(moon)",
)  # fmt: skip


SPLIT = '{"keep": {"book": 3, "hat": 0}}'
EITHER = (
    "Take the hat.", f" {SPLIT}\n", f"I keep: {SPLIT}", SPLIT + SPLIT, SPLIT[:-1], "null",
    SPLIT.replace("3", "4"), "Take it or leave it. Now!", "Take it :}", "",
)  # fmt: skip


def forms() -> Iterator[str]:
    yield "| `respond` | what the prompt says |"
    yield "| --- | --- |"
    for kind in ("label", "tag", "tool"):
        yield f"| `{kind}` | {code(instruction(Form(kind)))} |"
    more = instruction(Form("tag", 64)).removeprefix(instruction(Form("tag")))
    yield f"| `{{form: …, think: 64}}` | {code(f'… {more.strip()}')} |"


def choices() -> Iterator[str]:
    yield "| `respond` | reply | what is read |"
    yield "| --- | --- | --- |"
    for name, (form, replies) in CHOICES.items():
        for reply in replies:
            read = read_choice(reply, form, OPEN, BOOK)
            says = refused(read) if isinstance(read, ParseFailure) else code(BOOK.label(read))
            yield f"| `{name}` | {code(reply)} | {says} |"


def typed() -> Iterator[str]:
    yield f"```text\n{instruction(Form('tool'), HAND_TOOLS)}\n```\n"
    yield "| reply | what is read |"
    yield "| --- | --- |"
    book = LabelBook("plain", tuple((name, name) for name in HAND))
    legal = tuple(name for name in HAND if not name.startswith(("discard", "hint(ann")))
    for reply in TYPED:
        read = read_choice(reply, Form("tool"), legal, book, HAND)
        says = refused(read) if isinstance(read, ParseFailure) else code(read)
        yield f"| {code(reply)} | {says} |"


def offer() -> Iterator[str]:
    schema = json.dumps(schema_of(OFFER, ()))
    yield f"```json\n{schema}\n```\n"
    yield "| reply | what is read |"
    yield "| --- | --- |"
    for reply in OFFERS:
        read = read_open_reply(reply, Said("json", 60), OFFER, ())
        says = refused(read) if isinstance(read, ParseFailure) else code(read)
        yield f"| {code(reply)} | {says} |"


def calls() -> Iterator[str]:
    yield f"```json\n{json.dumps(call_schema(TOOLS, ABOUT, ()))}\n```\n"
    yield "| reply | what is read |"
    yield "| --- | --- |"
    for reply in CALLS:
        read = read_open_reply(reply, Said("tool", 60), TOOLS, ())
        says = refused(read) if isinstance(read, ParseFailure) else code(read)
        yield f"| {code(reply)} | {says} |"


def either() -> Iterator[str]:
    """Yields replies that are a text or a record, with what is read."""
    split = Record("Split", (("keep", PerValue(Enum("Good", ("book", "hat")), range_type(0, 3))),))
    type = Union((Text(20), split))
    yield "| reply | what is read |"
    yield "| --- | --- |"
    for reply in EITHER:
        read = read_open_reply(reply, Said("either", 60), type, ())
        says = refused(read) if isinstance(read, ParseFailure) else code(read)
        yield f"| {code(reply)} | {says} |"


def reasons() -> Iterator[str]:
    yield "| reason | of the reply |"
    yield "| --- | --- |"
    for reason, about in REASONS.items():
        yield f"| `{reason}` | {about} |"


def refused(failure: ParseFailure) -> str:
    more = f": {failure.detail}" if failure.detail else ""
    return f"refused, `{failure.reason}`{more}".replace("|", "\\|")


def code(text: str) -> str:
    """A text without backticks in a cell."""
    shown = text.replace("\n", "⏎").replace("|", "\\|")
    return f"`{shown}`" if shown.strip() else "(nothing)"


TABLES = {
    "forms": forms, "choices": choices, "typed": typed,
    "offer": offer, "either": either, "calls": calls,
    "reasons": reasons,
}  # fmt: skip
