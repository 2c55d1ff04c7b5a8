"""Params, types and lets of constants in templates: names by their labels, entries by either."""

from __future__ import annotations

import pytest

from tests.properties.walking import load

GAME = """\
game: atlas
roles: [ann, bob]
{labels}
params:
  roads: [[mill, harbor], [harbor, market]]
  near: {{mill: [harbor], harbor: [mill, market], market: [harbor]}}
  starts: {{ann: mill, bob: market}}
  size: 3
types: {{Town: {{nodes: [mill, harbor, market], edges: roads}}}}
let:
  far: {{mill: [market], market: [mill], harbor: [harbor]}}
turns:
  - {{role: all, choose: to, from: Town}}
payoffs: 1 if to.me in near[to.other] else 0
prompts:
  rules: ""
  who: >-
    {{{{ Town | join(' ') }}}}|{{% for r in roads %}}{{{{ r | join('-') }}}} {{% endfor %}}|
    {{{{- near.harbor | join(' ') }}}}|
    {{%- for t in far %}}{{{{ t }}}}={{{{ far[t] | first }}}} {{% endfor %}}|
    {{%- for r in roles %}}{{{{ r }}}} {{% endfor %}}|
    {{{{- starts.bob }}}}|{{{{ size + 1 }}}}|{{{{ 'yes' if Town[1] in near else 'no' }}}}
"""

PLAIN = (
    "mill harbor market|mill-harbor harbor-market |mill market|mill=market market=mill "
    "harbor=harbor |ann bob |market|4|yes"
)


def who(labels: str) -> tuple[str, dict[str, str]]:
    """The slot `who` of ann's first prompt, and the labels of the episode."""
    episode = load(GAME.format(labels=labels)).env().reset(0)
    decision = episode.decisions[0]
    return str(decision.messages), dict(zip(decision.legal, decision.labels, strict=True))


@pytest.mark.parametrize("labels", ["", "labels: plain"])
def test_plain_constants_are_names(labels: str) -> None:
    assert PLAIN in who(labels)[0]


def test_masked_constants_are_labels() -> None:
    prompt, labels = who("labels: masked")
    told = PLAIN.replace("ann", "player 1").replace("bob", "player 2")
    for name, label in labels.items():
        told = told.replace(name, label)
    assert told in prompt
    assert not any(name in prompt for name in (*labels, "ann", "bob"))


def test_fixed_labels_do_not_confuse_entries() -> None:
    """`mill` is called harbor, and the other way round: an entry is found by the name that is
    written, and by what a label stands for."""
    prompt, _ = who("labels: {mill: harbor, harbor: mill}")
    told = (
        "harbor mill market|harbor-mill mill-market |harbor market|harbor=market market=harbor "
        "mill=mill |ann bob |market|4|yes"
    )
    assert told in prompt
