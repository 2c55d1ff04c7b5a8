"""What the tests of vLLM ask, and what the trainer's own model replies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gamedsl.policies.generation import Generated, Request

if TYPE_CHECKING:
    from gamedsl.policies.vllm import VllmPolicy

TEXTS = ("What is the capital of France?", "Count from one to ten.", "Say hello in Spanish.")


def asked(text: str, adapter: str = "plain", **settings: Any) -> Request:
    given = {"max_tokens": 12, "temperature": 0.0, **settings}
    return Request((("user", text),), adapter, **given)


def by_hf(policy: VllmPolicy, requests: list[Request]) -> list[Generated]:
    """What the trainer's own model replies."""
    from gamedsl.policies.hf import HFPolicy

    results: dict[int, Generated] = {}

    def keep(index: int, reply: Generated) -> tuple[Request, ...]:
        results[index] = reply
        return ()

    HFPolicy.serve(policy, requests, keep)
    return [results[index] for index in range(len(requests))]
