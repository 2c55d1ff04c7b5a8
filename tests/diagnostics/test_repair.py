"""Safe fixes are applied to files, others are left; the JSON of problems fits its schema."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

import gamedsl
from gamedsl import cli
from gamedsl.compiler import compile_file
from gamedsl.diagnostics.render import render
from gamedsl.diagnostics.safety import is_safe
from gamedsl.frontend.source.loader import replacing
from gamedsl.repair import repair
from tests.diagnostics.expectations import case_files

SCHEMA = json.loads(
    (Path(gamedsl.__file__).parent / "diagnostics" / "problems.schema.json").read_text("utf-8")
)
WRONG = """\
game: x
role: [ann, bob]   # a comment
actions: [up, down]
protocol: simultanous
payofs:
  ann: 1 if move.ann = up else 0
  bob: 1 if mov.bob == dwn else 0
"""
RIGHT = """\
game: x
roles: [ann, bob]   # a comment
actions: [up, down]
protocol: simultaneous
payoffs:
  ann: 1 if move.ann == up else 0
  bob: 1 if move.bob == down else 0
"""
LEAK = """\
game: y
roles: [ann, bob]
turns:
  - {draw: coin, from: [heads, tails], seen_by: ann}
  - {role: ann, choose: word, from: [hot, cold]}
  - {role: bob, choose: side, from: [left, right], if: coin == heads}
payoffs: 0
"""


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    path = tmp_path / "x.yaml"
    path.write_text(WRONG, encoding="utf-8")
    return path


def test_a_long_file_is_compiled_a_few_times(tmp_path: Path) -> None:
    lines = "".join(f"  - {{role: all, chose: m{n}, from: [up, down]}}\n" for n in range(20))
    path = tmp_path / "long.yaml"
    padding = "#" * 600_000
    path.write_text(f"game: x\nroles: [a, b]\nturns:\n{lines}payoffs: 1\n{padding}\n", "utf-8")
    first = repair(path)
    assert first.after is not None
    assert 1 <= len(first.mended) <= 4
    with replacing({path: first.after}):
        assert 1 <= len(repair(path).mended) <= 4


def test_fixes_of_several_stages_are_applied(wrong: Path) -> None:
    done = repair(wrong)
    assert done.after == RIGHT
    assert len(done.mended) == 6
    assert wrong.read_text(encoding="utf-8") == WRONG


def test_command_writes_and_reports(wrong: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = cli.main(["validate", "--fix", "--format", "json", str(wrong)])
    out, err = capsys.readouterr()
    assert (code, json.loads(out)) == (0, [])
    assert "6 fixes applied" in err
    assert "did you mean `simultaneous`?" in err
    assert wrong.read_text(encoding="utf-8") == RIGHT


def test_line_ends_and_mark_are_kept(wrong: Path) -> None:
    wrong.write_bytes(b"\xef\xbb\xbf" + WRONG.replace("\n", "\r\n").encode())
    assert cli.main(["validate", "--fix", str(wrong)]) == 0
    assert wrong.read_bytes() == b"\xef\xbb\xbf" + RIGHT.replace("\n", "\r\n").encode()


def test_a_right_file_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(RIGHT, encoding="utf-8")
    before = path.stat()
    assert cli.main(["validate", "--fix", str(path)]) == 0
    assert path.stat().st_ino == before.st_ino


def test_who_sees_what_is_never_changed(tmp_path: Path) -> None:
    path = tmp_path / "y.yaml"
    path.write_text(LEAK, encoding="utf-8")
    (found,) = compile_file(path).diagnostics
    assert found.edits
    assert not is_safe(found)
    assert cli.main(["validate", "--fix", str(path)]) == 1
    assert path.read_text(encoding="utf-8") == LEAK


def test_fixes_drop_no_word_and_invent_nothing(tmp_path: Path) -> None:
    path = tmp_path / "z.yaml"
    for actions, payoffs in (("up, down, up", "0"), ("up, down", "1 if move.me == up")):
        text = f"game: z\nroles: [a, b]\nactions: [{actions}]\nprotocol: simultaneous\n"
        text += f"payoffs: {payoffs}\n"
        path.write_text(text, encoding="utf-8")
        assert any(found.edits for found in compile_file(path).diagnostics)
        assert repair(path).mended == ()


def test_what_a_fix_writes_is_of_the_language(tmp_path: Path) -> None:
    """Quotes around a key without its space, or around an entry, leave no whole expression."""
    path = tmp_path / "z.yaml"
    head = "game: z\nroles: [a, b]\n"
    turns = "turns:\n  - {role: all, choose: v, from: 0..3}\npayoffs: f(v.me)\n"
    for wrong in ("0..3,seen_by:a}", "0..3, if: g(1, 2:3) == 1}"):
        text = f"{head}turns:\n  - {{role: all, choose: v, from: {wrong}\npayoffs: 0\n"
        path.write_text(text, encoding="utf-8")
        assert any(found.edits for found in compile_file(path).diagnostics)
        assert repair(path).mended == ()
    path.write_text(f"{head}let:\n  f: g(x): x + 1\n{turns}", encoding="utf-8")
    assert repair(path).mended == ()
    path.write_text(f"{head}let: f(x): x + 1\n{turns}", encoding="utf-8")
    assert repair(path).after == f"{head}let:\n  f(x): x + 1\n{turns}"


def test_a_declared_name_is_not_renamed(tmp_path: Path) -> None:
    path = tmp_path / "z.yaml"
    text = "game: z\nroles: [Ann, bob]\nactions: [up, down]\nprotocol: simultaneous\n"
    path.write_text(f"{text}payoffs: {{Ann: 0, bob: 1}}\n", encoding="utf-8")
    assert any(found.code == "GD0106" for found in compile_file(path).diagnostics)
    assert repair(path).mended == ()


def test_repair_goes_on_to_a_fixed_point() -> None:
    """A case in eight: what is left has no fix that would be kept."""
    repaired = [(path, repair(path)) for path in case_files()[::8]]
    assert any(done.changed for _, done in repaired)
    for path, done in repaired:
        if done.changed and done.after is not None:
            with replacing({path: done.after}):
                assert not repair(path).changed, path


def test_replaced_text_is_compiled_in_place(wrong: Path) -> None:
    with replacing({wrong: RIGHT}):
        assert compile_file(wrong).ok
    assert not compile_file(wrong).ok


def test_json_fits_its_schema() -> None:
    """A case in eight: all forms of notes, edits and witnesses occur among them."""
    validator = jsonschema.Draft202012Validator(SCHEMA)
    validator.check_schema(SCHEMA)
    found = [d for path in case_files()[::8] for d in compile_file(path).diagnostics]
    data = json.loads(render(found, "json"))
    validator.validate(data)
    for key in ("edits", "notes", "witness"):
        assert any(each[key] for each in data), key
    assert {each["safe"] for each in data} == {True, False}
    assert set(data[0]) == set(SCHEMA["$defs"]["problem"]["required"])


@pytest.mark.parametrize("change", ["drop", "type"])
def test_schema_refuses_other_shapes(change: str, wrong: Path) -> None:
    data = json.loads(render(compile_file(wrong).diagnostics, "json"))
    if change == "drop":
        del data[0]["safe"]
    else:
        data[0]["edits"][0]["line"] = 0
    assert not jsonschema.Draft202012Validator(SCHEMA).is_valid(data)
