"""Keys are struck out of what servers say."""

from __future__ import annotations

import pytest

from gamedsl.policies.secrets import Secrets

KEY = "sk-Test/0123+Key&x"


@pytest.mark.parametrize(
    "end", [KEY[:-1], KEY[:4], KEY[:-2] + "\\u00", KEY[:-2] + "\\", "sk-test%2F0123%2", KEY]
)
def test_a_key_that_is_cut_off_is_struck(end: str) -> None:
    assert Secrets(KEY).quote(f"refused for {end}") == "refused for …"


@pytest.mark.parametrize("text", ["the task", "s", "sk-", "C:\\", "no such key\\u00"])
def test_other_ends_stay(text: str) -> None:
    assert Secrets(KEY).quote(text) == text


@pytest.mark.parametrize(
    ("damaged", "shown"),
    [(KEY.replace("-", "\x7f"), "sk\N{REPLACEMENT CHARACTER}…"), (KEY[:9], "…")],
)
def test_parts_of_a_key_are_struck_out(damaged: str, shown: str) -> None:
    assert Secrets(KEY).quote(f"the key {damaged} is wrong") == f"the key {shown} is wrong"
