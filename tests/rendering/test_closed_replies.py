"""Replies as tags, tool calls and after thoughts: what is read, what is refused and why."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamedsl.ir.replies import LABEL, Form
from gamedsl.prompting.json_values import LONGEST
from gamedsl.prompting.labels import STYLES, LabelBook
from gamedsl.prompting.replies import (
    REASONS,
    ParseFailure,
    can_hold,
    read_choice,
    read_label,
    split_thought,
    write_choice,
)  # fmt: skip
from gamedsl.prompting.reply_instructions import instruction

BOOK = LabelBook("fixed", (("stag", "bako"), ("hare", "two words"), ("rest", 'Ü"nd\\')))
ALL = ("stag", "hare", "rest")
FORM = instruction(LABEL)
TAG, TOOL = Form("tag"), Form("tool")
FORMS = [Form(kind, think) for kind in ("label", "tag", "tool") for think in (None, 64)]


def call(option: str) -> str:
    return f'<tool_call>{{"name": "choose", "arguments": {{"option": {option}}}}}</tool_call>'


@pytest.mark.parametrize(
    "text",
    [
        "<answer>bako</answer>",
        "<answer>\n bako\t</answer>",
        "I like two words, but <answer>bako</answer> is better than stag.",
        "<answers> 1 < 2 </b> <answer>bako</answer> <x>",
        "</tool_call><answer>bako</answer>",
    ],
)
def test_the_only_tag_holds_the_answer(text: str) -> None:
    assert read_choice(text, TAG, ALL, BOOK) == "stag"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "missing"),
        ("bako", "missing"),
        ("<ans>bako</ans>", "missing"),
        ("<answer>bako", "half"),
        ("bako</answer>", "half"),
        ("</answer>bako<answer>", "several"),
        ("<answer>bako</answer", "half"),
        ("bako <ans", "half"),
        ("<answer>bako</answer> </", "several"),
        ("<answer>bako</answer> <answ", "several"),
        ("<answer>bako</answer><answer>bako</answer>", "several"),
        ("<answer>bako</answer><answer>two words</answer>", "several"),
        ("<answer>bako</answer></answer>", "several"),
        ("<answer>two words<answer>bako</answer>", "several"),
        ("<answer>bako</answer> < ANSWER >two words", "several"),
        ("<Answer>bako</Answer>", "half"),
        ("<answer >bako</answer>", "half"),
        ('<answer id="1">bako</answer>', "half"),
        ("<answer/>", "half"),
        ("<answer></answer>", "empty"),
        ("<answer> \n</answer>", "empty"),
        ("<answer>stag</answer>", "unknown"),
        ("<answer>bako.</answer>", "unknown"),
        ("<answer>Bako</answer>", "unknown"),
        ("<answer><b>bako</b></answer>", "unknown"),
        ("<answer>bako, two words</answer>", "unknown"),
        ("<answer>two words</answer>", "illegal"),
        ("<think>x</think><answer>bako</answer>", "thoughts"),
        ("<think><answer>bako</answer>", "thoughts"),
    ],
)
def test_what_is_no_answer_in_a_tag(text: str, reason: str) -> None:
    assert read_choice(text, TAG, ("stag", "rest"), BOOK) == ParseFailure(reason, text)


@pytest.mark.parametrize(
    "text",
    [
        call('"bako"'),
        call('"\\u0062ako"'),
        f"Let me see: {{}} {call(chr(34) + 'bako' + chr(34))} is my call.",
        '<tool_call>\n{"arguments":\n{"option":"bako"} ,"name":"choose"}\n</tool_call>',
        'So: {"name": "choose", "parameters": {"option": "bako"}}',
    ],
)
def test_the_only_call_chooses(text: str) -> None:
    assert read_choice(text, TOOL, ALL, BOOK) == "stag"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"name": "choose", "arguments": {"option": "bako"}}', "missing"),
        ('{} {"name": "choose", "parameters": {"option": "bako"}}', "several"),
        ('{"name": "choose", "parameters": {"option": "bako"}', "half"),
        ('["parameters", {"name": "choose"}]', "missing"),
        ("<tool_call></tool_call>", "malformed"),
        ("<tool_call>bako</tool_call>", "malformed"),
        ('<tool_call>{"name": "choose"}</tool_call>', "fields"),
        ('<tool_call>[{"name": "choose"}]</tool_call>', "fields"),
        ('<tool_call>"choose"</tool_call>', "fields"),
        (call('"bako"')[:-12], "half"),
        (call('"bako"').replace("tool_call", "Tool_Call"), "half"),
        (call('"bako"') + call('"two words"'), "several"),
        (call('"bako"') + "<tool_c", "several"),
        (call('"bako", "option": "two words"'), "fields"),
        (call('"bako", "why": ""'), "fields"),
        (call('"bako"').replace("option", "Option"), "fields"),
        (call('"bako"').replace('"name"', '"id": 1, "name"'), "fields"),
        (call('"bako"').replace('"choose"', '"pick"'), "value"),
        (call('"bako"').replace('{"option": "bako"}', '"{\\"option\\": \\"bako\\"}"'), "fields"),
        (call("1"), "value"),
        (call('["bako"]'), "value"),
        (call("NaN"), "malformed"),
        (call("'bako'"), "malformed"),
        (call('"bako",'), "malformed"),
        (call('"ba\nko"'), "malformed"),
        (call("[" * 65 + "]" * 65), "large"),
        (call("1" * 5000), "value"),
        (call("1e999999999"), "value"),
        (call('""'), "empty"),
        (call('"stag"'), "unknown"),
        (call('"\\ud800"'), "unknown"),
        (call('"two words"'), "illegal"),
        (f"<think>{call('1')}", "thoughts"),
    ],
)
def test_what_is_no_call(text: str, reason: str) -> None:
    assert read_choice(text, TOOL, ("stag", "rest"), BOOK) == ParseFailure(reason, text)


@pytest.mark.parametrize(
    ("text", "split"),
    [
        ("", (None, "")),
        (" bako ", (None, " bako ")),
        ("<thinking>bako", (None, "<thinking>bako")),
        ("<think>a</think>b", ("a", "b")),
        (" \n<think>\na <b\n</think>\n\nb", ("a <b", "\n\nb")),
        ("<think></think>", ("", "")),
        ("begun in the prompt</think>b", ("begun in the prompt", "b")),
        ("</think>b", ("", "b")),
    ],
)
def test_the_thought_at_the_start_is_split_off(text: str, split: tuple[str | None, str]) -> None:
    assert split_thought(text) == split


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<think>", "unclosed"),
        ("<think>bako", "unclosed"),
        ("<think>bako</thi", "unclosed"),
        ("bako</thi", "unclosed"),
        ("<think>a<think>b</think>c</think>bako", "thoughts"),
        ("<think>a<think>b</think>bako", "thoughts"),
        ("<think>a</think>b</think>bako", "thoughts"),
        ("<think>a</think><think>b</think>bako", "thoughts"),
        ("<think>a</think>bako<think>", "thoughts"),
        ("<think>a</think>bako<thi", "thoughts"),
        ("a<think>b</think>bako", "thoughts"),
        ("bako<think>", "thoughts"),
        ("a</think>b</think>bako", "thoughts"),
        ("<Think>a</Think>bako", "thoughts"),
        ("<think>a</ think>bako</think>two words", "thoughts"),
        ("<think a='1'>a</think>bako", "thoughts"),
    ],
)
def test_a_reply_has_one_thought_at_most(text: str, reason: str) -> None:
    assert split_thought(text) == ParseFailure(reason, text)
    assert read_choice(text, Form("label", 8), ALL, BOOK) == ParseFailure(reason, text)


def test_labels_in_thoughts_are_not_read() -> None:
    for form in (Form("tag", 8), Form("tool", 8)):
        answer = {label: write_choice(label, form) for label in ("bako", "two words")}
        inside = f"{answer['two words']}, or {answer['bako']}?"
        assert read_choice(f"<think>{inside}</think>{answer['bako']}", form, ALL, BOOK) == "stag"
        assert read_choice(f"{inside}</think>{answer['bako']}", form, ALL, BOOK) == "stag"
        text = f"<think>{inside}</think>"
        assert read_choice(text, form, ALL, BOOK) == ParseFailure("missing", text)
        text = f"<think>{answer['bako']}"
        assert read_choice(text, form, ALL, BOOK) == ParseFailure("unclosed", text)


def test_a_label_alone_is_read_as_before() -> None:
    assert instruction(LABEL) == FORM
    for text in ("bako", " bako\n", "", "two words", "stag", "<think></think>bako"):
        assert read_choice(text, LABEL, ("stag",), BOOK) == read_label(text, ("stag",), BOOK)


@given(
    label=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
    | st.sampled_from(["<answer>", "a</answer>", "x</tool_call>", "<think>", "a</", 'q"\\', "{}"]),
    form=st.sampled_from(FORMS),
    thought=st.none() | st.text(max_size=12),
)
def test_what_is_written_is_read(label: str, form: Form, thought: str | None) -> None:
    label = label.strip() or "K"
    book = LabelBook("fixed", (("one", label), ("two", f"{label}2")))
    try:
        reply = write_choice(label, form, thought)
    except ValueError:
        assert "<" in label + (thought or "") or (thought is not None and form.think is None)
        return
    assert can_hold(label, form)
    assert read_choice(reply, form, ("one", "two"), book) == "one"
    assert read_choice(reply, form, ("two",), book) == ParseFailure("illegal", reply)


@pytest.mark.parametrize(
    ("label", "form", "fits"),
    [
        ("</answer>", LABEL, True),
        ("a</answer>", TAG, False),
        ("a</answer>", TOOL, True),
        ("</tool_call>", TOOL, False),
        ("<think>", LABEL, True),
        ("<think>", Form("label", 9), False),
        ("<think>", TAG, False),
    ],
)
def test_a_form_cannot_hold_its_own_parts(label: str, form: Form, fits: bool) -> None:
    assert can_hold(label, form) is fits


def test_instructions_name_no_label_and_show_form() -> None:
    book = LabelBook("fixed", (("stag", "OPTION"),))
    for form in FORMS:
        text = instruction(form)
        for word in re.findall(r"\w+", text):
            for style in STYLES.values():
                letters = zip(word, style.pattern, strict=False)
                spelt = len(word) == len(style.pattern) and all(a in b for a, b in letters)
                assert not spelt, f"{word} is a label of {style.name}"
        if form.kind != "label":
            example = text.partition("this form: ")[2].partition(" Before")[0]
            assert example == write_choice("OPTION", form)
            assert read_choice(example, form, ("stag",), book) == "stag"
        assert ("64" in text) == (form.think is not None)


def test_no_reply_is_too_long_to_be_refused() -> None:
    for form in FORMS:
        for text in ("<" * 100_000, "<think>" * 9_000, "<answer>" * 9_000, "a" * (LONGEST + 1)):
            read = read_choice(text, form, ALL, BOOK)
            assert isinstance(read, ParseFailure)
            assert read.reason in REASONS
