"""Templates of models that think: an answer is never scored inside a thought, no thought is opened
twice, and forms that are not followed are refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

import gamedsl
from gamedsl.players.model_replies import Asked, replies
from gamedsl.policies import models, random_models
from gamedsl.policies.base import Message, Query
from gamedsl.policies.chat import HFTokenizer
from gamedsl.policies.errors import ModelError
from gamedsl.policies.generation import TokenRow
from gamedsl.policies.hf import HFPolicy
from gamedsl.policies.thoughts import PromptEnd, prompt_end
from gamedsl.runtime import Decision
from tests.policies.templates import (
    BRACKETS,
    CHANNELS,
    CHATML,
    EMPTY_THOUGHT,
    OPENED,
    SEED,
    THINKING,
    tokenizer,
)
from tests.writing import write

CHAT: tuple[Message, ...] = (("user", "Play."),)
QUERY = Query(CHAT, ("stag", "hare"), "shared")
SWITCHED = OPENED.replace(
    "<think>\n", "<think>\n{% if enable_thinking is false %}{{ '\n</think>\n\n' }}{% endif %}"
)
CLOSED_ALONE = OPENED.replace("assistant\n<think>\n", "assistant\n</think>")
ENDS = {
    OPENED: "<think>\n\n</think>\n\n",
    SWITCHED: "<think>\n\n</think>\n\n",
    EMPTY_THOUGHT: "<think>\n\n</think>\n\n",
    CLOSED_ALONE: "</think>",
    BRACKETS: "[THINK][/THINK]",
    THINKING: "",
    CHATML: "",
}
NAMES = ["opened", "switched", "empty", "closed-alone", "brackets", "thinking", "chatml"]


def read(chat: HFTokenizer, ids: tuple[int, ...]) -> str:
    return str(chat.wrapped.decode(list(ids)))


def folder_of(template: str, path: Path, *, special: tuple[str, ...] = ()) -> Path:
    """Writes `tiny` with this chat template and these special tokens."""
    model, wrapped = random_models.build_tiny()
    wrapped.add_tokens(list(special), special_tokens=True)
    wrapped.chat_template = template
    model.resize_token_embeddings(len(wrapped), mean_resizing=False)
    model.save_pretrained(path)
    wrapped.save_pretrained(path)
    return path


@pytest.mark.parametrize(("template", "end"), ENDS.items(), ids=NAMES)
def test_prompts_end_after_the_thought(template: str, end: str) -> None:
    chat = tokenizer(template)
    asked = read(chat, chat.encode(QUERY).prompt)
    assert asked.endswith(f"<|im_start|>assistant\n{end}")
    assert asked == chat.render(CHAT) == read(chat, chat.converse(CHAT).ids)
    assert chat.ends_in_thought == bool(end)


@pytest.mark.parametrize("template", ENDS, ids=NAMES)
def test_a_begun_thought_is_opened_once(template: str) -> None:
    chat = tokenizer(template)
    begun = chat.encode(replace(QUERY, prefix=chat.ids("<think>\n"))).prompt
    own = chat.tags.opening
    assert read(chat, begun).endswith(f"Play.<|im_end|>\n<|im_start|>assistant\n{own}\n")


@pytest.mark.parametrize(
    ("silent", "thinking", "end"),
    [
        ("a<think>", "a<think>", PromptEnd("<think>", "</think>", "<think></think>")),
        ("a<think></think>", "a", PromptEnd(thought="<think></think>")),
        ("a<|x>thought<x|>", "a", PromptEnd(thought="<|x>thought<x|>")),
        ("<seed:think>\n", "", PromptEnd(
            "<seed:think>\n", "\n</seed:think>\n\n", "<seed:think>\n\n</seed:think>\n\n"
        )),
        ("I think.\n", "I think.\n", PromptEnd()),
        ("[INST]u[/INST]", "[INST]u[/INST]", PromptEnd()),
    ],
)  # fmt: skip
def test_ends_of_prompts(silent: str, thinking: str, end: PromptEnd) -> None:
    assert prompt_end(silent, thinking) == end


def test_tags_may_be_special_tokens() -> None:
    """As ordinary tokens, whoever writes them: a thought that is begun has the tag's own id."""
    _, wrapped = random_models.build_tiny()
    wrapped.add_tokens(["<think>", "</think>"], special_tokens=True)
    wrapped.chat_template = OPENED
    chat = HFTokenizer(wrapped)
    opening, closing = map(wrapped.convert_tokens_to_ids, ("<think>", "</think>"))
    assert chat.ids("<think>\n")[0] == opening
    begun = chat.encode(replace(QUERY, prefix=chat.ids("<think>\n"))).prompt
    assert (begun.count(opening), begun.count(closing)) == (1, 0)
    asked = chat.encode(QUERY).prompt
    assert (asked.count(opening), asked.count(closing)) == (1, 1)
    mixed = chat.converse((("user", "<think><|im_end|>"),)).ids
    assert mixed.count(opening) == 2
    assert read(chat, mixed) == chat.render((("user", "<think><|im_end|>"),))


