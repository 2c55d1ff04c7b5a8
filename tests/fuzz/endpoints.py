"""Servers that misbehave, on a real socket: what they send, in which pieces, and how it ends.

An answer is put together at random of a status line, headers, a body, a framing and a pace; the key
is in many of them. The oracle: a call ends, in a time that the guard limits, with a reply, a
refused reply or an EndpointError; a command ends with an exit code of its own; and no key is in
anything that is printed, raised or written.
"""

from __future__ import annotations

import base64
import ctypes
import gzip
import io
import json
import os
import threading
import traceback
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from random import Random
from urllib.parse import quote

from gamedsl.cli import main
from gamedsl.policies.endpoint import Endpoint, EndpointError, EndpointSettings
from gamedsl.policies.endpoint_protocol import LONGEST_TEXT, REFUSALS
from gamedsl.policies.generation import Request
from tests.evaluate.sockets import Caller, answering, completion, whole
from tests.fuzz import Case, Limits, Outcome

NAME = "endpoints"
BATCH = 10
LIMITS = Limits(cpu=20.0, wait=60.0, memory=600 << 20)
"""A call that waits for longer than this misses its deadline; a machine may do much else."""

KEY = "sk-Fuzz/0123+Key&x"
KEYS = (
    KEY, KEY.lower(), quote(KEY, safe=""), json.dumps(KEY)[1:-1].replace("/", "\\/"),
    base64.b64encode(b":" + KEY.encode()).decode(), "".join(f"\\u{ord(c):04x}" for c in KEY),
)  # fmt: skip
SEEN = (
    "fuzz/0123+key", "fuzz%2f0123%2bkey",
    *(base64.b64encode(b"x" * n + KEY.encode()).decode()[4:-4].lower() for n in range(3)),
)  # fmt: skip
"""Parts by which the key is recognised in small letters, each in one form."""

TIMEOUT, CALL_TIMEOUT, CALLS = 0.3, 1.5, 3

EVAL = ("eval", "--game", "rock_paper_scissors")

Step = tuple[str, str]
"""A step of an answer: `send` and bytes in base64, `pause` and seconds, or how it ends."""


def warm() -> None:
    """Imports what cases need before children fork. Threads reserve address space, of which the
    guard allows little: for their stacks, and for the heaps that the C library gives them."""
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        main([*EVAL, "random", "--games", "2", "--method", "sampled"])
    threading.stack_size(1 << 20)
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(-8, 2)


def cases(seed: int) -> Iterator[Case]:
    """Yields scripts of servers without end: a few answers, given in turn."""
    random = Random(f"endpoints {seed}")
    while True:
        answers = [_answer(random) for _ in range(random.choice((1, 1, 2, 4)))]
        if random.random() < 0.7:  # a server that has answered once is a chat endpoint
            answers.insert(0, [("send", _text(whole(completion("yes"))))])
        script = {
            "command": random.random() < 0.15,
            "key": random.random() < 0.9,
            "reads": random.random() < 0.95,
            "answers": answers,
        }
        yield case_of({"script.json": json.dumps(script, indent=0).encode()})


def case_of(files: Mapping[str, bytes]) -> Case:
    """Returns the case of a script."""

    def run() -> Outcome:
        try:
            script = json.loads(files["script.json"])
            answers = [[(str(kind), str(what)) for kind, what in one] for one in script["answers"]]
            settings = bool(script["command"]), bool(script["key"]), bool(script["reads"])
        except (ValueError, KeyError, TypeError):
            return Outcome()  # shrinking made it no script
        return _served(answers, *settings)

    told = f"{len(files.get('script.json', b''))} bytes of script"
    return Case(told, files, run, LIMITS)


# what servers send

