"""Models that think between tags of their own: prompts and tokens have these, and the texts of
replies have `<think>`, as those of every model do."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import gamedsl
from gamedsl.ir.replies import Form
from gamedsl.policies import random_models
from gamedsl.policies.base import Message, Query
from gamedsl.policies.chat import HFTokenizer
from gamedsl.policies.generation import Request
from gamedsl.policies.hf import HFPolicy
from gamedsl.policies.vllm_engine import Pending, VllmEngine
from gamedsl.prompting.replies import ParseFailure, label_in
from gamedsl.thought_syntax import CLOSE, OPEN, Tags
from tests.policies.templates import BRACKETS, CHATML, EMPTY_THOUGHT, OPENED, SEED
from tests.policies.test_thoughts import GAME, folder_of
from tests.writing import write

PAIRS = {BRACKETS: ("[THINK]", "[/THINK]"), SEED: ("<seed:think>", "</seed:think>")}
OWN = pytest.mark.parametrize(
    ("template", "special"),
    [(BRACKETS, False), (BRACKETS, True), (SEED, False), (SEED, True)],
    ids=["brackets", "special brackets", "seed", "special seed"],
)
THINKERS = pytest.mark.parametrize("template", [OPENED, EMPTY_THOUGHT, CHATML])


def chat_of(template: str, special: bool = False) -> HFTokenizer:
    _, wrapped = random_models.build_tiny()
    if special:
        wrapped.add_tokens(list(PAIRS[template]), special_tokens=True)
    wrapped.chat_template = template
    return HFTokenizer(wrapped)


def raw(chat: HFTokenizer, ids: Sequence[int]) -> str:
    """What the tokens spell."""
    return str(chat.wrapped.decode(list(ids)))


def spelled(chat: HFTokenizer, text: str) -> tuple[int, ...]:
    """Tokens as a model draws them: tags as the template has them, all else as plain text."""
    return tuple(chat.wrapped(text, add_special_tokens=False)["input_ids"])


@OWN
def test_prompts_name_the_own_tags(template: str, special: bool, tmp_path: Path) -> None:
    """The messages of a decision, which players of all kinds read, stay as they are."""
    chat, (opening, closing) = chat_of(template, special), PAIRS[template]
    game = gamedsl.load(write(tmp_path, GAME))
    (decision,) = game.env(tokenizer=chat).reset(seed=0).decisions
    messages: Any = decision.messages
    asked = "Before that, think between {} and {}, in at most 4 tokens."
    assert any(asked.format(OPEN, CLOSE) in text for _, text in messages)
    shown = chat.render(messages)
    assert asked.format(opening, closing) in shown
    assert OPEN not in shown
    assert CLOSE not in shown
    assert raw(chat, chat.converse(messages).ids) == shown
    assert raw(chat, chat.encode(Query(messages, ("a",), "x")).prompt) == shown
    assert chat.count(shown) == len(chat.converse(messages).ids)


PIECES = ("<think>", "</think>", "[THINK]", "[/THINK]", "<seed:think>", "</seed:think>", "<thi",
          "nk>", "[TH", "INK]", "x", "<|im_end|>")  # fmt: skip


@OWN
def test_texts_and_tokens_are_translated_exactly(template: str, special: bool) -> None:
    """Whatever a reply spells: its text gives its tokens back, and both have as many tags."""
    chat, own = chat_of(template, special), PAIRS[template]
    ids_of = chat.wrapped.convert_tokens_to_ids(list(own)) if special else ()
    for pieces in product(PIECES, repeat=3):
        text = "".join(pieces)
        ids = chat.ids(text)
        assert chat.text(ids) == text
        found = raw(chat, ids)
        assert [found.count(tag) for tag in own] == [text.count(tag) for tag in (OPEN, CLOSE)]
        assert [found.count(tag) for tag in (OPEN, CLOSE)] == [text.count(tag) for tag in own]
        assert [ids.count(tag) for tag in ids_of] == [text.count(OPEN), text.count(CLOSE)][
            : len(ids_of)
        ]
        assert chat.converse((("user", "?"), ("assistant", text), ("user", "?"))).ids == (
            chat.converse((("user", "?"), ("assistant", ids), ("user", "?"))).ids
        )


@OWN
def test_drawn_tokens_come_back_from_their_text(template: str, special: bool) -> None:
    chat, (opening, closing) = chat_of(template, special), PAIRS[template]
    ids = spelled(chat, f"{opening}a <think> b{closing}\nK")
    text = chat.text(ids)
    assert text == f"<think>a {opening} b</think>\nK"
    assert chat.ids(text) == ids
    assert chat.labels((text,)) == (ids,)
    assert chat.count("<think>a</think>K") == len(spelled(chat, f"{opening}a{closing}K"))
    encoded = chat.encode(Query((("user", "Play."),), (text,), "x"))
    assert encoded.labels == (ids,)


@OWN
@pytest.mark.parametrize(
    ("drawn", "read"),
    [
        ("(a)K", "K"),
        ("(\nB? No.\n)\nK", "K"),
        ("B? No.)K", "K"),
        ("(B <think> B </think> <think>)K", "K"),
        ("K", "K"),
        ("(a", "unclosed"),
        ("(a</think>K", "unclosed"),
        ("(a(b)K", "thoughts"),
        ("(a)(b)K", "thoughts"),
        ("(a)b)K", "thoughts"),
        ("K(a)", "thoughts"),
        ("(a< think >b)K", "thoughts"),
    ],
)
def test_replies_are_read_by_the_own_tags(
    template: str, special: bool, drawn: str, read: str
) -> None:
    """`(` and `)` are the model's tags; `<think>` in its words is a word."""
    chat, (opening, closing) = chat_of(template, special), PAIRS[template]
    text = chat.text(spelled(chat, drawn.replace("(", opening).replace(")", closing)))
    found = label_in(text, Form("label", 64))
    assert (found.reason if isinstance(found, ParseFailure) else found) == read


