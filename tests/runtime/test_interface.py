"""The public Python interface: what a user of the library can count on."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

import gamedsl
from gamedsl import Action, CompileError, EvaluationError, ParseFailure
from tests.rendering import games
from tests.writing import write

ROOT = Path(__file__).parent.parent.parent
STAG_HUNT = ROOT / "games" / "stag_hunt.yaml"

ULTIMATUM = f"{games.ULTIMATUM}labels: masked\n"


def compiled(folder: Path, text: str, **params: object) -> gamedsl.Game:
    return gamedsl.load(write(folder, text), params=params)


def play(episode: gamedsl.Episode, **names: str) -> gamedsl.Episode:
    """Everybody who is asked does what is named for the seat."""
    while not episode.done:
        episode.step({d.seat: Action(names[d.seat]) for d in episode.decisions})
    return episode


def test_the_example_of_the_package() -> None:
    game = gamedsl.load(STAG_HUNT)
    episode = game.env().reset(seed=7)
    while not episode.done:
        episode.step({d.seat: Action(d.legal[0]) for d in episode.decisions})
    assert episode.payoffs == {"hunter_1": 4, "hunter_2": 4}
    assert episode.rewards == episode.payoffs
    assert episode.failures == {}


def test_a_decision_says_all_that_is_asked() -> None:
    first, second = gamedsl.load(STAG_HUNT).env().reset(seed=7).decisions
    assert (first.seat, first.role, first.step, first.occurrence) == (
        "hunter_1", "hunter_1", "move", 0,
    )  # fmt: skip
    assert second.seat == "hunter_2"
    assert first.legal == ("stag", "hare")
    assert first.labels == second.labels
    assert len(set(first.labels)) == 2
    assert not set(first.labels) & {"stag", "hare"}
    assert first.information_set != second.information_set
    assert first.view["legal"] == ["stag", "hare"]
    assert first.view["seen"] == []
    assert [speaker for speaker, _ in first.messages] == ["system", "user"]
    text = "\n".join(content for _, content in first.messages)
    assert all(label in text for label in first.labels)
    assert "stag" not in text
    assert "hunt" not in text


def test_replies_are_actions_labels_or_failures() -> None:
    env = gamedsl.load(STAG_HUNT).env()
    episode = env.reset(seed=7)
    label_of = dict(zip(episode.decisions[1].legal, episode.decisions[1].labels, strict=True))
    episode.step({"hunter_1": Action("stag"), "hunter_2": f" {label_of['hare']}\n"})
    assert episode.payoffs == {"hunter_1": 0, "hunter_2": 3}
    episode = env.reset(seed=7)
    episode.step({"hunter_1": ParseFailure("timeout"), "hunter_2": Action("stag")})
    assert episode.failures == {"hunter_1": ParseFailure("timeout")}


@pytest.mark.parametrize(
    "text", ["", "stag", "hare", "Stag", "0", "none", "?", "\ud800", "l" * 999]
)
def test_what_is_not_a_legal_label_forfeits(text: str) -> None:
    episode = gamedsl.load(STAG_HUNT).env().reset(seed=7)
    assert text not in episode.decisions[0].labels
    episode.step({"hunter_1": text, "hunter_2": Action("stag")})
    assert episode.done
    assert episode.decisions == ()
    assert episode.failures["hunter_1"].text == text
    assert set(episode.failures) == {"hunter_1"}
    assert episode.payoffs == {"hunter_1": 0, "hunter_2": None}
    assert episode.rewards == {"hunter_1": 0, "hunter_2": None}
    assert episode.transcript["steps"] == []


def test_forfeit_costs_the_minimum_payoff() -> None:
    env = gamedsl.load("prisoners_dilemma").env()
    assert env.least == {"row": 0, "column": 0}
    env = gamedsl.load("biased_rock_paper_scissors").env()
    assert env.least == {"left": -3, "right": -3}
    episode = env.reset(seed=0)
    episode.step({"left": "?", "right": "!"})
    assert episode.payoffs == {"left": -3, "right": -3}


def test_steps_in_turn_are_asked_in_turn(tmp_path: Path) -> None:
    episode = compiled(tmp_path, ULTIMATUM).env().reset(seed=1)
    assert [d.seat for d in episode.decisions] == ["proposer"]
    assert episode.decisions[0].legal == ("low", "fair", "high")
    episode.step({"proposer": Action("fair")})
    (answer,) = episode.decisions
    assert answer.information_set == "responder:answer [proposer.offer=fair]"
    assert answer.view["seen"] == [
        {"step": "offer", "occurrence": 0, "seat": "proposer", "name": "fair"}
    ]
    assert not episode.done
    assert episode.payoffs == {}
    episode.step({"responder": Action("accept")})
    assert episode.payoffs == {"proposer": 5, "responder": 5}


def test_params_override_defaults(tmp_path: Path) -> None:
    game = compiled(tmp_path, ULTIMATUM, pie=Fraction(21, 2))
    assert game.params == {"pie": Fraction(21, 2)}
    episode = play(game.env().reset(), proposer="low", responder="accept")
    assert episode.payoffs == {"proposer": Fraction(17, 2), "responder": 2}
    assert compiled(tmp_path, ULTIMATUM, pie="3 * 4").params == {"pie": 12}
    assert compiled(tmp_path, ULTIMATUM, pie=0.1).params == {"pie": Fraction(1, 10)}
    assert gamedsl.load("stag_hunt_n", params={"players": 5}).ir.seats[-1] == "hunter_5"


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"players": 1}, "GD0317"),
        ({"players": True}, "GD0306"),
        ({"players": "2 +"}, "GD0201"),
        ({"playrs": 3}, "GD0314"),
        ({"stag_pays": "1 / 0"}, "GD0401"),
        ({"stag_pays": [1]}, "GD0306"),
        ({"stag_pays": None}, "GD0306"),
    ],
)
def test_bad_params_are_diagnosed(params: dict[str, object], code: str) -> None:
    with pytest.raises(CompileError) as caught:
        gamedsl.load("stag_hunt_n", params=params)
    (problem,) = caught.value.diagnostics
    assert problem.code == code
    assert problem.span.source.name == f"--param {next(iter(params))}"


def test_unsupported_param_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="a param cannot be a set"):
        gamedsl.load("stag_hunt_n", params={"players": {3}})


def test_a_compile_error_carries_every_problem(tmp_path: Path) -> None:
    with pytest.raises(CompileError) as caught:
        compiled(tmp_path, ULTIMATUM.replace("pie - offer", "pi - ofer"))
    found = caught.value.diagnostics
    assert [(d.code, d.span.line, d.span.text) for d in found] == [
        ("GD0301", 10, "pi"), ("GD0301", 10, "ofer"),
    ]  # fmt: skip
    assert found[0].help == "did you mean `pie`?"
    assert "did you mean `offer`?" in str(caught.value)


def test_a_protocol_is_not_a_game() -> None:
    with pytest.raises(ValueError, match="a protocol file, not a game"):
        gamedsl.load("simultaneous")


def test_shipped_games_are_found_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shipped = gamedsl.load("stag_hunt")
    assert shipped.hash == gamedsl.load(STAG_HUNT).hash
    assert shipped.files == (STAG_HUNT,)
    assert gamedsl.load("biased_rock_paper_scissors").files[1].stem == "rock_paper_scissors"


def test_wrong_calls_are_refused(tmp_path: Path) -> None:
    episode = compiled(tmp_path, ULTIMATUM).env().reset()
    with pytest.raises(ValueError, match=r"replies are needed from \['proposer'\]"):
        episode.step({"responder": Action("accept")})
    with pytest.raises(ValueError, match=r"replies are needed"):
        episode.step({})
    with pytest.raises(ValueError, match="`greedy` is not legal for proposer: low, fair, high"):
        episode.step({"proposer": Action("greedy")})
    assert [d.seat for d in episode.decisions] == ["proposer"]
    play(episode, proposer="low", responder="reject")
    with pytest.raises(ValueError, match="done"):
        episode.step({"proposer": Action("low")})


def test_a_fork_goes_its_own_way(tmp_path: Path) -> None:
    episode = compiled(tmp_path, ULTIMATUM).env().reset(seed=3)
    early = episode.fork()
    episode.step({"proposer": Action("fair")})
    late = episode.fork()
    assert early.decisions[0].seat == "proposer"
    play(early, proposer="high", responder="accept")
    late.step({"responder": "nonsense"})
    assert late.failures
    assert episode.failures == {}
    assert not episode.done
    play(episode, responder="accept")
    assert early.payoffs == {"proposer": 2, "responder": 8}
    assert episode.payoffs == {"proposer": 5, "responder": 5}
    assert late.payoffs == {"proposer": None, "responder": 0}
    again = episode.fork()
    again.payoffs["proposer"] = 99
    assert episode.payoffs["proposer"] == 5
    assert early.transcript["labels"] == episode.transcript["labels"]


def test_a_transcript_is_data_that_says_all() -> None:
    game = gamedsl.load("public_goods")
    episode = game.env(run_seed=5).reset(seed=9)
    play(episode, **dict.fromkeys(game.ir.seats, "give"))
    written = json.loads(json.dumps(episode.transcript))
    assert written == episode.transcript
    assert (written["game"], written["hash"]) == ("public_goods", game.hash)
    assert (written["run_seed"], written["seed"], written["tokenizer"]) == (5, 9, None)
    assert written["steps"] == [{"step": "move", "choices": dict.fromkeys(game.ir.seats, "give")}]
    assert written["payoffs"] == dict.fromkeys(game.ir.seats, "8/5")
    assert set(written["labels"]["labels"]) == {"keep", "give"}


def test_one_legal_action_is_taken_without_asking(tmp_path: Path) -> None:
    text = ULTIMATUM.replace("[accept, reject]", "[accept]").replace(
        "turns:\n", "turns:\n  - {role: all, choose: sit, from: [down]}\n"
    )
    episode = compiled(tmp_path, text).env().reset()
    assert [d.seat for d in episode.decisions] == ["proposer"]
    assert episode.decisions[0].view["seen"][0]["name"] == "down"
    episode.step({"proposer": Action("high")})
    assert episode.done
    assert episode.payoffs == {"proposer": 2, "responder": 8}
    assert [step["step"] for step in episode.transcript["steps"]] == ["sit", "offer", "answer"]


def test_seat_without_choice_is_not_asked(tmp_path: Path) -> None:
    text = (
        "game: g\nroles: [a, b]\nactions: {a: [x], b: [x, y]}\nprotocol: simultaneous\n"
        "payoffs: 1 if move.a == move.b else 0\n"
    )
    episode = compiled(tmp_path, text).env().reset()
    assert [d.seat for d in episode.decisions] == ["b"]
    play(episode, b="y")
    assert episode.payoffs == {"a": 0, "b": 0}
    assert episode.transcript["steps"][0]["choices"] == {"a": "x", "b": "y"}


def test_game_without_choices_ends_at_once(tmp_path: Path) -> None:
    text = "game: g\nroles: [a]\nactions: [x]\nprotocol: simultaneous\npayoffs: 3\n"
    assert compiled(tmp_path, text).env().reset().payoffs == {"a": 3}


def test_what_fails_in_play_points_into_the_file(tmp_path: Path) -> None:
    text = (
        "game: g\nroles: {p: 20}\nactions: [x, y]\nprotocol: simultaneous\n"
        "payoffs: 1 / count(move, x)\n"
    )
    game = compiled(tmp_path, text)
    episode = game.env().reset()
    with pytest.raises(EvaluationError, match="division by zero") as caught:
        episode.step({d.seat: Action("y") for d in episode.decisions})
    span = caught.value.span
    assert (span.line, span.column, span.text) == (5, 10, "1 / count(move, x)")
    assert str(tmp_path) in str(caught.value)
    assert len(episode.decisions) == 20
    episode.step({d.seat: Action("x") for d in episode.decisions})
    assert episode.payoffs["p_1"] == Fraction(1, 20)


def test_later_choice_of_same_name_hides_nothing(tmp_path: Path) -> None:
    text = (
        "game: g\nroles: [a, b]\nturns:\n  - {role: [a], choose: x, from: [1, 2]}\n"
        "  - {role: [b], choose: x, from: [1, 2]}\npayoffs: {a: x.a, b: x.b + 10 * x.a}\n"
    )
    game = compiled(tmp_path, text)
    assert [step.id for step in game.ir.steps] == ["x", "x_2"]
    episode = play(game.env().reset(), a="2", b="1")
    assert episode.payoffs == {"a": 2, "b": 21}


def test_unknown_names_of_the_package() -> None:
    with pytest.raises(AttributeError, match="no attribute 'wibble'"):
        _ = gamedsl.wibble
    assert all(hasattr(gamedsl, name) for name in gamedsl.__all__)
