"""Passes: leaks are caught with their evidence, and clean twins stay clean."""

from __future__ import annotations

import pytest

from tests.rendering.games import STAG_HUNT, ULTIMATUM

MASKED = ULTIMATUM + "labels: masked\n"
BY_LET = MASKED.replace("pie - offer", "rest").replace(
    "payoffs:", "let: {rest: pie - offer}\npayoffs:"
)
TRIES = BY_LET.replace("{pie: 10}", "{pie: 10, tries: 10}")


def found(result):
    return [(d.code, d.severity, d.span.text) for d in result.diagnostics]


LEAKS = {
    "a param": (
        MASKED + "rules: 'Two share {{ pie }} coins.'\n",
        MASKED + "rules: 'Two share 10 coins.'\n",
        ("rules → pie → the payoff of `proposer`",),
    ),
    "a let": (
        BY_LET + "rules: 'Two share {{ pie }} coins.'\n",
        TRIES + "rules: 'Two have {{ tries }} tries.'\n",
        ("rules → pie → rest → the payoff of `proposer`",),
    ),
    "a filter": (
        MASKED + "rules: 'Two share {{ pie | string | upper }} coins.'\n",
        MASKED + "rules: 'Two share {{ roles | length | string | upper }} coins.'\n",
        ("rules → pie → the payoff of `proposer`",),
    ),
    "a set": (
        MASKED + "rules: '{% set x = pie * 2 %}{{ x }}'\n",
        MASKED + "rules: '{% set x = 10 * 2 %}{{ x }}'\n",
        ("rules → pie → the payoff of `proposer`",),
    ),
    "a condition": (
        MASKED + "rules: '{% if pie > 3 %}Much.{% endif %}'\n",
        MASKED + "rules: '{% if roles | length > 3 %}Many.{% endif %}'\n",
        ("rules → pie → the payoff of `proposer`",),
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", LEAKS)
def test_payoff_flow_into_prompt_is_reported(check, kind):
    leak, clean, witness = LEAKS[kind]
    result = check(leak)
    assert found(result) == [("GD0521", "error", "pie")]
    assert result.diagnostics[0].witness == witness
    assert check(clean).diagnostics == []


def test_leak_report_shows_its_chain(check):
    text = """
game: chain
roles: [ann, bob]
params: {base: 3, bonus: base + 1}
actions: [up, down]
protocol: simultaneous
let:
  prize: 2 * bonus
  share: prize / 2
payoffs: share if move.ann == move.bob else 0
labels: masked
prompts: {who: "{{ base }}"}
"""
    (problem,) = check(text).diagnostics
    assert [(note.span.line, note.text) for note in problem.notes] == [
        (4, "`base` and `bonus` are computed one from the other"),
        (4, "`bonus` is declared here"),
        (8, "`prize` reads it"),
        (9, "`share` reads `prize`"),
        (10, "the payoff of `ann` reads `share`"),
    ]
    assert problem.witness == ("who → base → bonus → prize → share → the payoff of `ann`",)


MIXING = """
rewards:
  use: mixing
  matrix: [[bonus, 0], [0, 1]]
"""


def test_a_reward_is_a_payoff(check):
    text = STAG_HUNT + "labels: masked\nparams: {bonus: 2}\n" + MIXING
    assert check(text).diagnostics == []
    leak = check(text + "rules: 'Win {{ bonus }}.'\n")
    assert found(leak) == [("GD0521", "error", "bonus")]
    assert leak.diagnostics[0].witness == ("rules → bonus → matrix → the reward",)


def test_payoffs_may_be_told_under_plain_labels(check):
    assert check(ULTIMATUM + "rules: 'Two share {{ pie }}.'\n").diagnostics == []


@pytest.mark.parametrize(
    ("rules", "word"),
    [
        ("The STAG is big.", "STAG"),
        ("Hunter_1 moves.", "Hunter_1"),
        ("hunter 2 moves.", "hunter 2"),
        ("A stag-hunt.", "stag-hunt"),
        ("Play stag  hunt.", "stag  hunt"),
        ("{% if roles | length > 9 %}hare{% endif %}", "hare"),
        ("{{ 'hare' if roles | length > 9 else 'x' }}", "hare"),
    ],
)
def test_name_in_masked_prompt_is_located(check, rules, word):
    text = STAG_HUNT + f'labels: masked\nrules: "{rules}"\n'
    assert found(check(text)) == [("GD0520", "error", word)]
    assert check(text.replace("labels: masked", "")).diagnostics == []


@pytest.mark.parametrize("rules", ["Stags run.", "hunters", "hunter 3", "shared", "player 1", "4"])
def test_other_words_are_no_leak(check, rules):
    assert check(STAG_HUNT + f"labels: masked\nrules: {rules}!\n").diagnostics == []


def test_a_leak_has_the_line_as_witness(check):
    text = STAG_HUNT + "labels: masked\nrules: |\n  One line.\n  Two {{ 's' ~ 'tag' }} lines.\n"
    (problem,) = check(text).diagnostics
    assert problem.witness == ("hunter_1 is told: Two stag lines.",)
    assert problem.span.text.startswith("|")


def test_numbers_and_players_are_no_names(check):
    text = """
game: bids
roles: {player: 2}
turns:
  - {role: all, choose: bid, from: 1..3}
payoffs: bid.me
labels: masked
rules: "Up to 3 by player 1."
"""
    assert check(text).diagnostics == []


def test_every_option_of_the_past_is_rendered(check):
    fails = " {% if offer == labels.high %}{{ 1 / 0 }}{% endif %}"
    text = ULTIMATUM + f"prompts: {{ask: {{answer: '{{{{ options }}}}{fails}'}}}}\n"
    assert [d.code for d in check(text).diagnostics] == ["GD0518"]
    assert check(text.replace("1 / 0", "1 / 2")).diagnostics == []
