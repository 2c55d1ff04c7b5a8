"""Answers that are no reply: each is one refused reply with its reason, and the rest goes on."""

from __future__ import annotations

import gzip
import json
import tracemalloc
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

import gamedsl
from gamedsl.cli import main
from gamedsl.evaluate import Options, evaluate
from gamedsl.evaluate.plan import referees_of
from gamedsl.policies.endpoint import Endpoint, EndpointError, EndpointSettings
from gamedsl.policies.endpoint_protocol import LARGEST_BODY, LONGEST_TEXT, REFUSALS
from gamedsl.storage.strict_json import Kind
from tests.evaluate.serving import Reply, options_in, serving
from tests.evaluate.small import RPS, plan_of
from tests.evaluate.sockets import Caller, answering, completion, ends, head, whole

ASKED = [("system", "Rules."), ("user", "Choose.")]
GOOD = json.dumps(completion("yes")).encode()
ZEROS = zlib.compressobj(9, wbits=31)


def settings(**changed: Any) -> EndpointSettings:
    return EndpointSettings(**{"first_wait": 0.01, "timeout": 20.0, "retries": 0, **changed})


def with_content(text: str) -> bytes:
    """A completion whose content is written as it is."""
    return GOOD.replace(b'"yes"', text.encode("utf-8", "surrogatepass"))


def with_choices(*choices: Any) -> bytes:
    return json.dumps({"choices": choices}).encode()


def with_calls(*calls: Any) -> bytes:
    return with_choices({"message": {"content": None, "tool_calls": calls}})


CALL = {"type": "function", "function": {"name": "play", "arguments": '{"i": 0}'}}

ANSWERS: dict[str, tuple[str, bytes]] = {
    "html": ("syntax", whole(b"<html>busy</html>")),
    "nothing": ("syntax", whole(b"")),
    "cut": ("syntax", whole(GOOD[:-3])),
    "two": ("syntax", whole(GOOD + GOOD)),
    "events unasked": ("stream", whole(b"data: {}\n\n", "Content-Type: text/event-stream")),
    "events": ("syntax", whole(b"data: " + GOOD + b"\n\ndata: [DONE]\n\n")),
    "UTF-16": ("encoding", whole(GOOD.decode().encode("utf-16"))),
    "Latin-1": ("encoding", whole('{"é": 1}'.encode("latin-1"), "Content-Type: x; charset=é")),
    "deep": ("depth", whole(b"[" * 100_000 + b"]" * 100_000)),
    "deep objects": ("depth", whole(b'{"choices":' * 5_000 + b"1" + b"}" * 5_000)),
    "duplicate": ("duplicate", whole(b'{"choices": [], ' + GOOD[1:])),
    "NaN": ("syntax", whole(b'{"usage": NaN, ' + GOOD[1:])),
    "huge number": ("number", whole(b'{"usage": 1e999999999, ' + GOOD[1:])),
    "long number": ("number", whole(b'{"usage": ' + b"9" * 100_000 + b", " + GOOD[1:])),
    "surrogate": ("surrogate", whole(with_content('"\\ud83d"'))),
    "raw surrogate": ("encoding", whole(with_content('"\ud83d"'))),
    "large": ("size", whole(b" " * (LARGEST_BODY + 1))),
    "20 GB": ("size", head("200 OK", "Content-Length: 20000000000") + b" " * 1000),
    "zstd": ("compressed", whole(GOOD, "Content-Encoding: zstd")),
    "twice gzip": ("compressed", whole(GOOD, "Content-Encoding: gzip, gzip")),
    "no gzip": ("compressed", whole(GOOD, "Content-Encoding: gzip")),
    "half gzip": ("compressed", whole(gzip.compress(GOOD)[:-9], "Content-Encoding: gzip")),
    "bomb": ("size", whole(ZEROS.compress(b" " * 10**8) + ZEROS.flush(),
                           "Content-Encoding: gzip")),
    "a list": ("form", whole([completion()])),
    "a text": ("form", whole("yes")),
    "other": ("form", whole({"reply": "yes"})),
    "choices no list": ("form", whole({"choices": {"0": 1}})),
    "choice no object": ("form", whole(with_choices("yes"))),
    "no message": ("form", whole(with_choices({"text": "yes"}))),
    "no choice": ("choices", whole(with_choices())),
    "choices": ("choices", whole(with_choices(*completion()["choices"] * 2))),
    "no content": ("content", whole(with_choices({"message": {}}))),
    "null": ("content", whole(completion(None))),
    "a number": ("content", whole(completion(7))),
    "parts": ("content", whole(completion([{"type": "text", "text": "yes"}]))),
    "an object": ("content", whole(completion({"text": "yes"}))),
    "calls no list": ("calls", whole(with_choices({"message": {"tool_calls": {"0": 1}}}))),
    "call no object": ("calls", whole(with_choices({"message": {"tool_calls": ["play"]}}))),
    "call of no function": ("calls", whole(with_calls({"name": "play", "arguments": "{}"}))),
    "call without a name": ("calls", whole(with_calls({"function": {"arguments": "{}"}}))),
    "name no text": ("calls", whole(with_calls({"function": {"name": 1, "arguments": "{}"}}))),
    "arguments no text": ("calls", whole(with_calls({"function": {"name": "a", "arguments": 1}}))),
    "many calls": ("calls", whole(with_calls(*[CALL] * 9))),
    "long call": ("length", whole(with_calls(
        {"function": {"name": "a", "arguments": "x" * LONGEST_TEXT}}))),
    "content of a call": ("content", whole(with_choices(
        {"message": {"content": 7, "tool_calls": [CALL]}}))),
    "long": ("length", whole(completion("x" * (LONGEST_TEXT + 1)))),
}  # fmt: skip


