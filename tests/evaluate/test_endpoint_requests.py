"""Requests to endpoints: what is sent, what is kept, and the budget in tokens."""

from __future__ import annotations

import pytest

from gamedsl.policies.endpoint import BudgetSpent, Endpoint, EndpointSettings
from gamedsl.policies.endpoint_protocol import Constrain
from gamedsl.policies.generation import Generated, Request
from tests.evaluate.serving import Reply, serving

MESSAGES = (("system", "Rules."), ("user", "Choose."))
SCHEMA = {"type": "object", "properties": {"bid": {"type": "integer"}}}


def settings(**changed: object) -> EndpointSettings:
    return EndpointSettings(**{"first_wait": 0.01, "timeout": 5.0, "retries": 0, **changed})


def test_requests_carry_all_their_options() -> None:
    with serving(lambda number, body: Reply("half a th", finish="length")) as served:
        endpoint = Endpoint(served.url, "m", settings())
        request = Request(MESSAGES, "a", 7, 0.5, ("END",), SCHEMA, seed=11)
        assert endpoint.generate([request]) == [Generated((), (), (), "half a th", "length")]
    (body,) = served.asked
    assert body == {
        "path": "/v1/chat/completions", "model": "m", "temperature": 0.5, "max_tokens": 7,
        "seed": 11, "stop": ["END"],
        "messages": [{"role": "system", "content": "Rules."},
                     {"role": "user", "content": "Choose."}],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("constrain", "schema", "choices"),
    [
        (None, {}, {}),
        (
            "response_format",
            {"response_format": {"type": "json_schema", "json_schema": {
                "name": "reply", "strict": True, "schema": SCHEMA}}},
            {},
        ),
        (
            "structured_outputs",
            {"structured_outputs": {"json": SCHEMA}},
            {"structured_outputs": {"choice": ["stag", "hare"]}},
        ),
        ("guided", {"guided_json": SCHEMA}, {"guided_choice": ["stag", "hare"]}),
    ],
)  # fmt: skip
def test_constraints_are_sent_as_the_server_takes_them(
    constrain: Constrain | None, schema: dict[str, object], choices: dict[str, object]
) -> None:
    with serving(lambda number, body: Reply("x")) as served:
        endpoint = Endpoint(served.url, "m", settings(constrain=constrain, concurrency=1))
        endpoint.generate(
            [
                Request(MESSAGES, "a", 7, schema=SCHEMA),
                Request(MESSAGES, "a", 7, choices=("stag", "hare"), seed=1),
            ]
        )
    plain = {"path", "model", "temperature", "max_tokens", "seed", "messages"}
    sent = [{k: v for k, v in body.items() if k not in plain} for body in served.asked]
    assert sent == [schema, choices]


@pytest.mark.parametrize("think", [True, False, None])
def test_template_is_told_whether_to_think(think: bool | None) -> None:
    """In a written game, and in a closed one, whose conversations are sent as they are."""
    with serving(lambda number, body: Reply("x")) as served:
        endpoint = Endpoint(served.url, "m", settings(enable_thinking=think))
        endpoint.generate([Request(MESSAGES, "a", 7)])
        endpoint.answers_plainly([MESSAGES])
    told = {} if think is None else {"chat_template_kwargs": {"enable_thinking": think}}
    keys = {"chat_template_kwargs"}
    assert [{k: v for k, v in body.items() if k in keys} for body in served.asked] == [told] * 2


def test_requests_are_cached_by_content_and_seed() -> None:
    with serving(lambda number, body: Reply(f"{body['seed']}")) as served:
        endpoint = Endpoint(served.url, "m", settings(kept=2))
        asked = [Request(MESSAGES, "a", 7, seed=seed) for seed in (1, 2, 1)]
        assert [reply.text for reply in endpoint.generate(asked)] == ["1", "2", "1"]
        assert [reply.text for reply in endpoint.generate(asked[1:])] == ["2", "1"]
        assert len(served.asked) == endpoint.calls == 2
        endpoint.generate([Request(MESSAGES, "a", 7, seed=3)])
        assert len(endpoint._cache) == 2
        endpoint.generate(asked[:1])  # was asked for later than 2
        assert endpoint.calls == 3
        endpoint.generate(asked[1:2])
        assert endpoint.calls == 4


def test_requests_beyond_the_cache_size_get_replies() -> None:
    with serving(lambda number, body: Reply(f"{body['seed']}")) as served:
        endpoint = Endpoint(served.url, "m", settings(kept=0))
        asked = [Request(MESSAGES, "a", 7, seed=seed) for seed in range(5)]
        assert [reply.text for reply in endpoint.generate(asked)] == list("01234")


def test_token_budget_uses_the_servers_count() -> None:
    with serving(lambda number, body: Reply("x", usage={"total_tokens": 40})) as served:
        endpoint = Endpoint(served.url, "m", settings(tokens=100, concurrency=1))
        asked = [Request(MESSAGES, "a", 7, seed=seed) for seed in range(9)]
        with pytest.raises(BudgetSpent, match="100 tokens"):
            endpoint.generate(asked)
        assert (endpoint.calls, endpoint.tokens) == (3, 120)
        assert len(served.asked) == 3
        with pytest.raises(BudgetSpent):
            endpoint.replies([MESSAGES])


@pytest.mark.parametrize("tokens", [None, -3, "many"])
def test_a_server_that_counts_nothing_spends_nothing(tokens: object) -> None:
    usage = None if tokens is None else {"total_tokens": tokens}
    with serving(lambda number, body: Reply("x", usage=usage)) as served:
        endpoint = Endpoint(served.url, "m", settings(tokens=1))
        endpoint.replies([MESSAGES, MESSAGES])
        assert endpoint.tokens == 0


def test_named_stop_string_is_in_the_text() -> None:
    with serving(lambda number, body: Reply("<a>x", more={"stop_reason": "</a>"})) as served:
        endpoint = Endpoint(served.url, "m", settings())
        assert endpoint.generate([Request(MESSAGES, "a", 7, stop=("</a>",))])[0].text == "<a>x</a>"


def test_tokens_cannot_be_sent() -> None:
    endpoint = Endpoint("http://127.0.0.1:9/v1", "m", settings())
    with pytest.raises(ValueError, match="not tokens"):
        endpoint.generate([Request(MESSAGES, "a", 7, prefix=(1, 2))])
    with pytest.raises(ValueError, match="not tokens"):
        endpoint.generate([Request((*MESSAGES, ("assistant", (1, 2))), "a", 7)])
