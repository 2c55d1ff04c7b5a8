"""Endpoints in seats: what is sent, what is tried again, what is never said."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

import gamedsl
from gamedsl.cli import main
from gamedsl.evaluate import EvalError, Options, evaluate
from gamedsl.players import PlayerError, open_player
from gamedsl.policies.endpoint import (
    BudgetSpent,
    Endpoint,
    EndpointError,
    EndpointSettings,
    Missed,
)
from tests.evaluate.serving import Reply, options_in, serving
from tests.evaluate.small import RPS, plan_of

QUICK = EndpointSettings(first_wait=0.01, timeout=5.0)
ASKED = [("system", "Rules."), ("user", "Choose.")]


def settings(**changed: object) -> EndpointSettings:
    return EndpointSettings(**{**vars(QUICK), **changed})


def test_prompts_are_sent_as_chat_completions() -> None:
    with serving(lambda number, body: Reply("stag")) as served:
        endpoint = Endpoint(served.url, "small", settings(temperature=0.5, max_tokens=9))
        assert endpoint.replies([ASKED]) == ["stag"]
    (body,) = served.asked
    assert body == {
        "path": "/v1/chat/completions", "model": "small", "temperature": 0.5, "max_tokens": 9,
        "messages": [{"role": "system", "content": "Rules."},
                     {"role": "user", "content": "Choose."}],
    }  # fmt: skip
    assert "authorization" not in served.headers[0]


@pytest.mark.parametrize("status", [429, 500, 503])
def test_what_can_pass_is_tried_again(status: int) -> None:
    def answer(number: int, body: object) -> Reply:
        return Reply(status=status, raw="busy") if number < 2 else Reply("yes")

    with serving(answer) as served:
        endpoint = Endpoint(served.url, "m", QUICK)
        assert endpoint.replies([ASKED]) == ["yes"]
        assert endpoint.calls == len(served.asked) == 3


def test_a_time_out_is_tried_again() -> None:
    def answer(number: int, body: object) -> Reply:
        return Reply("late", wait=0.6) if number == 0 else Reply("yes")

    with serving(answer) as served:
        assert Endpoint(served.url, "m", settings(timeout=0.2)).replies([ASKED]) == ["yes"]


def test_pauses_grow_and_respect_retry_after(monkeypatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(
        "threading.Event.wait", lambda self, seconds=None: pauses.append(seconds) or False
    )
    endpoint = Endpoint("http://127.0.0.1:9/v1", "m", settings(first_wait=1.0, retries=4))
    headers = iter([0.0, 0.0, 30.0, 900.0, 0.0])
    monkeypatch.setattr(endpoint, "_attempt", lambda *call: Missed("busy", next(headers)))
    with pytest.raises(EndpointError, match="no reply in 5 attempts: busy"):
        endpoint._ask({})
    assert 0.5 <= pauses[0] <= 1 <= pauses[1] <= 2
    assert pauses[2:] == [30.0, 900.0]


def test_what_a_server_asks_for_may_be_absurd() -> None:
    for asked in ("inf", "nan", "-5", "1e300", "soon"):
        with serving(lambda n, body, a=asked: Reply(status=429, headers={"Retry-After": a})) as at:
            endpoint = Endpoint(at.url, "m", settings(retries=0))
            _, least = endpoint._attempt({})
        assert 0 <= endpoint._wait(0, least) <= threading.TIMEOUT_MAX


def test_a_server_may_name_a_date(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a minute ahead, and one that is past."""
    monkeypatch.setattr("gamedsl.policies.endpoint.time.time", lambda: 784_111_747.0)
    for date, wanted in (("37", 30), ("07", 0)):
        asked = {"Retry-After": f"Sun, 06 Nov 1994 08:49:{date} GMT"}
        with serving(lambda n, body, a=asked: Reply(status=429, headers=a)) as at:
            _, least = Endpoint(at.url, "m", settings(retries=0))._attempt({})
        assert least == wanted


def test_own_pauses_are_bounded() -> None:
    assert Endpoint("http://127.0.0.1:9/v1", "m", QUICK)._wait(40, 0.0) == 60.0


def test_permanent_errors_end_at_once_with_help() -> None:
    cases = {
        401: "--key-env", 404: "a model `m`", 400: "what the server accepts",
    }  # fmt: skip
    for status, fix in cases.items():
        with serving(lambda number, body, s=status: Reply(status=s, raw="no")) as served:
            with pytest.raises(EndpointError, match=f"refuses: {status} .*no") as caught:
                Endpoint(served.url, "m", QUICK).replies([ASKED])
            assert fix in caught.value.fix
            assert len(served.asked) == 1


def test_nobody_there_is_said() -> None:
    with pytest.raises(EndpointError, match="no reply in 2 attempts: no connection"):
        Endpoint("http://127.0.0.1:9/v1", "m", settings(retries=1)).replies([ASKED])


def test_another_form_of_answer_is_said() -> None:
    with (
        serving(lambda number, body: Reply(raw="<html>hello</html>")) as served,
        pytest.raises(EndpointError, match="form of chat completions"),
    ):
        Endpoint(served.url, "m", QUICK).replies([ASKED])


def test_key_goes_into_the_header_only(monkeypatch, capsys) -> None:
    monkeypatch.setenv("MY_KEY", "sk-secret")

    def answer(number: int, body: object) -> Reply:
        return Reply(status=401, raw="wrong key sk-secret")

    with serving(answer) as served:
        code = main(
            ["eval", f"endpoint:{served.url}#m", "--game", RPS, "--key-env", "MY_KEY"]
        )  # fmt: skip
    assert code == 2
    assert served.headers[0]["authorization"] == "Bearer sk-secret"
    out, err = capsys.readouterr()
    assert "wrong key …" in err
    assert "sk-secret" not in out + err + json.dumps(served.asked)