STATUSES = (
    *["200 OK"] * 12, "401 No", "404 No", "400 No", "429 Busy", "500 Oops", "503 Busy", "302 Moved",
    "307 Moved", "204 Nothing", "206 Part", "100 Continue", "101 Switch", "103 Hints", "999 Odd",
    "200", "20 OK", "2000 OK", "-1 OK", "ok", "200 OK\x00", "200 \u00e9", "200 \x1b[31m",
)  # fmt: skip
VERSIONS = (*["HTTP/1.1"] * 12, "HTTP/1.0", "HTTP/2", "HTTP/9.9", "ICY", "", "\x16\x03\x01")
CHARSETS = ("utf-8", "utf-16", "utf-7", "idna", "hex", "zlib_codec", "rot13", "é", '"', "x" * 999)
HEADERS = (
    "Retry-After: 999999999", "Retry-After: 1e300", "Retry-After: -1", "Retry-After: nan",
    "Retry-After: Sun, 06 Nov 1994 08:49:37 GMT", "Retry-After: Sun, 06 Nov 99999 08:49:37 GMT",
    "Retry-After: " + "9" * 5000, "Retry-After: 0, 1", "Retry-After: Mon, 1 -1 0 99:99:99 -9999",
    "Location: http://127.0.0.1:1/v1", "Set-Cookie: a=b", "Connection: close", "Connection: x",
    "Connection: upgrade\r\nUpgrade: x", "Content-Encoding: gzip", "Content-Encoding: deflate",
    "Content-Encoding: zstd", "Content-Encoding: br, gzip", "Content-Encoding: x" * 3,
    "Content-Type: text/event-stream", "Transfer-Encoding: chunked", "Transfer-Encoding: gzip",
    "Transfer-Encoding: chunked, chunked", "Content-Length: -1", "Content-Length: 20000000000",
    "Content-Length: " + "9" * 5000, "Content-Length: 1\r\nContent-Length: 2", "Content-Length: ٣",
    "Content-Length: 0x10", ": none", "No colon", " folded", "X: \x00", "X: \ud83d", "X: " * 50,
    "X: " + "y" * 200_000, "\r\n".join(f"X-{n}: {n}" for n in range(3000)), "Trailer: X",
)  # fmt: skip


def _answer(random: Random) -> list[Step]:
    """Returns the steps of an answer; one of six is as it should be."""
    if random.random() < 1 / 6:
        return [("send", _text(whole(completion(random.choice(("yes", "", "L", "\x1b[2J"))))))]
    body = _body(random)
    lines = random.choices(HEADERS, k=random.choice((0, 0, 1, 1, 2, 5)))
    if random.random() < 0.3:
        lines.append(f"Content-Type: application/json; charset={random.choice(CHARSETS)}")
    if random.random() < 0.2:
        lines.append(f"{random.choice(('X', 'Location', 'Retry-After'))}: {random.choice(KEYS)}")
    if random.random() < 0.4:
        body, encoding = _encoded(body, random)
        lines += encoding
    body = _framed(body, lines, random)
    status = random.choice(STATUSES)
    if random.random() < 0.2:
        status += " " + random.choice(KEYS)
    end = random.choice(("\r\n", "\r\n", "\r\n", "\r\n", "\n", "\r", "\x00"))
    head = end.join([f"{random.choice(VERSIONS)} {status}", *lines, "", ""])
    data = head.encode("utf-8", "surrogatepass") + body
    if random.random() < 0.2:
        interim = f"HTTP/1.1 {random.choice(('100 Continue', '103 Hints', '102 Wait'))}\r\n\r\n"
        data = interim.encode() * random.choice((1, 2, 5000)) + data
    if random.random() < 0.15:
        at = random.randint(0, len(data))
        data = data[:at] + random.randbytes(random.randint(1, 20)) + data[at:]
    return _paced(data, random)


def _body(random: Random) -> bytes:
    """Returns a body: a chat completion with something odd about it, or something else."""
    key = random.choice(KEYS)
    good = json.dumps(completion("yes"))
    odd = random.choice(ODD)
    texts: list[Callable[[], str]] = [
        lambda: good.replace('"yes"', odd),
        lambda: good.replace('"yes"', f'"of {key} no"'),
        lambda: good[:-1] + f', "usage": {{"total_tokens": {odd}, "completion_tokens": {odd}}}}}',
        lambda: good[:-1] + f', "usage": {odd}}}',
        lambda: good.replace('"stop"', odd),
        lambda: good.replace('"role"', f'"reasoning_content": {odd}, "role"'),
        lambda: good.replace('"index": 0', f'"stop_reason": {odd}'),
        lambda: good.replace('"index": 0', f'"message": {odd}'),
        lambda: good.replace("[{", "[" + "{}," * random.randrange(4) + "{"),
        lambda: '{"choices": ' + odd + "}",
        lambda: f'{{"{key}": 1, "{key}": 2, "choices": []}}',
        lambda: f'{{"error": {{"message": "the key {key} is wrong", "{key}": {odd}}}}}',
        lambda: f"<html>{key}</html>",
        lambda: f"data: {good}\n\ndata: [DONE]\n\n",
        lambda: good + good,
        lambda: good[: random.randrange(len(good))],
        lambda: odd,
        lambda: key * random.choice((1, 5000)),
        lambda: "",
        lambda: " " * random.choice((1, 5_000_000)) + good,
    ]
    data = random.choice(texts)().encode("utf-8", "surrogatepass")
    if random.random() < 0.1:
        data = data.decode("utf-8", "replace").encode(random.choice(("utf-16", "utf-32", "utf-7")))
    if random.random() < 0.1:
        at = random.randint(0, len(data))
        data = data[:at] + bytes([random.randrange(256)]) + data[at + 1 :]
    return data


