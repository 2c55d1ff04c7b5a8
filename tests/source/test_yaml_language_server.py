"""The language server of YAML that editors use finds nothing wrong with shipped files."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("pygls")

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

from gamedsl.sema.library import FOLDERS

ROOT = Path(__file__).parents[2]
PACKAGE = "yaml-language-server@1"
SECONDS = 120.0

SHIPPED = [path for folder in FOLDERS.values() for path in sorted((ROOT / folder).glob("*.yaml"))]


@pytest.fixture(scope="module", name="server")
def installed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path of the server: that of the environment, or one that npm installs for this test."""
    if (known := os.environ.get("YAML_LANGUAGE_SERVER")) is not None:
        return known
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("npm is not installed")
    folder = tmp_path_factory.mktemp("npm")
    command = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder), PACKAGE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        pytest.skip(f"npm cannot install {PACKAGE}: {done.stderr[-200:]}")
    return str(folder / "node_modules" / ".bin" / "yaml-language-server")


async def diagnostics(server: str, texts: dict[str, str]) -> dict[str, list[lsp.Diagnostic]]:
    """Returns what the server says of documents, by their addresses."""
    client = LanguageClient("test", "1")
    found: dict[str, list[lsp.Diagnostic]] = {}
    came = asyncio.Event()

    @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def _(params: lsp.PublishDiagnosticsParams) -> None:
        found[params.uri] = list(params.diagnostics)
        if found.keys() >= texts.keys():
            came.set()

    settings = {"validate": True, "schemaStore": {"enable": False}}

    @client.feature(lsp.WORKSPACE_CONFIGURATION)
    def _(params: lsp.ConfigurationParams) -> list[object]:
        return [settings if item.section == "yaml" else None for item in params.items]

    await client.start_io(server, "--stdio")
    try:
        await client.initialize_async(
            lsp.InitializeParams(lsp.ClientCapabilities(), root_uri=ROOT.as_uri())
        )
        client.initialized(lsp.InitializedParams())
        for uri, text in texts.items():
            item = lsp.TextDocumentItem(uri, "yaml", 1, text)
            client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        await asyncio.wait_for(came.wait(), SECONDS)
        await client.shutdown_async(None)
        client.exit(None)
    finally:
        await client.stop()
    return found


@pytest.mark.slow
def test_shipped_files_have_no_diagnostics(server: str) -> None:
    texts = {path.as_uri(): path.read_text(encoding="utf-8") for path in SHIPPED}
    wrong = (ROOT / "games" / "wrong.yaml").as_uri()
    texts[wrong] = texts[(ROOT / "games" / "stag_hunt.yaml").as_uri()] + "wibble: 1\n"
    found = asyncio.run(diagnostics(server, texts))
    assert "wibble" in found.pop(wrong)[0].message  # the schemas are read at all
    said = [
        f"{Path(uri).name}:{d.range.start.line + 1}: {d.message}"
        for uri, problems in found.items()
        for d in problems
    ]
    assert said == []
