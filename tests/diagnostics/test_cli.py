"""The command line: exit codes, what goes where, and how little a start costs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gamedsl import __version__, cli
from gamedsl.diagnostics import codes

ROOT = Path(__file__).parent.parent.parent
GOOD = "games/stag_hunt.yaml"
PIPES = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.fixture
def bad(tmp_path: Path) -> str:
    path = tmp_path / "bad.yaml"
    path.write_text("game: bad\nextends: stag_hunt\nwibble: 1\n")
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = cli.main(argv)
    out, err = capsys.readouterr()
    return code, out, err


def test_validate_good(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "validate", GOOD, "chicken")
    first, facts, second, _ = out.splitlines()
    assert (code, err) == (0, "")
    assert first.startswith(f"{GOOD}: ok — 2 roles, normal form, 2")
    assert facts.startswith("  5 histories, 2 information sets, 1 decision a play, ")
    assert second.startswith("games/chicken.yaml: ok — ")


def test_validate_bad(capsys: pytest.CaptureFixture[str], bad: str) -> None:
    code, out, _ = run(capsys, "validate", bad, GOOD, bad)
    assert code == 1
    assert out.count("error[GD0101]") == 1
    assert "\x1b" not in out
    assert f"{GOOD}: ok" in out
    assert "bad.yaml: ok" not in out


def test_validate_concise(capsys: pytest.CaptureFixture[str], bad: str) -> None:
    code, out, _ = run(capsys, "validate", "--format", "concise", bad)
    assert code == 1
    assert out.startswith(f"{bad}:3:1: error[GD0101]: unknown key `wibble` (")
    assert len(out.splitlines()) == 1


def test_validate_json_is_one_array(capsys: pytest.CaptureFixture[str], bad: str) -> None:
    code, out, _ = run(capsys, "validate", "--format", "json", bad, GOOD, "nothing.yaml")
    assert code == 1
    assert [found["code"] for found in json.loads(out)] == ["GD0101", "GD0001"]
    code, out, _ = run(capsys, "validate", "--format", "json", GOOD)
    assert (code, json.loads(out)) == (0, [])


def test_strict_counts_warnings(capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    from gamedsl import compiler
    from gamedsl.diagnostics.model import Diagnostic
    from gamedsl.diagnostics.spans import Source, Span

    place = Span(Source("a.yaml", "game: a\n"), 0, 4)
    found = [Diagnostic("GD0199", "w", place, severity="warning")]
    result = compiler.Result(None, None, found, "fine")
    monkeypatch.setattr(compiler, "compile_file", lambda *a, **k: result)
    code, out, _ = run(capsys, "validate", GOOD)
    assert code == 0
    assert "warning[GD0199]" in out
    assert "ok — fine" in out
    code, out, _ = run(capsys, "validate", "--strict", GOOD)
    assert code == 1
    assert "ok" not in out


@pytest.mark.parametrize("written", ["GD0101", "gd0101", "101", "0101"])
def test_explain(capsys: pytest.CaptureFixture[str], written: str) -> None:
    code, out, _ = run(capsys, "explain", written)
    assert code == 0
    assert out.startswith("GD0101\n# ")
    assert "## Wrong" in out


def test_explain_unknown_and_all(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "explain", "GD9999")
    assert (code, out) == (2, "")
    assert "no code `GD9999`" in err
    code, out, _ = run(capsys, "explain")
    assert code == 0
    assert len(out.splitlines()) == len(codes.codes())


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ([], "usage: gamedsl COMMAND"),
        (["validat"], "did you mean `gamedsl validate`?"),
        (["a.yaml"], "did you mean `gamedsl validate a.yaml`?"),
        (["frobnicate"], "known: new, games, validate"),
        (["validate"], "FILE"),
        (["validate", "--format", "xml", GOOD], "xml"),
        (["validate", "--wibble", GOOD], "--wibble"),
    ],
)
def test_usage(capsys: pytest.CaptureFixture[str], argv: list[str], said: str) -> None:
    code, out, err = run(capsys, *argv)
    assert (code, out) == (2, "")
    assert said in err


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "--version")
    assert (code, out.split("\n")[0], err) == (0, f"gamedsl {__version__}", "")
    code, out, _ = run(capsys, "--help")
    assert code == 0
    assert all(name in out for name in cli.COMMANDS)
    for argv in (["validate", "--help"], ["help", "validate"]):
        code, out, _ = run(capsys, *argv)
        assert code == 0
        assert "--strict" in out


def test_every_command_has_its_module() -> None:
    folder = ROOT / "gamedsl" / "commands"
    modules = {path.stem.removesuffix("_") for path in folder.glob("[a-z]*.py")}
    assert modules == set(cli.COMMANDS)


def test_colour_needs_terminal_and_respects_no_color(monkeypatch) -> None:
    class Terminal:
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    assert cli.use_colour(Terminal())
    assert not cli.use_colour(object())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not cli.use_colour(Terminal())


def python(*argv: str, **options) -> subprocess.Popen:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen([sys.executable, *argv], env=environment, cwd=ROOT, **options)


def test_a_broken_pipe_is_quiet() -> None:
    with python("-m", "gamedsl", "explain", **PIPES) as process:
        process.stdout.close()
        assert process.wait(30) in (0, 1)
        assert process.stderr.read() == b""


def test_an_interruption_is_quiet() -> None:
    code = (
        "import sys, time\n"
        "from gamedsl import cli, compiler\n"
        "def compile_file(*a, **k):\n"
        "    print('ready', flush=True)\n"
        "    time.sleep(30)\n"
        "compiler.compile_file = compile_file\n"
        "sys.exit(cli.main(['validate', 'x']))\n"
    )
    with python("-c", code, **PIPES) as process:
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        assert process.stderr.read() == b""


def loaded_by(*argv: str) -> set[str]:
    code = (
        "import sys\nfrom gamedsl import cli\n"
        f"cli.main({list(argv)!r})\n"
        "print('\\n'.join(['MODULES', *sys.modules]))"
    )
    with python("-c", code, stdout=subprocess.PIPE) as process:
        out, _ = process.communicate(timeout=60)
    return set(out.decode().partition("MODULES\n")[2].split("\n"))


def test_validate_loads_nothing_heavy() -> None:
    loaded = loaded_by("validate", GOOD)
    assert "gamedsl.compiler" in loaded
    heavy = {"torch", "transformers", "vllm", "numpy", "scipy", "rich", "importlib.metadata"}
    assert not loaded & heavy
    assert not {name for name in loaded if name.startswith(("gamedsl.training", "gamedsl.solve"))}
    assert "gamedsl.commands.explain" not in loaded
    assert "gamedsl.diagnostics.codes" not in loaded


def test_other_commands_do_not_wait_for_the_compiler() -> None:
    loaded = loaded_by("explain", "GD0101")
    assert not loaded & {"yaml", "lark", "jsonschema", "gamedsl.compiler"}
