"""Secret teams: readers and actors that depend on a secret which exactly those seats know."""

from __future__ import annotations

from pathlib import Path

import pytest

import gamedsl
from gamedsl.analysis.infoflow.walk import visibilities_of
from gamedsl.compiler import compile_file
from gamedsl.diagnostics.fixes import apply_edits
from gamedsl.ir.program import Show
from gamedsl.view.game.sight import visibility_rows
from tests.properties.information import Witness

HEAD = """\
game: teams
roles: {player: 4}
types: {Part: [wolf, seer, villager]}
state: {living: {set: role, start: roles}, noise: 0}
turns:
  - {deal: part, from: "[wolf, wolf, seer, villager]", seen_by: owner}
"""
TAIL = """\
  - {role: all, choose: last, from: [x, y]}
let:
  pack: "[r for r in roles if part[r] == wolf]"
  hunters: "[r for r in living if r in pack]"
payoffs: 1 if last.me == x else 0
"""
TOLD = "  - {show: pack, as: fellows, seen_by: pack}\n"

SOUND = {
    "a guard and its readers":
        "{role: all, choose: howl, from: [a, b], if: part.me == wolf, seen_by: part.me == wolf}",
    "a computed team": "{role: pack, choose: howl, from: [a, b], seen_by: pack}",
    "one after another": "{each: pack, choose: howl, from: [a, b], seen_by: pack}",
    "those of the team that live": "{role: hunters, choose: howl, from: [a, b], seen_by: pack}",
    "options that leave out fellows":
        '{role: pack, choose: prey, from: "[r for r in roles if r not in pack]", seen_by: pack}',
    "their number decides":
        "{role: pack, choose: howl, from: [a, b], seen_by: pack, if: size(hunters) > 1}",
    "shown to the team": '{show: "[part[r] for r in pack]", as: again, seen_by: pack}',
    "branches of one's own part":
        '{role: all, choose: move, from: "pack if part.me == wolf else [me]", seen_by: owner}',
}  # fmt: skip

LEAKS = {
    "GD0442": [
        "{role: pack, choose: howl, from: [a, b]}",
        "{role: pack, choose: howl, from: [a, b], seen_by: [player_1, player_2]}",
        "{show: size(pack), as: many, if: player_1 in pack}",
        "{role: all, choose: howl, from: [a, b], if: part.me == seer, seen_by: pack}",
    ],
    "GD0441": ["{do: noise += 1, if: player_1 in pack}"],
    "GD0440": [
        '{role: all, choose: prey, from: "[r for r in roles if r not in pack]", seen_by: owner}',
        '{role: pack, choose: prey, from: "[r for r in roles if part[r] == seer]", seen_by: pack}',
    ],
}


def load(folder: Path, text: str) -> gamedsl.Game:
    path = folder / "teams.yaml"
    path.write_text(text, encoding="utf-8")
    return gamedsl.load(path)


def codes(folder: Path, text: str) -> set[str]:
    with pytest.raises(gamedsl.CompileError) as refused:
        load(folder, text)
    return {problem.code for problem in refused.value.diagnostics}


@pytest.mark.parametrize("step", SOUND.values(), ids=SOUND.keys())
def test_team_speaks_to_itself(step: str, tmp_path: Path) -> None:
    game = load(tmp_path, f"{HEAD}{TOLD}  - {step}\n{TAIL}")
    witness = Witness(game.ir)
    witness.tree(3_000)
    assert witness.repeated > 10


@pytest.mark.parametrize(
    ("code", "step"), [(code, step) for code, steps in LEAKS.items() for step in steps]
)
def test_others_would_learn_of_the_team(code: str, step: str, tmp_path: Path) -> None:
    assert code in codes(tmp_path, f"{HEAD}{TOLD}  - {step}\n{TAIL}")


def test_team_that_was_not_told_itself(tmp_path: Path) -> None:
    step = "  - {role: pack, choose: howl, from: [a, b], seen_by: pack}\n"
    assert "GD0442" in codes(tmp_path, HEAD + step + TAIL)


def test_team_that_changes_is_no_case(tmp_path: Path) -> None:
    """Who has become a wolf was not told what the wolves were told before."""
    text = """\
game: bitten
roles: {player: 3}
state: {bad: {per: role, start: false, seen_by: owner}}
turns:
  - {draw: coin, per: role, from: [0, 1], seen_by: owner}
  - {each: roles, do: "bad.me = coin.me == 1"}
  - repeat: 2
    turns:
      - {show: "[r for r in roles if bad[r]]", as: gang, seen_by: bad.me}
      - {role: all, choose: plan, from: [a, b], if: bad.me, seen_by: bad.me}
      - {role: all, choose: bite, from: [yes, no], seen_by: owner}
      - {each: roles, do: "bad.me = bite.me == yes"}
payoffs: 0
"""
    assert "GD0442" in codes(tmp_path, text)
    fixed = text.replace('      - {each: roles, do: "bad.me = bite.me == yes"}\n', "")
    assert load(tmp_path, fixed).ir.name == "bitten"


