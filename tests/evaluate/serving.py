"""A real HTTP server on this host that answers in the form of chat completions."""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from gamedsl.policies.generation import Generated, Request

Body = dict[str, Any]


@dataclass
class Reply:
    """What the server sends."""

    content: str | None = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    wait: float = 0.0
    raw: str | None = None
    finish: str = "stop"
    usage: Body | None = None
    """Tokens as the server counts them; None: it does not say."""
    more: Body = field(default_factory=dict)
    """What else is said of the choice."""
    calls: Any = None
    """The `tool_calls` of the message."""
    message: Body = field(default_factory=dict)
    """What else is in the message, such as a thought that is given apart."""


@dataclass
class Served:
    """A server under way: where it is, and what it was asked."""

    url: str
    asked: list[Body] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    at_once: int = 0
    """The most calls under way at a time."""


@contextmanager
def serving(answer: Callable[[int, Body], Reply]) -> Iterator[Served]:
    """Serve; `answer` is given the number of the call, from 0, and its body."""
    lock, under_way = threading.Lock(), [0]

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                number = len(served.asked)
                served.asked.append({"path": self.path, **body})
                served.headers.append({k.lower(): v for k, v in self.headers.items()})
                under_way[0] += 1
                served.at_once = max(served.at_once, under_way[0])
            reply = answer(number, body)
            time.sleep(reply.wait)
            with lock:
                under_way[0] -= 1
            message: Body = {"role": "assistant", "content": reply.content, **reply.message}
            if reply.calls is not None:
                message["tool_calls"] = reply.calls
            choice = {"index": 0, "message": message, "finish_reason": reply.finish, **reply.more}
            whole: Body = {"choices": [choice]}
            if reply.usage is not None:
                whole["usage"] = reply.usage
            text = json.dumps(whole)
            data = (text if reply.raw is None else reply.raw).encode()
            try:
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
            except OSError:
                pass  # the client gave the call up

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    served = Served(f"http://127.0.0.1:{server.server_address[1]}/v1")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def serving_model(policy: Any, adapter: str = "shared") -> Iterator[Served]:
    """Serve a policy that writes, for real: calls that wait at the same time are one batch of it.
    `max_tokens`, `temperature`, `seed`, `stop`, `structured_outputs` and `continue_final_message`
    count as they do in vLLM."""
    waiting: queue.SimpleQueue[tuple[Request, Future[Generated]] | None] = queue.SimpleQueue()

    def work() -> None:
        while (first := waiting.get()) is not None:
            time.sleep(0.05)  # for those that come at the same time
            batch = [first]
            while not waiting.empty() and (more := waiting.get()) is not None:
                batch.append(more)
            replies = policy.generate([request for request, _ in batch])
            for (_, future), reply in zip(batch, replies, strict=True):
                future.set_result(reply)

    def answer(number: int, body: Body) -> Reply:
        messages = [(one["role"], one["content"]) for one in body["messages"]]
        held, begun = body.get("structured_outputs", {}), ""
        if body.get("continue_final_message"):
            *messages, (_, begun) = messages
        request = Request(
            tuple(messages), adapter, body["max_tokens"], body["temperature"],
            tuple(body.get("stop", ())), schema=held.get("json"),
            choices=tuple(held.get("choice", ())), seed=body["seed"],
            prefix=policy.tokenizer.ids(begun),
        )  # fmt: skip
        future: Future[Generated] = Future()
        waiting.put((request, future))
        made = future.result()
        written = len(made.reply_ids)
        usage = {"completion_tokens": written, "total_tokens": len(made.prompt_ids) + written}
        stopped = next((s for s in request.stop if made.text.endswith(s)), None)
        return Reply(
            made.text.removesuffix(stopped or ""), finish=made.finish, usage=usage,
            more={} if stopped is None else {"stop_reason": stopped},
        )  # fmt: skip

    worker = threading.Thread(target=work)
    worker.start()
    try:
        with serving(answer) as served:
            yield served
    finally:
        waiting.put(None)
        worker.join()


def options_in(body: Body) -> list[str]:
    """The labels that a prompt lists at its end."""
    return str(body["messages"][-1]["content"]).partition("Options:\n")[2].splitlines()