@OWN
def test_literal_tags_of_games_are_no_thought(template: str, special: bool) -> None:
    chat, (opening, closing) = chat_of(template, special), PAIRS[template]
    text = chat.text(spelled(chat, "<think>a</think>K"))
    assert text == f"{opening}a{closing}K"
    assert label_in(text, Form("label", 64)) == text


@OWN
def test_own_tags_in_a_prompt_stay(template: str, special: bool) -> None:
    """The author of a game may write them for a model; the model's earlier replies are its own."""
    chat, (opening, closing) = chat_of(template, special), PAIRS[template]
    chat.wrapped.chat_template = CHATML  # which strips no thought
    messages: tuple[Message, ...] = (
        ("user", f"Think in {opening}{closing}."), ("assistant", f"<think>a{opening}</think>b"),
        ("user", "<think>"),
    )  # fmt: skip
    shown = chat.render(messages)
    assert f"user\nThink in {opening}{closing}.<" in shown
    assert f"assistant\n{opening}a<think>{closing}b<" in shown
    assert f"user\n{opening}<" in shown
    assert raw(chat, chat.converse(messages).ids) == shown
    drawn = chat.ids(messages[1][1])
    again = chat.converse((messages[0], ("assistant", drawn), messages[2]))
    assert again.extends
    assert raw(chat, again.ids) == shown


@OWN
def test_earlier_thoughts_are_stripped_by_the_template(template: str, special: bool) -> None:
    chat = chat_of(template, special)
    said = ("assistant", "<think>\na\n</think>\nK")
    shown = chat.render((("user", "?"), said, ("user", "!")))
    assert "assistant\n\nK<|im_end|>" in shown


@OWN
def test_thoughts_end_with_the_own_tag(template: str, special: bool, tmp_path: Path) -> None:
    """With the token that completes it; the tag of games in the model's words ends nothing."""
    names = PAIRS[template] if special else ()
    policy = HFPolicy(str(folder_of(template, tmp_path, special=names)))
    chat, (opening, closing) = policy.tokenizer, PAIRS[template]
    request = Request((("user", "?"),), "shared", 64, stop=(CLOSE,), prefix=chat.ids(f"{OPEN}\n"))
    (row,) = policy._writer.decoder.rows(0, [request])
    assert raw(chat, row.prompt).endswith(f"assistant\n{opening}\n")
    drawn = spelled(chat, f"a</think>b{closing}")
    ends = [row.take(token, 0.0) for token in drawn]
    assert ends == [None] * (len(drawn) - 1) + ["stop"]
    reply = row.result("stop")
    assert reply.reply_ids == drawn
    assert reply.text == f"a{closing}b</think>"


@pytest.mark.parametrize("template", [BRACKETS, SEED, OPENED])
def test_vllm_stops_at_the_own_tag(template: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    engine = VllmEngine.__new__(VllmEngine)
    engine._tokenizer, engine._ends = chat_of(template), frozenset()
    engine._vllm = SimpleNamespace(add_request=lambda *_, **__: None)
    engine._adapter = lambda _: None
    parts: dict[str, dict[str, Any]] = {
        "vllm": {"SamplingParams": lambda **given: asked.append(given)},
        "vllm.exceptions": {"VLLMValidationError": ValueError},
        "vllm.inputs": {"tokens_input": list},
        "vllm.sampling_params": {"RequestOutputKind": SimpleNamespace(FINAL_ONLY=0)},
    }
    for name, given in parts.items():
        monkeypatch.setitem(sys.modules, name, SimpleNamespace(**given))
    monkeypatch.setattr("gamedsl.policies.vllm_engine._constraint", lambda *_: None)
    request = Request((("user", "?"),), "shared", 8, stop=(CLOSE,))
    engine._add(Pending("1", 0, request, (1,), 8, ()))
    assert asked[0]["stop"] == [PAIRS.get(template, (OPEN, CLOSE))[1]]
    assert asked[0]["skip_special_tokens"] is False


@THINKERS
def test_think_is_left_as_it_is(template: str) -> None:
    """For models that have `<think>`, and for those that do not think: no text is changed."""
    chat = chat_of(template)
    assert chat.tags == Tags()
    for text in map("".join, product(PIECES[:6], repeat=3)):
        assert raw(chat, chat.ids(text)) == chat.text(chat.ids(text)) == text
        assert chat.tags.in_prompt(text) == chat.tags.in_games(text) == text
    shown = chat.render((("user", "[THINK]<think>[/THINK]"),))
    assert "user\n[THINK]<think>[/THINK]<" in shown


@OWN
def test_begun_thoughts_replace_empty_ones(template: str, special: bool) -> None:
    chat, (opening, _) = chat_of(template, special), PAIRS[template]
    asked = Query((("user", "?"),), ("a",), "x")
    assert chat.ends_in_thought == (template == BRACKETS)
    begun = chat.encode(replace(asked, prefix=chat.ids(f"{OPEN}\n"))).prompt
    assert raw(chat, begun).endswith(f"assistant\n{opening}\n")
    assert raw(chat, begun).count(opening) == 1
