"""Deadlines of endpoints: whatever a server does, or leaves undone, a call comes to an end."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from typing import Any

import pytest

from gamedsl.policies.endpoint import Endpoint, EndpointError, EndpointSettings
from gamedsl.policies.generation import Request
from tests.evaluate.serving import Reply, serving
from tests.evaluate.sockets import Caller, answering, completion, ends, head, whole

ASKED = [("system", "Rules."), ("user", "Choose.")]
LONG_REQUEST = [("user", "x" * 20_000_000)]


def settings(**changed: Any) -> EndpointSettings:
    return EndpointSettings(**{"first_wait": 0.01, "timeout": 0.5, "retries": 0, **changed})


def body_begun(caller: Caller) -> None:
    caller.send(head("200 OK", "Content-Length: 100000"))


def trickled_body(caller: Caller) -> None:
    body_begun(caller)
    caller.trickle(b'{"choices": ')


def trickled_chunks(caller: Caller) -> None:
    caller.send(head("200 OK", "Transfer-Encoding: chunked"))
    while not caller.closing.wait(0.05):
        caller.send(b"1\r\n \r\n")


def trickled_headers(caller: Caller) -> None:
    caller.trickle(head("200 OK", "X-Long: " + "x" * 1000))


def flood_of_continues(caller: Caller) -> None:
    caller.flood(head("100 Continue") * 100)


def slow_continues(caller: Caller) -> None:
    while not caller.closing.wait(0.05):
        caller.send(head("100 Continue"))


def endless_headers(caller: Caller) -> None:
    caller.send(b"HTTP/1.1 200 OK\r\n")
    caller.flood(b"X-More: " + b"x" * 1000 + b"\r\n")


def silence(caller: Caller) -> None:
    caller.hang()


def silent_body(caller: Caller) -> None:
    body_begun(caller)
    caller.hang()


@pytest.mark.parametrize(
    "act",
    [
        trickled_body, trickled_chunks, trickled_headers, flood_of_continues, slow_continues,
        endless_headers, silence, silent_body,
    ],
)  # fmt: skip
def test_attempts_end_at_their_deadline(act: Callable[[Caller], None]) -> None:
    with answering(act) as served:
        endpoint = Endpoint(served.url, "m", settings(retries=1))
        with pytest.raises(EndpointError, match="no reply in 2 attempts"):
            ends(lambda: endpoint.replies([ASKED]))
        assert len(served.callers) == endpoint.calls == 2


def test_servers_that_read_nothing_are_cut_off() -> None:
    with answering(Caller.hang, read=False) as served:
        endpoint = Endpoint(served.url, "m", settings())
        with pytest.raises(EndpointError, match="no answer within"):
            ends(lambda: endpoint.replies([LONG_REQUEST]))


def test_servers_that_read_slowly_are_cut_off() -> None:
    def act(caller: Caller) -> None:
        while not caller.closing.wait(0.02):
            caller.stream.recv(5000)

    with answering(act, read=False) as served:
        endpoint = Endpoint(served.url, "m", settings())
        with pytest.raises(EndpointError, match="no answer within"):
            ends(lambda: endpoint.replies([LONG_REQUEST]))


def test_half_open_tls_handshakes_are_cut_off() -> None:
    with answering(Caller.hang, read=False) as served:
        endpoint = Endpoint(served.url.replace("http:", "https:"), "m", settings())
        with pytest.raises(EndpointError, match="no answer within"):
            ends(lambda: endpoint.replies([ASKED]))


def test_slow_name_lookup_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    real = socket.getaddrinfo

    def look_up(host: Any, *more: Any, **named: Any) -> Any:
        if host == "model.example" and not named.get("flags"):
            time.sleep(40)
        return real(host, *more, **named)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    endpoint = Endpoint("http://model.example/v1", "m", settings())
    with pytest.raises(EndpointError, match="no answer within"):
        ends(lambda: endpoint.replies([ASKED]))


@pytest.mark.parametrize("asked", ["999999999", "1e300", "901"])
def test_absurd_waits_end_the_call(asked: str) -> None:
    with serving(lambda n, body: Reply(status=429, headers={"Retry-After": asked})) as served:
        endpoint = Endpoint(served.url, "m", settings(timeout=5.0, retries=5))
        with pytest.raises(EndpointError, match=r"asks to wait [\d.e+]+ s: 429"):
            ends(lambda: endpoint.replies([ASKED]))
        assert len(served.asked) == 1


def test_calls_end_at_their_deadline() -> None:
    """Attempts and pauses together: there would be a hundred of them."""
    with serving(lambda n, body: Reply(status=503, headers={"Retry-After": "0.5"})) as served:
        patient = settings(timeout=5.0, retries=100, call_timeout=3.0)
        endpoint = Endpoint(served.url, "m", patient)
        with pytest.raises(EndpointError, match="no reply within 3 s: 503"):
            ends(lambda: endpoint.replies([ASKED]))
        assert 1 < len(served.asked) <= 7


def test_attempts_have_what_calls_have_left() -> None:
    with answering(silence) as served:
        endpoint = Endpoint(served.url, "m", settings(timeout=60, call_timeout=0.5, retries=9))
        with pytest.raises(EndpointError, match=r"no reply within 0\.5 s: no answer"):
            ends(lambda: endpoint.replies([ASKED]))


@pytest.mark.parametrize("seconds", [1e300, float("inf")])
def test_patience_may_be_endless(seconds: float) -> None:
    with serving(lambda n, body: Reply("yes")) as served:
        endless = settings(timeout=seconds, call_timeout=seconds)
        assert ends(lambda: Endpoint(served.url, "m", endless).replies([ASKED])) == ["yes"]


def test_one_failure_ends_waiting_calls() -> None:
    """Others wait for their next attempt, which none of them makes."""

    def answer(number: int, body: dict[str, Any]) -> Reply:
        if body["seed"] == 3:
            return Reply(status=401, wait=0.3)
        return Reply(status=429, headers={"Retry-After": "600"})

    with serving(answer) as served:
        endpoint = Endpoint(served.url, "m", settings(retries=5, timeout=5.0))
        asked = [Request((("user", "x"),), "a", 7, seed=seed) for seed in range(4)]
        with pytest.raises(EndpointError, match="refuses: 401"):
            ends(lambda: endpoint.answers(asked))
        assert len(served.asked) <= 4


def test_redirects_are_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-0123456789")
    with serving(lambda n, body: Reply("stolen")) as other:
        moved = {"Location": f"{other.url}/chat/completions"}
        with serving(lambda n, body: Reply(status=307, headers=moved)) as served:
            endpoint = Endpoint(served.url, "m", settings(key_env="MY_KEY", timeout=5.0))
            with pytest.raises(EndpointError, match="refuses: 307") as caught:
                endpoint.replies([ASKED])
    assert not other.asked
    assert "nobody is sent elsewhere" in caught.value.fix


def test_connections_are_used_again() -> None:
    def act(caller: Caller) -> None:
        while caller.asked:
            caller.send(whole(completion()).replace(b"Connection: close\r\n", b""))
            caller.read()

    with answering(act) as served:
        endpoint = Endpoint(served.url, "m", settings(timeout=5.0))
        assert [endpoint.replies([ASKED]) for _ in range(3)] == [["yes"]] * 3
        assert len(served.callers) == 1
    with answering(lambda caller: caller.send(whole(completion()))) as closing:
        endpoint = Endpoint(closing.url, "m", settings(timeout=5.0, retries=2))
        assert [endpoint.replies([ASKED]) for _ in range(3)] == [["yes"]] * 3


def test_proxies_of_the_environment_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(lambda n, body: Reply("by proxy")) as served:
        port = served.url.split(":")[2].partition("/")[0]
        monkeypatch.setenv("http_proxy", f"http://me:pass%20word@127.0.0.1:{port}")
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        endpoint = Endpoint("http://model.example/v1", "m", settings(timeout=5.0))
        assert endpoint.replies([ASKED]) == ["by proxy"]
        assert served.headers[0]["proxy-authorization"] == "Basic bWU6cGFzcyB3b3Jk"
        assert served.asked[0]["path"] == "http://model.example/v1/chat/completions"
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        assert Endpoint(served.url, "m", settings(timeout=5.0)).replies([ASKED]) == ["by proxy"]
        assert served.asked[1]["path"] == "/v1/chat/completions"