def test_drawn_set_names_its_readers(tmp_path: Path) -> None:
    text = """\
game: picked
roles: {player: 4}
turns:
  - {draw: pack, from: 2 of roles, seen_by: pack}
  - {role: pack, choose: prey, from: "[r for r in roles if r not in pack]", seen_by: pack}
  - {role: all, choose: vote, from: others}
payoffs: 0
"""
    game = load(tmp_path, text)
    witness = Witness(game.ir)
    assert witness.tree(4_000) > 1_000
    episode = game.env().reset(chance="asked")
    episode.draw(0)
    assert {decision.seat for decision in episode.decisions} == {"player_1", "player_2"}
    episode.step({"player_1": "player_3", "player_2": "player_4"})
    assert episode.information("player_3") == "player_3"
    assert "player_2.prey=player_4" in episode.information("player_1")
    guarded = text.replace("seen_by: pack}", "seen_by: pack, if: coin == 1}", 1).replace(
        "turns:\n", "turns:\n  - {draw: coin, from: [0, 1], seen_by: nobody}\n"
    )
    assert "GD0443" in codes(tmp_path, guarded)


def test_cases_tell_what_each_seat_reads(tmp_path: Path) -> None:
    game = load(tmp_path, f"{HEAD}{TOLD}  - {SOUND['a computed team']}\n{TAIL}")
    found = visibilities_of(game.ir)
    assert found.cases.count == 2
    wolves, others = (
        found.variables["fellows"].readers & 15,
        found.variables["fellows"].readers >> 4,
    )
    assert {wolves, others} == {0, 15}
    certain = found.certain("fellows")
    assert certain is not None
    assert certain.all == 0


def test_table_of_who_sees_what_tells_of_teams(tmp_path: Path) -> None:
    game = load(tmp_path, f"{HEAD}{TOLD}  - {SOUND['a computed team']}\n{TAIL}")
    rows = {row.name: row for row in visibility_rows(game.ir)}
    assert {glance.sees for glance in rows["howl"].glances} == {"some"}
    assert {glance.note for glance in rows["fellows"].glances} == {"if its own secret says so"}
    assert {glance.sees for glance in rows["last"].glances} == {"all"}


def test_prompts_of_others_say_nothing_of_the_team(tmp_path: Path) -> None:
    game = load(tmp_path, f"{HEAD}{TOLD}  - {SOUND['a computed team']}\n{TAIL}")
    for seed in range(20):
        episode = game.env().reset(seed=seed)
        team = {decision.seat for decision in episode.decisions}
        assert len(team) == 2
        episode.step(dict.fromkeys(team, "a"))
        for decision in episode.decisions:
            told = str(decision.messages[1:])
            assert ("howl" in told or "chose a" in told) == (decision.seat in team)
            assert ("fellows:" in told) == (decision.seat in team)


def test_let_of_sets_is_shown_to_its_owner(tmp_path: Path) -> None:
    """Each role is told its own entry, of which the elements are roles; guards are of all."""
    text = """\
game: mates
roles: {player: 3}
types: {Part: [wolf, villager]}
turns:
  - {deal: part, from: "[wolf, wolf, villager]", seen_by: owner}
  - {draw: day, from: 1..2, seen_by: all}
  - {show: MATES, as: pack, seen_by: owner, if: day == 1}
  - {role: all, choose: vote, from: others}
let:
  mates: "[r for r in roles if part[r] == part.me]"
  group: set(r for r in roles if part[r] == part.me)
payoffs: 0
"""
    for name, shown in (("mates", "player_1,player_3"), ("group", "{player_1 player_3}")):
        episode = load(tmp_path, text.replace("MATES", name)).env().reset(chance="asked")
        for outcome in (0, 1, 0):
            episode.draw(outcome)
        assert f"player_1.pack={shown}" in episode.information("player_1")
        assert "player_1.pack" not in episode.information("player_3")
        assert f"player_3.pack={shown}" in episode.information("player_3")
        assert "player_2.pack=" in episode.information("player_2")


