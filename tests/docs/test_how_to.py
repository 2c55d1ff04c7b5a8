"""The pages of one task each, and those of concepts: their files, commands and code work.

The default suite compares what commands print with what pages show, and runs their Python; the slow
one types every command, with a tiny model.
"""

from __future__ import annotations

import io
import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import page_blocks
import pytest

from gamedsl.cli import main
from tests.evaluate.serving import Body, Reply, serving

FOLDERS = ("how-to", "concepts")
PAGES = [page for folder in FOLDERS for page in sorted((page_blocks.DOCS / folder).glob("*.md"))]
NAMES = [page.stem for page in PAGES]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, in which commands are typed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr("sys.stdin", io.StringIO())  # whoever sits there has nothing to type
    return tmp_path


@pytest.fixture
def address() -> Iterator[str]:
    """A server that answers each prompt with the last option that it lists."""

    def last_option(_: int, body: Body) -> Reply:
        return Reply(str(body["messages"][-1]["content"]).splitlines()[-1])

    with serving(last_option) as served:
        yield served.url


def typed(words: list[str], address: str) -> int:
    """Runs a command, with the server of the test where the page has its own. What needs vLLM is
    left to where that is installed."""
    if "engine=vllm" in words and find_spec("vllm") is None and address != page_blocks.ADDRESS:
        return 0
    words = [word.replace(page_blocks.ADDRESS, address) for word in words]
    if words[0] == "studio":
        return served_until_interrupted(words)
    try:
        return main(words)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1


def served_until_interrupted(words: list[str]) -> int:
    """Starts a command that serves pages, and presses Ctrl-C once it says where."""
    Path("games").mkdir(exist_ok=True)
    Path("runs").mkdir(exist_ok=True)
    words = [sys.executable, "-m", "gamedsl", *words, "--port", "0"]
    with subprocess.Popen(
        [word for word in words if word != "--open"], stdout=subprocess.PIPE, text=True
    ) as serving_pages:
        try:
            assert serving_pages.stdout is not None
            assert "/?token=" in serving_pages.stdout.readline()
            serving_pages.send_signal(signal.SIGINT)
            return serving_pages.wait(60) % 130  # the code of what Ctrl-C ended
        finally:
            serving_pages.kill()


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_command_works(page: Path, folder: Path, address: str) -> None:
    page_blocks.write_files(page, folder)
    for words, printed in page_blocks.commands(page):
        if printed is None:
            assert typed(page_blocks.small(words), address) == 0, words


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_commands_print_what_is_shown(
    page: Path, folder: Path, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    page_blocks.write_files(page, folder)
    (folder / "runs" / "stag-0").mkdir(parents=True)  # the run that the page made before
    (folder / "runs" / "stag-0" / "run.json").write_text("{}", encoding="utf-8")
    for words, printed in page_blocks.commands(page):
        if printed is not None:
            typed(words, page_blocks.ADDRESS)
            said = capsys.readouterr()
            # Pages leave out what is read and loaded, which may say how long it took last time.
            both = [said.err + said.out, printed]
            was, shown = (re.sub(r"(?m)^(reading|loading) .*\n", "", text).strip() for text in both)
            assert was == shown, words


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_python_of_a_page_runs(page: Path, folder: Path) -> None:
    names: dict[str, object] = {}
    for block in page_blocks.blocks(page):
        if block.kind == "python":
            for module in re.findall(r"\b(pyspiel|pettingzoo)\b", block.text):
                pytest.importorskip(module)
            exec(compile(block.text, page.name, "exec"), names)


def test_stand_in_of_a_server_answers(capsys: pytest.CaptureFixture[str]) -> None:
    page = page_blocks.DOCS / "how-to/endpoint.md"
    (code,) = (block.text for block in page_blocks.blocks(page) if block.kind == "python")
    names: dict[str, Any] = {"__name__": "stand_in"}
    exec(compile(code, page.name, "exec"), names)
    names["StandIn"].log_message = lambda *_: None
    with ThreadingHTTPServer(("localhost", 0), names["StandIn"]) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        player = f"endpoint:http://localhost:{server.server_port}/v1#any"
        assert main(["eval", player, "--game", "kuhn_poker", "--games", "2"]) == 0
        server.shutdown()
    assert re.search(rf"A  {re.escape(player)} +– +0% ", capsys.readouterr().out)


def test_rows_of_a_page_are_json() -> None:
    (rows,) = (b for b in page_blocks.blocks(page_blocks.DOCS / "how-to/data-rows.md") if b.path)
    assert all(set(json.loads(row)) == {"country", "capital"} for row in rows.text.splitlines())


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_pages_of_one_task_are_short(page: Path) -> None:
    prose = page_blocks.FENCED.sub("", page.read_text(encoding="utf-8"))
    assert len(prose.split()) <= 350
