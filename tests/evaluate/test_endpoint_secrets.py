"""Keys that servers send back: struck out wherever text of a server enters."""

from __future__ import annotations

import html
import json
import logging
import traceback
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

import gamedsl
from gamedsl.cli import main
from gamedsl.players.base import Posed
from gamedsl.players.endpoint import EndpointPlayer
from gamedsl.policies.endpoint import Endpoint, EndpointError, EndpointSettings
from tests.evaluate.serving import Reply, serving
from tests.evaluate.sockets import Caller, answering, completion, head, whole
from tests.writing import write

KEY = "sk-Proj/0123+abc&d"
"""It has letters that addresses, JSON, HTML and base64 write in other ways."""
ASKED = [("system", "Rules."), ("user", "Choose.")]
FORMS = [
    KEY, KEY.upper(), quote(KEY, safe=""), quote(KEY, safe="").lower(), html.escape(KEY),
    json.dumps(KEY)[1:-1].replace("/", "\\/"), "".join(f"\\u{ord(c):04x}" for c in KEY),
    *(b64encode(b"x" * n + KEY.encode()).decode() for n in range(3)),
    urlsafe_b64encode(b"user:" + KEY.encode()).decode(),
]  # fmt: skip


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", KEY)


def settings(**changed: object) -> EndpointSettings:
    usual = {"key_env": "MY_KEY", "first_wait": 0.01, "timeout": 5.0, "retries": 0}
    return EndpointSettings(**{**usual, **changed})


def has_key(text: str) -> bool:
    """Whether the middle of the key can be read, in whatever form."""
    text = text.lower()
    core = {"0123+abc", "0123%2babc", "0123%2Babc", "\\u0030\\u0031\\u0032\\u0033"}
    core |= {b64encode(b"x" * n + KEY.encode()).decode()[4:-4] for n in range(3)}
    return any(part.lower() in text for part in core)


def failure(act: Callable[[Caller], None], **changed: object) -> str:
    """All that is printed of an error, its causes included."""
    with answering(act) as served:
        endpoint = Endpoint(served.url, "m", settings(**changed))
        with pytest.raises(EndpointError) as caught:
            endpoint.replies([ASKED])
    error = caught.value
    seen = [*traceback.format_exception(error), repr(error), repr(error.args)]
    return "".join([*seen, repr(vars(error)), repr(endpoint), repr(endpoint.settings)])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("status", ["401 No", "400 No", "302 No", "500 No", "429 No"])
def test_keys_in_errors_are_struck_out(form: str, status: str) -> None:
    assert has_key(form)
    told = failure(lambda caller: caller.send(whole(f"of {form} no".encode(), status=status)))
    assert f"{status}: of " in told
    assert not has_key(told)
    assert not has_key(failure(lambda caller: caller.send(whole(b"no", status=f"400 key {form}"))))


@pytest.mark.parametrize(
    "data",
    [
        f"HTTP/1.1 {KEY} no\r\n\r\n".encode(),
        f"{KEY}\r\n\r\n".encode(),
        head("200 OK", f"{KEY}"),
        head("200 OK", f"Content-Length: {KEY}"),
        head("200 OK", "Transfer-Encoding: chunked") + f"{KEY}\r\n".encode(),
        head("200 OK", f"Transfer-Encoding: {KEY}"),
        whole({KEY: [KEY]}),
        whole({"error": {"message": f"no {KEY}", KEY: KEY}}),
        whole(f"<html>{KEY}</html>".encode()),
        whole(b"no", f"Retry-After: {KEY}", status="429 No"),
        whole(b"no", f"Location: http://{KEY}.example/", status="307 No"),
    ],
)
def test_keys_in_broken_answers_are_struck_out(data: bytes) -> None:
    assert not has_key(failure(lambda caller: caller.send(data)))


@pytest.mark.parametrize("form", FORMS)
def test_keys_in_replies_are_struck_out(form: str) -> None:
    text = f"the key is {form}, keep it"
    with serving(lambda number, body: Reply(text, more={"stop_reason": KEY})) as served:
        endpoint = Endpoint(served.url, "m", settings())
        (reply,) = endpoint.replies([ASKED])
        assert reply.startswith("the key is ")
        escaped = "\\" in form  # in a JSON text that is a form of a text in which it is escaped
        assert not has_key(reply) or escaped
    raw = '{"choices": [{"message": {"content": "the key is ' + form + '!"}}]}'
    with answering(lambda caller: caller.send(whole(raw.encode()))) as served:
        assert not has_key(Endpoint(served.url, "m", settings()).replies([ASKED])[0])


