"""Times the language server's answer to a keystroke in Hanabi, over stdio, beside the bare parse.

`python benchmarks/lsp.py` prints the median from the change that is sent to the problems that
arrive, the pause of the server included, that of parsing the YAML alone, and their ratio.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from statistics import median
from time import perf_counter

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

from gamedsl.diagnostics import Problems
from gamedsl.frontend.source import loader

HANABI = Path(__file__).parents[1] / "games" / "hanabi.yaml"
STROKES = 30


def parse_seconds(text: str) -> float:
    begin = perf_counter()
    loader.parse(loader.from_text("hanabi", text), Problems())
    return perf_counter() - begin


async def answer_seconds(text: str) -> list[float]:
    client = LanguageClient("benchmark", "1")
    arrived: asyncio.Queue[lsp.PublishDiagnosticsParams] = asyncio.Queue()

    @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def _(params: lsp.PublishDiagnosticsParams) -> None:
        arrived.put_nowait(params)

    await client.start_io(sys.executable, "-m", "gamedsl", "lsp")
    await client.initialize_async(lsp.InitializeParams(lsp.ClientCapabilities()))
    client.initialized(lsp.InitializedParams())
    uri = HANABI.as_uri()
    client.text_document_did_open(
        lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(uri, "yaml", 0, text))
    )
    await arrived.get()
    seconds = []
    for stroke in range(1, STROKES + 1):
        begin = perf_counter()
        change = lsp.TextDocumentContentChangeWholeDocument(text + "#" * stroke)
        client.text_document_did_change(
            lsp.DidChangeTextDocumentParams(
                lsp.VersionedTextDocumentIdentifier(stroke, uri), [change]
            )
        )
        await arrived.get()
        seconds.append(perf_counter() - begin)
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()
    return seconds


def main() -> None:
    text = HANABI.read_text(encoding="utf-8")
    answer = median(asyncio.run(answer_seconds(text)))
    parse = median(parse_seconds(text + "#" * stroke) for stroke in range(STROKES))
    print(f"a keystroke is answered in {1e3 * answer:.0f} ms (median of {STROKES})")
    print(f"the bare parse takes {1e3 * parse:.0f} ms; ratio {answer / parse:.1f}")


if __name__ == "__main__":
    main()