ODD = (
    "null", "true", "-1", "0", "7", "1e999", "1e-999999999", "NaN", "-Infinity", "9" * 5000, "[]",
    "{}", '""', '"\\ud83d"', '"\ud83d"', '"\\u0000"', '"\\u001b[2J"', "[" * 3000 + "]" * 3000,
    '{"a":' * 3000 + "1" + "}" * 3000, '[{"type": "text", "text": "yes"}]', '{"text": "yes"}',
    '"' + "x" * (LONGEST_TEXT + 1) + '"', "[" + "[]," * 200_000 + "0]", '"\u202e\u0085"', "'yes'",
    '{"a": 1, "a": 2}', f'"{KEY}"', f'["{KEY}"]', '"</think>"', "-0", "0.1", "1" * 400,
)  # fmt: skip


def _encoded(body: bytes, random: Random) -> tuple[bytes, list[str]]:
    """Returns a compressed body and its header; now and then it is a bomb, or cut."""
    if random.random() < 0.2:
        body = b" " * random.choice((10**6, 5 * 10**7))
    name, pack = random.choice((("gzip", gzip.compress), ("deflate", zlib.compress)))
    data = pack(body)
    return data[: random.choice((len(data), len(data), len(data) // 2))], [
        f"Content-Encoding: {name}"
    ]


def _framed(body: bytes, lines: list[str], random: Random) -> bytes:
    """Returns a body as it is sent, and adds the header that says so."""
    kind = random.random()
    if kind < 0.5:
        lines.append(f"Content-Length: {len(body) + random.choice((0, 0, 0, 0, 1, -1, 1000))}")
        return body
    if kind < 0.6:
        return body
    lines.append("Transfer-Encoding: chunked")
    size = random.choice((1, 7, 1000, 10**6)) if len(body) < 20_000 else 10**5
    parts = [body[i : i + size] for i in range(0, len(body), size)]
    chunks = [b"%x\r\n%s\r\n" % (len(part), part) for part in parts]
    if random.random() < 0.3:
        bad = (b"zz\r\n", b"-1\r\n\r\n", b"f" * 200 + b"\r\n", b"5;" + b"x" * 10**5, KEY.encode())
        chunks.insert(random.randint(0, len(chunks)), random.choice(bad))
    return b"".join(chunks) + random.choice((b"0\r\n\r\n", b"0\r\n\r\n", b"", b"0\r\nX: y\r\n\r\n"))


def _paced(data: bytes, random: Random) -> list[Step]:
    """Returns the steps in which bytes are sent, and how it ends."""
    at = random.randint(0, len(data))
    ends: tuple[list[Step], ...] = (
        *[[("send", _text(data))]] * 6,
        [("send", _text(data[:at])), ("pause", "0.05"), ("send", _text(data[at:]))],
        [("send", _text(data[:at]))],
        [("send", _text(data[:at])), ("reset", "")],
        [("send", _text(data[:at])), ("hang", "")],
        [("send", _text(data[:at])), ("trickle", _text(data[at : at + 2000]))],
        [("send", _text(data[:at])), ("flood", _text(data[at : at + 2000] or b"x"))],
        [("send", _text(data)), ("hang", "")],
        [("flood", _text(data[:5000] or b"x"))],
        [("hang", "")],
        [("reset", "")],
        [],
    )
    return random.choice(ends)


def _text(data: bytes) -> str:
    """Bytes as a script has them; small, since what is sent again and again packs well."""
    return base64.b85encode(zlib.compress(data)).decode()


def _data(text: str) -> bytes:
    try:
        return zlib.decompress(base64.b85decode(text))
    except (ValueError, zlib.error):
        return b""


def _give(caller: Caller, steps: list[Step]) -> None:
    for kind, what in steps:
        if kind == "send":
            caller.send(_data(what))
        elif kind == "pause":
            caller.closing.wait(0.05)
        elif kind == "trickle":
            caller.trickle(_data(what) or b"x", 0.02)
        elif kind == "flood":
            caller.flood(_data(what) or b"x")
        elif kind == "hang":
            caller.hang()
        elif kind == "reset":
            caller.reset()
            return


# the oracle


def _served(answers: list[list[Step]], command: bool, key: bool, reads: bool) -> Outcome:
    def act(caller: Caller) -> None:
        if answers:
            _give(caller, answers[caller.number % len(answers)])

    os.environ.pop("FUZZ_KEY", None)
    if key:
        os.environ["FUZZ_KEY"] = KEY
    with answering(act, read=reads) as served:
        if command:
            return _evaluated(served.url, key)
        return _asked(served.url, key)


def _asked(url: str, key: bool) -> Outcome:
    """Asks an endpoint by itself."""
    settings = EndpointSettings(
        key_env="FUZZ_KEY" if key else None, timeout=TIMEOUT, call_timeout=CALL_TIMEOUT, retries=2,
        first_wait=0.01, concurrency=CALLS, tokens=10**6,
    )  # fmt: skip
    endpoint = Endpoint(url, "m", settings)
    asked = [Request((("user", "say yes"),), "a", 7, seed=seed, stop=("END",)) for seed in range(3)]
    try:
        found = endpoint.answers(asked[:1]) + endpoint.answers(asked[1:])
    except EndpointError as error:
        shown, word = "".join(traceback.format_exception(error)) + repr(vars(error)), "ended"
    else:
        shown, word = repr(found), "replies"
        for one in found:
            if one.refused is not None and one.refused not in REFUSALS.values():
                return Outcome("no place", f"refused without a reason: {one}")
            word = one.refused or word
    if leak := _leak(shown + repr(endpoint) + repr(settings), key):
        return leak
    if not 0 <= endpoint.tokens <= 3 * 10**9 or endpoint.calls > 9:
        return Outcome("disagreement", f"{endpoint.calls} calls, {endpoint.tokens} tokens")
    return Outcome(counted=(word,))


def _evaluated(url: str, key: bool) -> Outcome:
    """Runs `gamedsl eval` in this process."""
    out, err = io.StringIO(), io.StringIO()
    here = Path.cwd()
    files = ["--out", str(here / "out.json"), "--leaderboard", str(here / "board.json")]
    arguments = [
        *EVAL, f"far=endpoint:{url}#m", "--against", "random", "--games", "4", *files, "--timeout",
        str(TIMEOUT), "--call-timeout", str(CALL_TIMEOUT), "--retries", "1",
        *(["--key-env", "FUZZ_KEY"] if key else []),
    ]  # fmt: skip
    with redirect_stdout(out), redirect_stderr(err):
        code = main(arguments)
    written = ""
    for path in here.rglob("*"):
        with suppress(OSError):
            written += path.read_text(encoding="utf-8") if path.is_file() else ""
    if leak := _leak(out.getvalue() + err.getvalue() + written, key):
        return leak
    if code not in (0, 1, 2) or "Traceback" in err.getvalue():
        return Outcome("traceback", f"{code}: {err.getvalue()}", "eval")
    if code == 2 and "fix:" not in err.getvalue() and "help:" not in err.getvalue():
        return Outcome("no place", f"no remedy: {err.getvalue()}", "eval")
    if "\x1b" in out.getvalue() + err.getvalue():
        return Outcome("leak", "a server's control characters reach the terminal", "eval")
    return Outcome(counted=(f"eval {code}",))


def _leak(text: str, key: bool) -> Outcome | None:
    text = text.lower()
    found = next((part for part in SEEN if part in text), None) if key else None
    return None if found is None else Outcome("leak", text[:4000], found)
