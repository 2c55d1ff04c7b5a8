"""The page of results: sections say how figures were made, and timings are the committed ones."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
PAGE = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
TEXT = re.sub(r"\s+", " ", PAGE)
SECTIONS = [
    part
    for part in re.split(r"^##+ ", PAGE, flags=re.MULTILINE)[1:]
    if re.search(r"\d", part.partition("\n")[2])
]
ENV_PEERS = {
    "OpenSpiel, C++": "OpenSpiel (C++)", "OpenSpiel, Python": "OpenSpiel (Python)",
    "PettingZoo": "PettingZoo", "TextArena": "TextArena",
}  # fmt: skip
"""Columns of the table of environments, by what the results call each peer."""


def result(name: str) -> Any:
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def two(value: float) -> str:
    """Two significant digits."""
    return f"{float(f'{value:.2g}'):g}"


@pytest.mark.parametrize("section", SECTIONS, ids=lambda part: part.partition("\n")[0])
def test_section_says_how_figures_were_made(section: str) -> None:
    commands = re.findall(r"python (benchmarks/\w+\.py)", section)
    assert commands
    assert all((ROOT / command).is_file() for command in commands)
    assert re.search(r"\*\*Seeds:\*\*|\*\*Runs:\*\*|\(\[result\]", section)
    assert "**Not shown:**" in section or "### " in section


def test_every_result_file_linked_exists() -> None:
    linked = re.findall(r"\]\(\.\./(benchmarks/[^)]+)\)", PAGE)
    assert len(linked) > 10
    assert [path for path in linked if not (ROOT / path).is_file()] == []


def test_environment_ratios() -> None:
    table = re.search(r"^\| game \| ours \|.*\n(?:\|.*\n)+", PAGE, re.MULTILINE)[0]
    head, _, *rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()
    ]
    assert head[2:] == list(ENV_PEERS)
    for game, ours, *shown in rows:
        found = result("env")["games"][game.strip("`")]
        kind, _, backend = ours.partition(", ")
        mine = f"{backend} {kind}, seen"
        known = {one["peer"]: one["ratio"] for one in found["targets"] if one["ours"] == mine}
        speeds = {name: one["steps_per_second"] for name, one in found["players"].items()}
        for column, cell in zip(ENV_PEERS.values(), shown, strict=True):
            peer = f"{column}, seen"
            ratio = known.get(peer, speeds[mine] / speeds[peer] if peer in speeds else None)
            assert cell == ("" if ratio is None else two(ratio)), (game, column)


def turns(rate: float) -> str:
    """A rate of turns, whole from ten on."""
    return f"{rate:,.0f}" if rate >= 10 else two(rate)


def test_rates_in_loops_of_peers() -> None:
    table = re.search(r"^\| environment \| turns.*\n\|.*\n((?:\|.*\n)+)", PAGE, re.MULTILINE)[1]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    libraries = result("peers")["libraries"]
    for name, (head, *shown), one in zip(libraries, rows, libraries.values(), strict=True):
        assert head.partition(",")[0].lower() in name.replace("_", "")
        theirs, ours = one["theirs"], one["ours"]
        rates = [side["turns_per_second"] for side in (theirs, ours)]
        lines = [str(side["lines"]) for side in (theirs, ours)]
        assert shown == [*map(turns, rates), two(rates[1] / rates[0]), *lines]


def test_training_steps_beside_trl() -> None:
    table = re.search(r"^\| game \| completions.*\n\|.*\n((?:\|.*\n)+)", PAGE, re.MULTILINE)[1]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    games = result("train_step")["games"]
    guide = (ROOT / "docs" / "coming-from" / "trl.md").read_text(encoding="utf-8")
    assert [row[0].strip("`") for row in rows] == list(games)
    for row, one in zip(rows, games.values(), strict=True):
        ours, theirs = one["ours"], one["peer"]
        assert len(theirs["seconds"]) >= 3
        assert abs(ours["completions"] / theirs["completions"] - 1) < 0.1
        assert row[1:] == [
            f"{ours['completions']:.0f}, {theirs['completions']}",
            f"{ours['tokens']:,.0f}",
            two(ours["cpu_median"]),
            two(theirs["cpu_median"]),
            two(one["cpu_ratio"]),
            two(ours["cpu_median"] / one["floor_seconds"]),
        ]
        assert one["cpu_ratio"] == theirs["cpu_median"] / ours["cpu_median"]
        assert two(one["cpu_ratio"]) in guide
    growth = [one["growth"] for one in games.values() if "growth" in one]
    assert f"took {two(min(growth))} to {two(max(growth))} times as long" in TEXT


def test_other_timings() -> None:
    solve, hexes = result("solve"), result("hex")["boards"]
    told = {one["what"]: one for one in solve["games"]["leduc_poker"]["results"]}
    tokens, turns = result("rollout_tokens")["tokens"], result("rollout_turns")["turns"]["ratios"]
    starts = result("train_start")["starts"]
    kinds = ("warm", "uncompiled")
    warm, uncompiled = (starts[f"trade_comm, tiny, {kind}"] for kind in kinds)
    for words in (
        f"CFR+ on Leduc takes {1000 * told['CFR+, sequences']['ours']:.2f} ms an iteration",
        f"makes {hexes['11x11']['ratios']['generated']:.2f} times as many plays",
        f"ratios are {hexes['5x5']['ratios']['generated']:.2f} and "
        f"{hexes['7x7']['ratios']['generated']:.2f}",
        f"takes {warm['ratios']['cpu to the limit']:.1f} times that CPU time",
        f"takes {max(uncompiled['sides']['train']['cpu']):.1f} CPU seconds there, where it took "
        f"{max(uncompiled['sides']['before']['cpu']):.1f}",
        f"makes {turns['TextArena']:.1f} times the turns",
        f"| of one length, nothing shared | {tokens['nothing shared, one length']['ratio']:.2f} |",
        f"| of different lengths, nothing shared | {tokens['nothing shared']['ratio']:.2f} |",
        f"with eight replies to each | {tokens['shared']['ratio']:.1f} |",
    ):
        assert words in TEXT, words
    assert abs(told["CFR+, sequences"]["ratio"] - 100) < 5
    assert abs(told["NashConv"]["ratio"] - 79) < 1
    assert abs(turns["verifiers"] - 100_000) < 5_000


@pytest.mark.parametrize(("column", "name"), [(1, "leduc-sampled-0"), (2, "leduc-tree-0")])
def test_exploitability_of_leduc(column: int, name: str) -> None:
    made = result(f"methods/{name}")
    by_step = {step["step"]: step["exploitability"] for step in made["steps"]}
    by_step[0] = made["start"]["exploitability"]
    table = re.search(r"^\| step \|.*\n\|.*\n((?:\|.*\n)+)", PAGE, re.MULTILINE)[1]
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        step = 0 if cells[0] == "uniform play" else int(cells[0])
        assert cells[column] == (f"{by_step[step]:.3f}" if step in by_step else ""), line