UNTOLD = """
game: untold
roles: {guest: 4}
types: {Part: [thief, guard, baker]}
turns:
  - {deal: part, from: "[thief, thief, guard, baker]", seen_by: owner}
  - {STEP}
  - {role: all, choose: guess, from: others}
let:
  gang: "[r for r in roles if part[r] == thief]"
payoffs: 1 if me in gang else 0
on_invalid: {retry: 1, then: forfeit, pay: -1}
"""
UNTOLD_STEPS = {
    "who speaks": "role: gang, say: whisper, max_tokens: 20, seen_by: gang",
    "a guard of the secret":
        "role: all, choose: mark, from: others, if: part.me == thief, seen_by: gang",
    "a guard of the team":
        "role: all, choose: mark, from: others, if: me in gang, seen_by: gang",
    "options":
        'role: gang, choose: mark, from: "[r for r in roles if r not in gang]", seen_by: gang',
    "a test of each":
        "role: all, choose: mark, from: others, if: part.me == thief, seen_by: part.me == thief",
    "a list of roles":
        'role: "[r for r in roles if part[r] == thief]", choose: mark, from: others, '
        "seen_by: part.me == thief",
    "one after another":
        'each: r in roles, turns: [{role: r, if: "part[r] == thief", choose: mark, from: others, '
        "seen_by: part.me == thief}]",
}  # fmt: skip


@pytest.mark.parametrize("kind", UNTOLD_STEPS)
def test_help_tells_an_untold_team_alone(tmp_path: Path, kind: str) -> None:
    """The edits of the help give a valid game, in which only the team sees who is in it."""
    path = tmp_path / "untold.yaml"
    path.write_text(UNTOLD.replace("STEP", UNTOLD_STEPS[kind]), encoding="utf-8")
    (found,) = compile_file(path).diagnostics
    assert found.code in ("GD0440", "GD0442")
    assert "seen_by: all" not in found.help
    path.write_text(apply_edits(path.read_text(encoding="utf-8"), found.edits), encoding="utf-8")
    result = compile_file(path)
    assert result.ok, result.diagnostics
    (show,) = [step for step in result.ir.turns if isinstance(step, Show)]
    assert show.readers.kind == "test"


def test_public_team_is_told_to_hide(tmp_path: Path) -> None:
    path = tmp_path / "untold.yaml"
    step = "role: gang, choose: mark, from: others"
    path.write_text(UNTOLD.replace("STEP", step), encoding="utf-8")
    (found,) = compile_file(path).diagnostics
    told = "- {show: gang, as: known_gang, seen_by: gang}"
    assert f"`{told}`, and write `seen_by: gang` here" in found.help
    hidden = UNTOLD.replace("- {STEP}", f"{told}\n  - {{{step}, seen_by: gang}}")
    path.write_text(hidden, encoding="utf-8")
    assert compile_file(path).ok


CHANGING = {
    "dealt again": """
  - repeat: 2
    turns:
      - {deal: part, from: "[thief, thief, guard, baker]", seen_by: owner}
      - {role: gang, choose: mark, from: others, seen_by: gang}
""",
    "fewer in each pass": """
  - {deal: part, from: "[thief, thief, guard, baker]", seen_by: owner}
  - repeat: 2
    turns:
      - {role: few, choose: mark, from: left, seen_by: few}
      - {show: most(mark), as: out}
      - {do: drop out from left, if: out != none}
""",
}


@pytest.mark.parametrize("kind", CHANGING)
def test_help_keeps_a_changing_team_secret(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "changing.yaml"
    head, _, rest = UNTOLD.partition("turns:\n")
    text = f"{head}state: {{left: {{set: role, start: roles}}}}\nturns:{CHANGING[kind]}"
    few = '  few: "[r for r in left if part[r] == thief]"\n'
    text += "  - {role: all" + rest.partition("  - {role: all")[2].replace(
        "payoffs", few + "payoffs"
    )
    path.write_text(text, encoding="utf-8")
    helps = [d.help for d in compile_file(path).diagnostics if d.code in ("GD0440", "GD0442")]
    assert helps
    for said in helps:
        assert "settle who is in the team once" in said
        assert "seen by all" not in said


def test_help_keeps_what_options_read_secret(tmp_path: Path) -> None:
    path = tmp_path / "untold.yaml"
    step = 'role: all, choose: mark, from: "[r for r in roles if r not in gang]", seen_by: owner'
    path.write_text(UNTOLD.replace("STEP", step), encoding="utf-8")
    (found,) = compile_file(path).diagnostics
    assert (found.code, found.help) == ("GD0440", "offer options that do not depend on it")


def test_public_team_by_list_is_told_to_hide(tmp_path: Path) -> None:
    path = tmp_path / "untold.yaml"
    team = '"[r for r in roles if part[r] == thief]"'
    step = f"role: {team}, choose: mark, from: others"
    path.write_text(UNTOLD.replace("STEP", step), encoding="utf-8")
    (found,) = compile_file(path).diagnostics
    told = f"- {{show: {team}, as: known_team, seen_by: {team}}}"
    assert f"`{told}`, and write `seen_by: {team}` here" in found.help
    hidden = UNTOLD.replace("- {STEP}", f"{told}\n  - {{{step}, seen_by: {team}}}")
    path.write_text(hidden, encoding="utf-8")
    assert compile_file(path).ok
