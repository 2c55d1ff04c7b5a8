"""Every code is explained, the explanations are true, and every code has a case."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import gamedsl
from gamedsl.compiler import compile_file
from gamedsl.diagnostics import codes
from gamedsl.diagnostics.render import render
from tests.diagnostics.expectations import case_files, expectations
from tests.diagnostics.special import SPECIAL

PACKAGE = Path(gamedsl.__file__).parent
WITH_YAML = [code for code in codes.codes() if code not in SPECIAL]


def _used() -> set[str]:
    found: set[str] = set()
    for path in PACKAGE.rglob("*.py"):
        found |= set(re.findall(r'"(GD\d{4})"', path.read_text(encoding="utf-8")))
    return found


def _cased() -> set[str]:
    cases = (expected for path in case_files() for expected in expectations(path))
    return {expected.code for expected in cases} | set(SPECIAL)


def test_every_code_in_use_is_explained() -> None:
    assert sorted(_used() - set(codes.codes())) == []


def test_no_explanation_of_a_code_out_of_use() -> None:
    assert sorted(set(codes.codes()) - _used()) == []


def test_every_code_in_use_has_a_case() -> None:
    assert sorted(_used() - _cased()) == []


def test_every_code_is_in_a_band() -> None:
    assert {code[2:4] for code in codes.codes()} <= set(codes.BANDS)


@pytest.mark.parametrize("code", WITH_YAML)
def test_examples_of_the_explanation(code: str, tmp_path: Path, monkeypatch) -> None:
    example = codes.explanation(code)
    monkeypatch.chdir(tmp_path)
    assert {d.code for d in _compile(example.wrong, tmp_path)} == {code}
    assert render(_compile(example.right, tmp_path)) == ""


@pytest.mark.parametrize("code", sorted(SPECIAL))
def test_codes_that_yaml_cannot_show_have_commands(code: str) -> None:
    text = codes.explain(code)
    assert re.fullmatch(
        r"# .+\n\n.+\n\n## Wrong\n\n```text\n.+```\n\n## Right\n\n```text\n.+```\n", text, re.DOTALL
    )


def _compile(text: str, folder: Path) -> list:
    """Compile `example.yaml`; a line `# file: name.yaml` begins another file beside it."""
    for old in folder.glob("*.yaml"):
        old.unlink()
    first, *others = re.split(r"^# file: (\S+)\n", text, flags=re.MULTILINE)
    (folder / "example.yaml").write_text(first, encoding="utf-8")
    for name, content in zip(others[::2], others[1::2], strict=True):
        (folder / name).write_text(content, encoding="utf-8")
    return compile_file("example.yaml").diagnostics


def test_explain_knows_only_codes() -> None:
    with pytest.raises(KeyError):
        codes.explain("GD9999")
    with pytest.raises(KeyError):
        codes.explain("../model")
