"""The fix of a leak can be pasted in the place that it means: then nothing leaks."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from gamedsl.compiler import compile_file
from gamedsl.diagnostics import Diagnostic
from gamedsl.diagnostics.fixes import apply_edits
from tests.faults.corpus import Fault, checked, faults, write

CODES = (*(f"GD044{number}" for number in range(8)), "GD0508")
FAULTS = tuple(fault for fault in faults() if fault.code in CODES)

STEP = re.compile(r"read `([^`]+)` instead(?: of `[^`]+`)?: `- (\{show: .+?\})`")

SECRET = "let it depend on what all can see, or "

Said = Callable[[Fault], list[Diagnostic]]


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Said:
    """Returns the compiler's report of a broken game, which is compiled once."""
    known: dict[str, list[Diagnostic]] = {}

    def of(fault: Fault) -> list[Diagnostic]:
        if fault.id not in known:
            folder = tmp_path_factory.mktemp("broken")
            found = checked(fault, fault.broken(), folder).diagnostics
            known[fault.id] = [d for d in found if d.code == fault.code]
        return known[fault.id]

    return of


@pytest.mark.parametrize("fault", [pytest.param(fault, id=fault.id) for fault in FAULTS])
def test_the_step_can_be_pasted(fault: Fault, said: Said, tmp_path: Path) -> None:
    """All steps that are said of one game at once; one that tells all a secret has no edit."""
    shown = [d for d in said(fault) if "{show:" in d.help]
    problems = [d for d in shown if d.edits]
    assert all(d.edits or (d.help.startswith(SECRET) and "all}`" in d.help) for d in shown)
    if not problems:
        pytest.skip("the remedy is given in words")
    texts = fault.broken()
    name = next(iter(texts))
    text = texts[name]
    text = apply_edits(text, dict.fromkeys(edit for d in problems for edit in d.edits))
    left = checked(fault, {**texts, name: text}, tmp_path).diagnostics
    wrong = [d for d in left if d.code in CODES or d.code[:4] in ("GD01", "GD03")]
    assert not wrong, f"{wrong}\n{text}"


def test_most_have_a_step(said: Said) -> None:
    """Of a help in words nothing is tried above."""
    assert sum(any(STEP.search(d.help) for d in said(f)) for f in FAULTS) > len(FAULTS) // 2


@pytest.mark.parametrize("fault", [pytest.param(fault, id=fault.id) for fault in FAULTS])
def test_headline_and_witness_are_of_one_seat(fault: Fault, said: Said) -> None:
    for problem in said(fault):
        for seat in re.findall("by then (`.+?`) has seen", "\n".join(problem.witness)):
            assert seat in problem.message or problem.message.startswith("all ")


def test_the_witness_tells_what_differs(said: Said) -> None:
    """Who throws a 1 is shown the number before it is asked: nobody is passed over."""
    (problem,) = said(next(f for f in FAULTS if f.name == "peek_by_the_other_die"))
    assert problem.witness[-1].endswith(": it is asked for guess / it sees number=1")


HEAD = "game: told\nroles: [ann, bob]\n"
TELLS = {
    "one seat": (
        "turns:\n  - {draw: die, per: role, from: 1..3, seen_by: owner}\n"
        "  - {role: bob, choose: call, from: [u, v]}\n"
        "  - {role: ann, choose: move, from: [u, v], if: die.other > 1, seen_by: owner}\n",
        "die.other > 1", "known_die",
        '{show: "die.bob > 1", as: known_die, seen_by: ann}',
    ),
    "a let, in a pass": (
        "let: {strong: die.me > 2}\n"
        "turns:\n  - {draw: die, per: role, from: 1..3, seen_by: others}\n"
        "  - each: roles\n    turns:\n      - {choose: move, from: [u, v], if: strong}\n",
        "if: strong", "if: known_die", "{show: strong, as: known_die, seen_by: all}",
    ),
    "all six, that are alike": (
        "turns:\n  - {draw: die, per: role, from: 1..3, seen_by: owner}\n"
        "  - {each: roles, choose: move, from: [u, v], if: max(die) > 1}\n",
        "max(die) > 1", "known_die",
        '{show: "max(die) > 1", as: known_die, seen_by: all}',
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TELLS)
def test_who_is_told(name: str, tmp_path: Path) -> None:
    turns, old, new, step = TELLS[name]
    head = HEAD.replace("[ann, bob]", "{p: 6}") if "six" in name else HEAD
    path = write({"told.yaml": f"{head}{turns}payoffs: 0\n"}, tmp_path)
    (leak,) = [d for d in compile_file(path).diagnostics if d.code == "GD0440"]
    assert f"`- {step}`" in leak.help
    *before, last = turns.replace(old, new).splitlines()
    indent = " " * (len(last) - len(last.lstrip()))
    pasted = "\n".join((*before, f"{indent}- {step}", last))
    assert apply_edits(leak.span.source.text, leak.edits) == f"{head}{pasted}\npayoffs: 0\n"
    path = write({"told.yaml": f"{head}{pasted}\npayoffs: 0\n"}, tmp_path)
    assert [d for d in compile_file(path).diagnostics if d.severity == "error"] == []


HEAD = "game: case\nroles: [ann, bob]\ntypes: {Coin: [heads, tails]}\n"
DEALT = "  - {deal: coin, from: Coin, seen_by: owner}\n"
DRAWN = (
    "  - {draw: coin, from: Coin, seen_by: ann}\n  - {role: ann, choose: idle, from: [on, off]}\n"
)

CHAINS = {
    "one's own in the options of all": DEALT
    + '  - {role: all, choose: guess, from: "[c for c in Coin if c != coin.ann]"}\n',
    "the other's in the options of all": DEALT
    + '  - {role: all, choose: guess, from: "[c for c in Coin if c != coin.other]"}\n',
    "the other's in a condition": DEALT
    + "  - {role: all, choose: guess, from: Coin, if: coin.other == heads}\n",
    "in turn": DEALT + "  - {each: cycle(roles), at_most: 3, choose: guess, "
    'from: "[c for c in Coin if c != coin.other]"}\n',
    "under a hidden condition": DRAWN + "  - {role: ann, choose: tell, from: [yea, nay], "
    "seen_by: ann}\n  - {role: bob, choose: guess, "
    'from: "[c for c in Coin if c != coin]", if: tell == yea}\n',
    "drawn in a loop": "  - {role: ann, choose: idle, from: [on, off]}\n  - repeat: 2\n"
    "    turns:\n      - {draw: coin, from: Coin, seen_by: ann}\n"
    '      - {role: bob, choose: guess, from: "[c for c in Coin if c != coin]"}\n',
}
"""Steps with a leak, of which each fix is pasted in turn."""


@pytest.mark.parametrize("steps", CHAINS.values(), ids=CHAINS)
def test_fixes_come_to_an_end(steps: str, tmp_path: Path) -> None:
    """A step that tells a value tells it to all who read it, so that its name leaks to nobody."""
    path, text = tmp_path / "case.yaml", f"{HEAD}turns:\n{steps}payoffs: 0\n"
    for _ in range(3):
        path.write_text(text, encoding="utf-8")
        leaks = [d for d in compile_file(path).diagnostics if d.code in CODES]
        if not leaks:
            break
        if leaks[0].help.startswith(SECRET):
            assert not leaks[0].edits, "a secret is told to everybody by an edit"
            return
        text = apply_edits(text, leaks[0].edits)
    assert not leaks, text
    assert "{show: " in text or "coin.me" in text
