"""Lists of texts in prompts and in what seats know."""

from __future__ import annotations

from pathlib import Path

import pytest

import gamedsl
from gamedsl.ir.types import List, Text
from gamedsl.ir.value_names import observed_name, value_of
from gamedsl.prompting.value_text import texts_in_words

GAME = """\
game: notes
roles: [ann, bob]
state: {notes: {list: text(20), at_most: 2}}
turns:
  - repeat: 2
    turns:
      - {role: ann, say: note, read: text(20)}
      - do: add note to notes
  - {show: notes, as: told}
  - {role: bob, choose: pick, from: [one, two]}
payoffs: 0
on_invalid: {then: forfeit, pay: -1}
"""


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        ((), "nothing"),
        (("red",), "red"),
        (("red", "sky blue", None), "red, sky blue and nothing"),
        (("a, b", "c"), '"a, b" and "c"'),
        (("salt and pepper", "c", "d"), '"salt and pepper", "c" and "d"'),
        (('say "x"', "two\nlines"), '"say \\"x\\"" and "two\\nlines"'),
    ],
)
def test_texts_are_told_as_a_list_in_words(texts: tuple[str, ...], told: str) -> None:
    assert texts_in_words(texts) == told


@pytest.mark.parametrize("texts", [(), ("a,b", "c"), ("a", "b,c"), ("[", '"')])
def test_lists_of_texts_have_own_names(texts: tuple[str, ...]) -> None:
    kind = List(Text())
    assert value_of(observed_name(texts, kind), kind, ()) == texts


def test_prompts_tell_the_texts_apart(tmp_path: Path) -> None:
    path = tmp_path / "notes.yaml"
    template = 'prompts: {seen: {told: "First {{ choice[0] }}, then {{ choice[1] }}."}}\n'
    prompts = []
    for more in ("", template):
        path.write_text(GAME + more, encoding="utf-8")
        env = gamedsl.load(path).env()
        for said in (("a, b", "c"), ("a", "b, c")):
            episode = env.reset(0)
            for reply in said:
                episode.step({"ann": reply})
            prompts.append(episode.decisions[0].messages[-1][1])
    assert 'told: "a, b" and "c"' in prompts[0]
    assert 'told: "a" and "b, c"' in prompts[1]
    assert "First a, b, then c." in prompts[2]
    assert "First a, then b, c." in prompts[3]