def test_every_reason_has_an_answer() -> None:
    assert {why for why, _ in ANSWERS.values()} | {"tools"} == REFUSALS.keys()
    assert REFUSALS.keys() >= set(get_args(Kind))


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_that_are_no_reply_are_refused(name: str) -> None:
    why, data = ANSWERS[name]
    with answering(lambda caller: caller.send(data if caller.number else whole(GOOD))) as served:
        endpoint = Endpoint(served.url, "m", settings())
        answers = [ends(lambda: endpoint.answers_plainly([ASKED]))[0] for _ in range(2)]
    assert [answer.text for answer in answers] == ["yes", ""]
    assert [answer.refused for answer in answers] == [None, REFUSALS[why]]
    assert endpoint.budget.refused == {why: 1}
    assert endpoint.calls == 2


def test_large_answers_fill_no_memory() -> None:
    """Of a gigabyte in chunks, no more is read than an answer may have."""
    chunk = b"100000\r\n" + b" " * 2**20 + b"\r\n"

    def act(caller: Caller) -> None:
        if caller.number == 0:
            caller.send(whole(GOOD))
            return
        caller.send(head("200 OK", "Transfer-Encoding: chunked"))
        caller.flood(chunk, 2**30)

    with answering(act) as served:
        endpoint = Endpoint(served.url, "m", settings())
        endpoint.replies([ASKED])
        tracemalloc.start()
        assert ends(lambda: endpoint.replies([ASKED])) == [""]
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert endpoint.budget.refused == {"size": 1}
    assert peak < 10 * LARGEST_BODY


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "identity"])
def test_compressed_answers_are_read(encoding: str) -> None:
    data = {"gzip": gzip.compress(GOOD), "deflate": zlib.compress(GOOD), "identity": GOOD}[encoding]
    sent = whole(data, f"Content-Encoding: {encoding}", "Content-Type: text/x; charset=hex")
    with answering(lambda caller: caller.send(sent)) as served:
        assert Endpoint(served.url, "m", settings()).replies([ASKED]) == ["yes"]
        assert b"accept-encoding: identity" in served.callers[0].asked.lower()


@pytest.mark.parametrize("name", ["html", "events unasked", "UTF-16", "other", "a list"])
def test_first_answers_of_another_form_end_the_run(name: str) -> None:
    with answering(lambda caller: caller.send(ANSWERS[name][1])) as served:
        endpoint = Endpoint(served.url, "m", settings(retries=5))
        with pytest.raises(EndpointError, match="form of chat completions: it is") as caught:
            endpoint.replies([ASKED])
        assert "ends before `/chat/completions`" in caught.value.fix
        assert endpoint.calls == 1


def test_errors_with_status_200_are_tried_again() -> None:
    def act(caller: Caller) -> None:
        busy = {"error": {"message": "upstream is busy"}}
        caller.send(whole(completion() if caller.number == 2 else busy))

    with answering(act) as served:
        assert Endpoint(served.url, "m", settings(retries=2)).replies([ASKED]) == ["yes"]
        assert len(served.callers) == 3
    with (
        answering(lambda caller: caller.send(whole({"error": "busy"}))) as served,
        pytest.raises(EndpointError, match="2 attempts: an error: busy"),
    ):
        Endpoint(served.url, "m", settings(retries=1)).replies([ASKED])


