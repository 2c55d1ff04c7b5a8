"""In which tokens loops that are not ours count the limits of replies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gamedsl
from gamedsl.cli import main
from gamedsl.export.counting import counter_of
from gamedsl.export.peer_play import PeerGame, cut
from gamedsl.export.table import PEERS
from gamedsl.policies.chat import HFTokenizer
from gamedsl.policies.errors import ModelError
from gamedsl.policies.random_models import build_tiny
from gamedsl.policies.text_counts import TextCounter, load_counter
from gamedsl.prompting.replies import ParseFailure

GAME = """\
game: pitches
roles: [first, second]
turns:
  - {role: first, say: pitch, max_tokens: 20}
  - {role: second, say: answer, max_tokens: 20}
payoffs: 1
"""
REPLY = "five words with many letters."
"""29 letters, which are tokens of the tiny model."""


@pytest.fixture(scope="module")
def game(tmp_path_factory: pytest.TempPathFactory) -> gamedsl.Game:
    path = tmp_path_factory.mktemp("game") / "pitches.yaml"
    path.write_text(GAME, encoding="utf-8")
    return gamedsl.load(path)


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return build_tiny()[1]


def refused(table: PeerGame, reply: Any = REPLY) -> str | None:
    """Why the first reply of a play is refused."""
    play = table.begin(0)
    read = play.answer(play.waiting[0].seat, reply)
    return read.reason if isinstance(read, ParseFailure) else None


def test_words_are_counted_without_a_tokenizer(game: gamedsl.Game) -> None:
    table = PeerGame(game)
    assert refused(table) is None
    assert refused(table, " ".join("a" * 20)) is None
    assert refused(table, " ".join("a" * 21)) == "tokens"
    (decision,) = game.env().reset().decisions
    assert game.env().reset().parse(decision, REPLY) == REPLY


def test_tokens_are_counted_with_a_tokenizer(game: gamedsl.Game, tokenizer: Any) -> None:
    for given in (tokenizer, HFTokenizer(tokenizer)):
        table = PeerGame(game, tokenizer=given)
        assert refused(table) == "tokens"
        assert refused(table, "a" * 20) is None
        assert refused(table, "a" * 21) == "tokens"
    episode = game.env(tokenizer=HFTokenizer(tokenizer)).reset()
    failure = episode.parse(episode.decisions[0], REPLY)
    assert isinstance(failure, ParseFailure)
    assert failure.reason == "tokens"


def test_tokenizer_of_a_folder(game: gamedsl.Game, tokenizer: Any, tmp_path: Path) -> None:
    tokenizer.save_pretrained(tmp_path)
    assert refused(PeerGame(game, tokenizer=str(tmp_path))) == "tokens"
    assert load_counter(str(tmp_path)).fingerprint == HFTokenizer(tokenizer).fingerprint
    with pytest.raises(ModelError, match="cannot load the tokenizer of"):
        PeerGame(game, tokenizer=str(tmp_path / "none"))


def test_loop_that_knows_the_model_lends_its_tokenizer(game: gamedsl.Game, tokenizer: Any) -> None:
    table = PeerGame(game)
    lent = table.counted_by(tokenizer)
    assert refused(lent) == "tokens"
    assert refused(table) is None, "the table itself stays as it was"
    assert table.counted_by(tokenizer) is lent
    given = PeerGame(game, tokenizer=tokenizer)
    assert given.counted_by(object()) is given


def test_players_have_limits_of_their_own(game: gamedsl.Game, tokenizer: Any) -> None:
    """What players write is not measured by the tokenizer of the loop's model."""
    table = PeerGame(game, ["second"], tokenizer=tokenizer)
    episode = table.env.reset()
    assert episode.parse(episode.decisions[0], REPLY) == REPLY
    assert refused(table) == "tokens"


def test_counters_say_nothing_of_tool_calls(tokenizer: Any) -> None:
    whole = HFTokenizer(tokenizer)
    for text in (REPLY, "", " twice  spaced ", "ends <|im_end|> here"):
        assert counter_of(tokenizer).count(text) == whole.count(text)
    assert TextCounter(tokenizer).fingerprint == whole.fingerprint
    assert getattr(counter_of(whole), "call_syntax", None) is None


def test_reply_that_was_cut_off_is_refused() -> None:
    table = PeerGame("kuhn_poker")
    label = table.begin(0).waiting[0].labels[0]
    assert refused(table, label) is None
    assert refused(table, cut(label)) == "truncated"


@pytest.mark.parametrize("name", PEERS)
def test_packages_name_the_tokenizer(name: str, tmp_path: Path) -> None:
    assert main(
        ["export", "debate", "--to", name, "-o", str(tmp_path), "--tokenizer", "some/model"]
    ) == 0  # fmt: skip
    code = "".join(path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.py"))
    assert code.count('tokenizer="some/model"') == 1


def test_formats_count_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "kuhn_poker", "--to", "efg", "--tokenizer", "some/model"]) == 2
    assert "`--to efg` counts no tokens" in capsys.readouterr().err