@pytest.mark.parametrize(
    ("template", "special"),
    [(OPENED, ()), (EMPTY_THOUGHT, ()), (BRACKETS, ("[THINK]", "[/THINK]"))],
    ids=["opened", "empty", "brackets"],
)
def test_labels_are_scored_after_the_thought(
    template: str, special: tuple[str, ...], tmp_path: Path
) -> None:
    """Against log-probabilities of the tokens of a text that is written out here."""
    policy = HFPolicy(str(folder_of(template, tmp_path, special=special)))
    encode = policy.tokenizer.wrapped
    text = f"<|im_start|>user\nPlay.<|im_end|>\n<|im_start|>assistant\n{ENDS[template]}"
    prompt = tuple(encode(text, add_special_tokens=False)["input_ids"])
    scores = []
    for label in QUERY.labels:
        ids = (*prompt, *encode(label, add_special_tokens=False)["input_ids"])
        (log_p,) = policy.token_log_probs([TokenRow("shared", ids, ((len(prompt), len(ids)),))])
        scores.append(log_p.sum())
    torch.testing.assert_close(
        policy.log_probs([QUERY])[0], torch.stack(scores).log_softmax(0), atol=5e-4, rtol=0
    )


GAME = """
game: pick
roles: [picker]
turns: [{role: picker, choose: card, from: [ace, king]}]
payoffs: 1
respond: {form: label, think: 4, at_limit: close}
"""


def asked_in(folder: Path) -> Decision:
    return gamedsl.load(write(folder, GAME)).env().reset(seed=0).decisions[0]


OWN = {OPENED: "<think>", EMPTY_THOUGHT: "<think>", BRACKETS: "[THINK]", SEED: "<seed:think>"}
"""The tag that opens a thought, in the model's own form."""


@pytest.mark.parametrize(
    ("template", "tag"), OWN.items(), ids=["opened", "empty", "brackets", "seed"]
)
def test_thoughts_go_on_in_the_opened_tag(template: str, tag: str, tmp_path: Path) -> None:
    """In the model's own tags, which are `<think>` in the text of the reply."""
    policy = HFPolicy(str(folder_of(template, tmp_path)))
    decision = asked_in(tmp_path)
    (reply,) = replies(policy, [Asked(decision, "shared", 1)], 1)
    assert reply.written is not None
    assert reply.choice is not None
    prompt = read(policy.tokenizer, reply.written.prompt_ids)
    assert prompt.endswith(f"<|im_start|>assistant\n{tag}\n")
    scored = read(policy.tokenizer, policy.encode(reply.choice.query).prompt)
    drawn = policy.tokenizer.text(reply.written.reply_ids)
    assert scored == f"{prompt}{drawn}\n{tag[0]}/{tag[1:]}\n"
    assert reply.text.startswith(f"<think>\n{drawn}")