def test_keys_reach_no_file_of_an_evaluation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """In a game in words: what is said goes into prompts, transcripts, results and leaderboards."""
    game = write(tmp_path, """
game: chat
roles: [ann, bob]
turns:
  - {role: ann, say: line, max_tokens: 20}
  - {role: bob, say: line, max_tokens: 20}
payoffs: 1
""")  # fmt: skip
    caplog.set_level(logging.DEBUG)
    with serving(lambda number, body: Reply(f"my key is {KEY}", usage={KEY: 1})) as served:
        code = main([
            "eval", f"far=endpoint:{served.url}#m", "--against", "random", "--game", str(game),
            "--games", "4", "--key-env", "MY_KEY", "--transcripts", str(tmp_path / "games"),
            "--out", str(tmp_path / "out.json"), "--leaderboard", str(tmp_path / "board.json"),
        ])  # fmt: skip
        assert code == 0
        assert not has_key(json.dumps(served.asked))
    out, err = capsys.readouterr()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 4
    written = "".join(path.read_text(encoding="utf-8") for path in files)
    assert "my key is …" in written
    assert not has_key(out + err + written)


def test_caches_hold_no_key() -> None:
    with serving(lambda number, body: Reply(f"my key is {KEY}")) as served:
        endpoint = Endpoint(served.url, "m", settings())
        episode = gamedsl.load("guess_in_words").env().reset(seed=0)
        decision = episode.decisions[0]
        player = EndpointPlayer(endpoint)
        for _ in range(2):
            (answered,) = player.answers([Posed(decision, episode, 7)])
            assert answered.text == "my key is …"
        assert len(served.asked) == 1


@pytest.mark.parametrize("key", ["EMPTY", "a", "x1"])
def test_placeholders_are_not_struck_out_of_replies(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", key)
    text = f"an EMPTY box, a axe x1 {key}"
    with serving(lambda number, body: Reply(text)) as served:
        assert Endpoint(served.url, "m", settings()).replies([ASKED]) == [text]
    assert "key …" in failure(lambda caller: caller.send(whole(b"key " + key.encode(),
                                                               status="401 No")))  # fmt: skip


def test_passwords_of_proxies_are_struck_out(monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(lambda caller: caller.send(whole(b"no pass word!", status="407 No"))) as proxy:
        address = proxy.url.removeprefix("http://").removesuffix("/v1")
        monkeypatch.setenv("http_proxy", f"http://me:pass%20word!@{address}")
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        with pytest.raises(EndpointError, match="407 No: no …"):
            Endpoint("http://model.example/v1", "m", settings()).replies([ASKED])


def test_own_keys_in_arguments_are_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """A key instead of a variable's name, and a key or a password in an address."""
    url = "http://127.0.0.1:9/v1"
    for more in (["--key-env", "sk-secret"], ["--key-env", "MY_KEY"]):
        base = f"{url}/{KEY}" if more[1] == "MY_KEY" else url
        with pytest.raises(EndpointError) as caught:
            Endpoint(base, "m", settings(key_env=more[1]))
        assert "secret" not in str(caught.value)
        assert not has_key(str(caught.value))
    for url in (f"http://me:{KEY}@host/v1", f"http://host/v1?key={KEY}", f"http://host/v1#{KEY}"):
        with pytest.raises(EndpointError, match="no address") as caught:
            Endpoint(url, "m")
        assert not has_key(str(caught.value))
    assert main(["eval", f"endpoint:http://me:{KEY}@host/v1#m", "--game", "kuhn_poker"]) == 2
    assert not has_key("".join(capsys.readouterr()))


def test_errors_hold_no_control_characters() -> None:
    body = "\x1b[2J\x07red\u202edaed\ud83d\x00".encode("utf-8", "surrogatepass")
    told = failure(lambda caller: caller.send(whole(body, status="400 \x1b[31mNo")))
    said = told.split("fix:")[0]
    assert "\x1b" not in said
    assert "\u202e" not in said
    assert "\x00" not in said


def test_long_errors_are_cut() -> None:
    told = failure(lambda caller: caller.send(whole(b"x" * 10**6, status="400 " + "y" * 5000)))
    assert len(told) < 20_000
    assert completion()