@pytest.mark.parametrize(
    "usage",
    ["-5", "1e300", "10000000000000", "0.5", '"7"', "true", "null", "[7]", "{}", "-0", "7.0"],
)
def test_counts_that_cannot_be_count_nothing(usage: str) -> None:
    body = GOOD[:-1] + b', "usage": {"total_tokens": %s}}' % usage.encode()
    with answering(lambda caller: caller.send(whole(body))) as served:
        endpoint = Endpoint(served.url, "m", settings(tokens=10))
        assert endpoint.replies([ASKED]) == ["yes"]
        assert (endpoint.calls, endpoint.tokens) == (1, 0)


def test_tokens_of_refused_answers_count() -> None:
    def act(caller: Caller) -> None:
        caller.send(whole(completion(None, usage={"total_tokens": 40})))

    with answering(act) as served:
        endpoint = Endpoint(served.url, "m", settings(tokens=100))
        endpoint.replies([ASKED])
        assert endpoint.tokens == 40


def test_stop_strings_are_those_asked_for() -> None:
    """A server cannot add to a reply what was not asked for."""
    with serving(lambda number, body: Reply("x", more={"stop_reason": "anything"})) as served:
        assert Endpoint(served.url, "m", settings()).replies([ASKED]) == ["x"]


@pytest.mark.parametrize("name", [name for name in ANSWERS if name not in ("20 GB", "large")])
def test_evaluations_go_on_after_refused_replies(name: str) -> None:
    """One answer of four; in a closed game, where a refused reply forfeits."""
    why, data = ANSWERS[name]

    def act(caller: Caller) -> None:
        body = json.loads(caller.asked.partition(b"\r\n\r\n")[2])
        good = whole(completion(min(options_in(body))))
        caller.send(data if caller.number % 4 == 3 else good)

    with answering(act) as served:
        plan = plan_of(f"far=endpoint:{served.url}#m", against=("fixed:rock",))
        found = ends(
            lambda: evaluate(
                gamedsl.load(RPS), plan, Options(games=8, endpoints=settings(concurrency=1))
            )
        )
    bad = len(served.callers) // 4
    assert bad > 1
    assert found.stopped is None
    assert found.refused == {"far": {why: bad}}
    assert found.invalid("far").value == pytest.approx(bad / len(served.callers))


def test_refused_replies_are_told_with_reasons(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a game in words: on the terminal, in the results, in transcripts; and they are asked for
    again where the game lets players try again."""

    def act(caller: Caller) -> None:
        bad = {2: ANSWERS["surrogate"][1], 3: whole(completion(None)), 5: ANSWERS["html"][1]}
        caller.send(bad.get(caller.number, whole(completion('{"guess": 1}'))))

    with answering(act) as served:
        code = main([
            "eval", f"far=endpoint:{served.url}#m", "--against", "random", "--game",
            "guess_in_words", "--games", "6", "--concurrency", "1", "--timeout", "20",
            "--out", str(tmp_path / "out.json"), "--transcripts", str(tmp_path / "games"),
        ])  # fmt: skip
    assert code == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "3 answers refused: " in out
    assert "it has half of a surrogate pair (1)" in out
    record = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert record["endpoints"]["far"]["refused"] == {"surrogate": 1, "content": 1, "syntax": 1}
    assert sum(one["invalid"].get("endpoint", 0) for one in record["replies"]) == 3
    games = [path.read_text(encoding="utf-8") for path in (tmp_path / "games").iterdir()]
    assert '"endpoint"' in "".join(games)


def test_referees_are_refused_in_the_same_way() -> None:
    def act(caller: Caller) -> None:
        messages = json.loads(caller.asked.partition(b"\r\n\r\n")[2])["messages"]
        labels = [x for one in messages for x in options_in({"messages": [one]})]
        caller.send(whole(completion(None if caller.number % 3 == 2 else min(labels))))

    game = gamedsl.load("debate")
    with answering(act) as served:
        plan = plan_of("random", against=("random",))
        judges = referees_of(game, [f"judge=endpoint:{served.url}#m"], [], 0)
        plan = replace(plan, referees=judges)
        found = evaluate(game, plan, Options(games=6, endpoints=settings(concurrency=1)))
    refused = sum(count.invalid["endpoint"] for count in found.reply_counts.values())
    assert refused == len(served.callers) // 3 > 0