def test_line_end_after_key_is_stripped(monkeypatch) -> None:
    monkeypatch.setenv("MY_KEY", " sk-secret\n")
    with serving(lambda number, body: Reply("yes")) as served:
        endpoint = Endpoint(served.url, "m", settings(key_env="MY_KEY"))
        assert endpoint.replies([ASKED]) == ["yes"]
    assert served.headers[0]["authorization"] == "Bearer sk-secret"


@pytest.mark.parametrize("key", ["sk-sécret", "sk-\nsecret", "sk-“secret”", "sk-\x7fsecret"])
def test_invalid_header_key_is_refused_without_quoting(key: str, monkeypatch) -> None:
    monkeypatch.setenv("MY_KEY", key)
    with pytest.raises(EndpointError, match="the key in MY_KEY") as caught:
        Endpoint("http://127.0.0.1:9/v1", "m", settings(key_env="MY_KEY", retries=0))
    assert "cret" not in str(caught.value)


def test_non_http_call_is_not_quoted(monkeypatch) -> None:
    monkeypatch.setattr("gamedsl.policies.endpoint._key", lambda name: "sk-secret\n")
    with (
        serving(lambda number, body: Reply("yes")) as served,
        pytest.raises(EndpointError, match="no valid HTTP") as caught,
    ):
        Endpoint(served.url, "m", QUICK).replies([ASKED])
    assert "secret" not in str(caught.value)


def test_keys_and_passwords_in_addresses_are_refused(monkeypatch) -> None:
    for url in ("http://me:pass@host/v1", "http://host/v1?key=1", "host/v1", "ftp://host"):
        with pytest.raises(EndpointError, match="no address"):
            Endpoint(url, "m")
    monkeypatch.delenv("NOT_THERE", raising=False)
    with pytest.raises(EndpointError, match="NOT_THERE is not set"):
        Endpoint("http://host/v1", "m", settings(key_env="NOT_THERE"))


def test_calls_are_made_together_up_to_the_limit() -> None:
    with serving(lambda number, body: Reply(str(number), wait=0.05)) as served:
        endpoint = Endpoint(served.url, "m", settings(concurrency=3))
        assert len(endpoint.replies([ASKED] * 9)) == 9
    assert served.at_once == 3


def test_the_budget_counts_every_attempt() -> None:
    with serving(lambda number, body: Reply(status=500)) as served:
        endpoint = Endpoint(served.url, "m", settings(calls=3, retries=9))
        with pytest.raises(BudgetSpent, match="budget of 3 calls"):
            endpoint.replies([ASKED])
    assert len(served.asked) == 3


def test_replies_are_parsed_strictly_and_non_labels_forfeit() -> None:
    """One reply in three has a full stop after the label: close, and no answer."""

    def answer(number: int, body: dict) -> Reply:
        label = sorted(options_in(body))[0]
        return Reply(f"{label}." if number % 3 == 0 else f" {label}\n")

    with serving(answer) as served:
        name = f"endpoint:{served.url}#m"
        plan = plan_of(name, against=("fixed:rock",))
        options = Options(games=30, endpoints=settings(concurrency=1))
        found = evaluate(gamedsl.load(RPS), plan, options)
    invalid = found.invalid(name)
    refused = sum(int(games.invalid_GS.sum()) for games in found.games.values())
    assert invalid.value == pytest.approx(refused / len(served.asked)) == pytest.approx(1 / 3)
    assert invalid.rows == 30  # of a seed, the games in which it has a seat are alike
    assert found.exploitability[name].kind == "unknown"
    pairing = next(p for p in found.pairings if not p.mirror)
    assert found.record(pairing).lost.value >= 1 / 3 - 0.05


def test_no_reply_at_all_forfeits_too() -> None:
    with serving(lambda number, body: Reply(None)) as served:
        plan = plan_of(f"x=endpoint:{served.url}#m", against=("fixed:rock",))
        found = evaluate(gamedsl.load(RPS), plan, Options(games=4, endpoints=QUICK))
    assert found.invalid("x").value == 1.0


def test_a_spent_budget_keeps_whole_chunks_of_games(tmp_path: Path, capsys) -> None:
    with serving(lambda number, body: Reply(sorted(options_in(body))[0])) as served:
        argv = ["eval", f"endpoint:{served.url}#m", "--against", "fixed:rock", "--game", RPS]
        code = main([*argv, "--games", "200", "--calls", "150", "--out", str(tmp_path / "o.json")])
    assert code == 1
    assert len(served.asked) == 150
    out = " ".join(capsys.readouterr().out.split())
    assert "stopped early: the budget of 150 calls" in out
    record = json.loads((tmp_path / "o.json").read_text(encoding="utf-8"))
    games = [s["games"] for p in record["pairings"] for s in p["seatings"]]
    assert games == [64]  # 32 games with itself take 64 calls, and the third such chunk was cut


def test_failing_endpoint_ends_the_evaluation() -> None:
    with serving(lambda number, body: Reply(status=404)) as served:
        plan = plan_of(f"endpoint:{served.url}#m")
        with pytest.raises(EvalError, match="refuses: 404"):
            evaluate(gamedsl.load(RPS), plan, Options(games=4, endpoints=QUICK))


def test_the_table_of_players_knows_endpoints() -> None:
    with serving(lambda number, body: Reply(options_in(body)[0])) as served:
        game = gamedsl.load(RPS)
        player = open_player(f"endpoint:{served.url}#m", game, seed=0)
        episode = game.env().reset()
        (decision, _) = episode.decisions
        assert player.act(decision, episode) in decision.labels
    with pytest.raises(PlayerError, match="names no model"):
        open_player("endpoint:http://host/v1", game, seed=0)