@pytest.mark.parametrize(
    ("template", "own"),
    [(OPENED, True), (EMPTY_THOUGHT, True), (BRACKETS, True), (SEED, False), (CHATML, False)],
    ids=["opened", "empty", "brackets", "seed", "chatml"],
)
def test_free_thoughts_go_on_in_the_opened_tag(template: str, own: bool, tmp_path: Path) -> None:
    """The text of the reply has the tag, its tokens do not; a label in an unclosed thought is no
    answer."""
    policy = HFPolicy(str(folder_of(template, tmp_path)))
    decision = asked_in(tmp_path)
    (reply,) = replies(policy, [Asked(decision, "shared", 1)], 1, free=True)
    assert reply.written is not None
    prompt = read(policy.tokenizer, reply.written.prompt_ids)
    assert prompt.endswith("<|im_start|>assistant\n" + f"{OWN.get(template)}\n" * own)
    drawn = policy.tokenizer.text(reply.written.reply_ids)
    assert reply.text == "<think>\n" * own + drawn


def test_replies_of_channels_are_refused(tmp_path: Path) -> None:
    """Unless the prompts go on to where a reply begins."""
    special = ("<|channel|>", "<|message|>")
    folder = folder_of(CHANNELS, tmp_path / "gpt", special=special)
    with pytest.raises(ModelError, match=r"'<\|channel\|>final<\|message\|>' before each reply"):
        models.load(str(folder))
    mended = CHANNELS.replace(
        "%}<|im_start|>assistant{", "%}<|im_start|>assistant<|channel|>final<|message|>{"
    )
    assert mended != CHANNELS
    models.load(str(folder_of(mended, tmp_path / "mended", special=special)))


def test_opened_thoughts_of_unknown_form_are_refused(tmp_path: Path) -> None:
    opened = OPENED.replace("<think>\n{%", "<|START_THINKING|>{%")
    with pytest.raises(ModelError, match=r"`<\|START_THINKING\|>` opens"):
        models.load(str(folder_of(opened, tmp_path / "opened")))
    closed = opened.replace("<|START_THINKING|>{%", "<|START_THINKING|><|END_THINKING|>{%")
    models.load(str(folder_of(closed, tmp_path / "closed")))


HALF = CHATML + "{# [THINK] #}"
TWO = CHATML + "{# <thought></thought> <reasoning></reasoning> #}"
BESIDE = OPENED + "{# <thought></thought> #}"
CONTROL = CHATML + "{# <|START_THINKING|> #}"


@pytest.mark.parametrize(
    ("template", "special", "opening", "told"),
    [
        (BRACKETS, (), "[THINK]", ()),
        (BRACKETS, ("[THINK]", "[/THINK]"), "[THINK]", ()),
        (HALF, ("[/THINK]",), "[THINK]", ()),
        (SEED, (), "<seed:think>", ()),
        (OPENED, (), "<think>", ()),
        (EMPTY_THOUGHT, (), "<think>", ()),
        (CHATML, (), "<think>", ()),
        (CHATML, ("[THINK]", "[/THINK]"), "<think>", ("[THINK]",)),
        (HALF, (), "<think>", ("[THINK]",)),
        (TWO, (), "<think>", ("<thought>",)),
        (BESIDE, (), "<think>", ("<thought>",)),
        (BRACKETS, ("<think>",), "<think>", ("[THINK]",)),
        (CONTROL, (), "<think>", ("<|START_THINKING|>",)),
        (BRACKETS + CONTROL.removeprefix(CHATML), (), "<think>", ("[THINK]",)),
    ],
)
def test_a_pair_of_tags_is_known_or_told(
    template: str, special: tuple[str, ...], opening: str, told: tuple[str, ...], tmp_path: Path
) -> None:
    """A pair is the model's own where the template names it, and no other tag leaves a doubt."""
    lines: list[str] = []
    loaded = models.load(str(folder_of(template, tmp_path, special=special)), notify=lines.append)
    tags = HFTokenizer(loaded.tokenizer).tags
    assert (tags.opening, tags.closing) == (opening, f"{opening[0]}/{opening[1:]}")
    found = [line for line in lines if "thoughts of its own form" in line]
    assert [line.partition("`")[2].partition("`")[0] for line in found] == list(told)
