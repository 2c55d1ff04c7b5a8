"""`gamedsl validate`: what is said of games that are clean, and what `--strict` makes of a note."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gamedsl import cli

SHARED = "game: team\nextends: prisoners_dilemma\nlabels: plain\nrewards: shared\n"


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = cli.main(argv)
    return code, *capsys.readouterr()


def test_facts_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "validate", "kuhn_poker", "tic_tac_toe")
    _, kuhn, _, tic_tac_toe = out.splitlines()
    assert code == 0
    assert kuhn.startswith("  58 histories, 12 information sets, 2 to 3 decisions a play, zero-sum")
    assert tic_tac_toe.startswith(
        "  at most 9 decisions a play, prompts of at most 1,032 characters; sampled: about 5e5"
    )
    assert tic_tac_toe.endswith("1 undecided)")


def test_concise_output_has_no_facts(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "validate", "--format", "concise", "kuhn_poker")
    assert len(out.splitlines()) == 1


def test_a_report_for_people(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "team.yaml"
    path.write_text(SHARED)
    code, out, _ = run(capsys, "validate", "--report", "text", str(path))
    lines = out.partition(": ok")[2].splitlines()
    assert code == 0
    assert lines[1].startswith("  refuted     rewards.incentives: ")
    assert lines[1].endswith(" GD0611")
    assert "      | the others, and chance, do the same in both" in out
    assert "  proved      recall: every seat remembers" in out
    assert "enumerated  claims.symmetric" in out


def test_a_report_for_programs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(f"{SHARED}claims: zero_sum\n")
    code, out, _ = run(capsys, "validate", "--report", "json", str(path), "kuhn_poker", "shared")
    bad, kuhn, reward = json.loads(out)
    assert code == 1
    assert [bad["ok"], kuhn["ok"], reward["ok"]] == [False, True, True]
    assert [problem["code"] for problem in bad["problems"]] == ["GD0611", "GD0470"]
    (found,) = [p for p in bad["proofs"] if p["name"] == "claims.zero_sum"]
    assert (found["grade"], found["codes"]) == ("refuted", ["GD0470"])
    assert found["histories"] == [["cooperate", "cooperate"]]
    assert {p["grade"] for p in kuhn["proofs"]} == {"proved", "enumerated"}
    assert reward["proofs"] == []


def test_a_note_fails_where_it_is_strict(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "team.yaml"
    path.write_text(SHARED)
    assert run(capsys, "validate", str(path))[0] == 0
    code, out, _ = run(capsys, "validate", "--strict", str(path))
    assert code == 1
    assert "note[GD0611]" in out
    assert "ok" not in out.splitlines()[-1]


def test_care_goes_further(capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["validate", "--report", "json", "--param", "rounds=2", "repeated_prisoners_dilemma"]
    grades = []
    for more in (["--thorough", "3"], []):
        _, out, _ = run(capsys, *argv, *more)
        grades.append({p["name"]: p["grade"] for p in json.loads(out)[0]["proofs"]}["size"])
    assert grades == ["sampled", "enumerated"]


@pytest.mark.slow
def test_prompts_are_measured_in_tokens(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("transformers")
    code, out, _ = run(capsys, "validate", "--model", "tiny", "stag_hunt")
    assert code == 0
    assert " tokens (" in out
    code, _, err = run(capsys, "validate", "--model", "nothing-like-it", "stag_hunt")
    assert code == 2
    assert "no model is called" in err
