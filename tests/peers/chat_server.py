"""A local server of OpenAI's chat completions that answers by a script."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from tests.peers.plays import key_of


class ScriptedServer(ThreadingHTTPServer):
    """Answers a prompt of a model with what `answers` has for both. A prompt that is not there is
    kept in `unknown`, and refused; with `default` it is answered with that instead."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.answers: dict[str, Mapping[str, str]] = {}
        self.default: str | None = None
        self.finish = "stop"
        self.unknown: list[Any] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def reply(self, body: Mapping[str, Any]) -> str | None:
        found = self.answers.get(body["model"], {}).get(key_of(body["messages"]), self.default)
        if found is None:
            self.unknown.append(body)
        return found


class Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ScriptedServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = self.server.reply(body)
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        message = {"role": "assistant", "content": text}
        content = {
            "id": "chat", "object": "chat.completion", "created": 0, "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": self.server.finish}],
            "usage": usage,
        }  # fmt: skip
        data = json.dumps(content).encode()
        self.send_response(200 if text is not None else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is printed."""


@contextmanager
def scripted() -> Iterator[ScriptedServer]:
    server = ScriptedServer()
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
