"""Times the language server's answer to a keystroke in Hanabi, over stdio, beside the bare parse.

`python benchmarks/lsp.py` prints the median from the change that is sent to the problems that
arrive, the pause of the server included, that of parsing the YAML alone, and their ratio. Other
work on the machine adds to these; the CPU time of the check and of the parse alone it hardly does.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

from gamedsl.diagnostics import Problems
from gamedsl.frontend.source import loader
from gamedsl.frontend.source.compose import compose
from gamedsl.lsp.files import check

HANABI = Path(__file__).parents[1] / "games" / "hanabi.yaml"
STROKES = 30


def parse_seconds(text: str, clock: Callable[[], float]) -> float:
    begin = clock()
    compose(loader.from_text("hanabi", text), Problems())
    return clock() - begin


def check_seconds(text: str) -> float:
    begin = process_time()
    check(HANABI, {HANABI: text})
    return process_time() - begin


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
    strokes = [text + "#" * stroke for stroke in range(STROKES)]
    answer = median(asyncio.run(answer_seconds(text)))
    parse = median(parse_seconds(one, perf_counter) for one in strokes)
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"a keystroke is answered in {1e3 * answer:.0f} ms (median of {STROKES})")
    print(f"the bare parse takes {1e3 * parse:.0f} ms; ratio {answer / parse:.1f}")
    check_seconds(text)  # imports what it needs
    cpu = median(map(check_seconds, strokes))
    parse = median(parse_seconds(one, process_time) for one in strokes)
    print(f"CPU time: {1e3 * cpu:.0f} ms of the check, {1e3 * parse:.0f} ms of the bare parse")


if __name__ == "__main__":
    main()
