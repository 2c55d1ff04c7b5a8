"""A hub on this machine that huggingface_hub's own client uploads to: it keeps what is committed.

It answers what the client asks for in an upload of small files: whether the token is known, a new
repository, whether a card's head is right, how files are sent (each inside of the commit), and the
commit itself.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, NamedTuple

_COMMIT = re.compile(r"/api/(models|datasets)/(.+)/commit/main")
_PREUPLOAD = re.compile(r"/api/(models|datasets)/(.+)/preupload/main")


class Hub(NamedTuple):
    """What a hub has been asked: new repositories, files by repository, and tokens."""

    address: str
    made: list[dict[str, Any]]
    files: dict[str, dict[str, bytes]]
    tokens: set[str]


@contextmanager
def serving(refuse: bool = False) -> Iterator[Hub]:
    """Serves a hub on a free port; `refuse` answers each request by 403."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            hub.tokens.add(self.headers.get("Authorization", ""))
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if refuse:
                self.answer(403, {"error": "no right to write"})
            elif self.path == "/api/repos/create":
                asked = json.loads(body)
                hub.made.append(asked)
                kind = "datasets/" if asked.get("type") == "dataset" else ""
                name = f"{asked['organization']}/{asked['name']}"
                self.answer(200, {"url": f"{hub.address}/{kind}{name}", "name": name})
            elif self.path == "/api/validate-yaml":
                self.answer(200, {"errors": [], "warnings": []})
            elif _PREUPLOAD.fullmatch(self.path):
                paths = [file["path"] for file in json.loads(body)["files"]]
                sent = [
                    {"path": path, "uploadMode": "regular", "shouldIgnore": False} for path in paths
                ]
                self.answer(200, {"files": sent})
            elif found := _COMMIT.fullmatch(self.path.partition("?")[0]):
                self.commit(found[2], body)
            else:
                self.answer(404, {"error": "not here"})

        def commit(self, name: str, body: bytes) -> None:
            kept = hub.files.setdefault(name, {})
            for line in body.splitlines():
                row = json.loads(line)
                if row["key"] == "file":
                    kept[row["value"]["path"]] = base64.b64decode(row["value"]["content"])
            oid = "0" * 40
            self.answer(
                200,
                {"success": True, "commitUrl": f"{hub.address}/{name}/commit/{oid}",
                 "commitOid": oid},
            )  # fmt: skip

        def do_GET(self) -> None:
            self.answer(404, {"error": "not here"})

        def answer(self, status: int, value: Any) -> None:
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *parts: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub = Hub(f"http://127.0.0.1:{server.server_port}", [], {}, set())
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
