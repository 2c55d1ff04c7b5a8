"""A run in its folder is read, questioned and played, and shows itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import gamedsl
from gamedsl.cli import main
from tests.writing import write

WORDS = """
game: words
roles: [teller, guesser]
turns:
  - {role: teller, say: hint, max_tokens: 4}
  - {role: guesser, choose: answer, from: [left, right]}
payoffs: 1 if answer == left else 0
on_invalid: {teller: {then: skip, pay: 0}, guesser: {then: play, play: right}}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> gamedsl.Run:
    folder = tmp_path_factory.mktemp("runs") / "kuhn"
    settings = {"games": 32, "lr": 0.1}
    return gamedsl.train("kuhn_poker", 3, model="tabular", settings=settings, out=folder)


def test_metrics_are_the_steps_in_order(run: gamedsl.Run) -> None:
    assert [record["step"] for record in run.metrics] == [1, 2, 3]
    assert run.metrics == run.records[1:-1]
    assert run.metrics[0].keys() >= {"reward", "exploitability", "entropy"}
    assert run.summary == run.records[-1]["summary"]
    assert repr(run) == f"<Run kuhn_poker: tabular, seed 0; step 3 of 3; {run.path}>"


def test_metrics_make_a_data_frame(run: gamedsl.Run) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.json_normalize(run.metrics)
    assert list(frame["reward.first"]) == [one["reward"]["first"] for one in run.metrics]


def test_odds_are_those_of_the_last_record(run: gamedsl.Run) -> None:
    kept = run.metrics[-1]["policy"]["first:open [first.card=Q]"]["probs"]
    found = run.odds("card=Q")["first"]
    assert found == pytest.approx(kept, abs=1e-3)
    assert found != run.odds("card=Q", step=0)["first"]
    assert list(run.odds("card=Q, open=bet")["second"]) == ["fold", "call"]
    with pytest.raises(ValueError, match="did you mean `bet`"):
        run.odds("open=bett")
    with pytest.raises(gamedsl.UserError, match="no checkpoint of step 99"):
        run.odds(step=99)


def test_the_policy_is_a_player(run: gamedsl.Run) -> None:
    episode = run.game.env().reset(seed=1)
    (decision,) = episode.decisions
    assert run.policy.act(decision, episode).name in decision.legal


def test_episodes_are_played_against_players(run: gamedsl.Run) -> None:
    folding = run.play({"second": "fixed:fold,check"}, episodes=40, seed=3)
    assert len(folding) == 40
    for episode in folding:
        assert episode.payoffs["second"] in (-1, 1)  # whoever bets wins the ante
    assert folding.mean_payoffs["first"] == -folding.mean_payoffs["second"]
    again = run.play({"second": "fixed:fold,check"}, episodes=40, seed=3)
    assert [e.transcript for e in again] == [e.transcript for e in folding]
    other = run.play({"second": "fixed:fold,check"}, episodes=40, seed=4)
    assert [e.transcript for e in other] != [e.transcript for e in folding]
    everybody = run.play({"first": run.policy, "second": "random"}, episodes=2)
    assert repr(everybody).startswith("<Plays kuhn_poker: 2 episodes; mean payoffs first ")


def test_player_of_a_role_holds_all_seats(tmp_path: Path) -> None:
    run = gamedsl.train(
        "stag_hunt_n", 1, model="tabular", settings={"games": 8}, out=tmp_path / "n"
    )
    (role,) = {*run.game.ir.role_of.values()}
    for episode in run.play({role: "fixed:hare"}, episodes=3):
        chosen = episode.transcript["steps"][0]["choices"]
        assert len(chosen) == len(run.game.ir.seats)
        assert set(chosen.values()) == {"hare"}


@pytest.mark.parametrize(
    ("players", "fact"),
    [({"third": "random"}, "no seat and no role `third`"), ({"first": "magic"}, "no player")],
)
def test_wrong_players_have_a_fix(run: gamedsl.Run, players: dict[str, str], fact: str) -> None:
    with pytest.raises(gamedsl.UserError, match=fact) as caught:
        run.play(players)
    assert caught.value.fix


def test_no_episodes_are_refused(run: gamedsl.Run) -> None:
    with pytest.raises(gamedsl.UserError, match="0 episodes cannot be played"):
        run.play(episodes=0)


def test_saved_plays_are_replayed_by_the_command(
    run: gamedsl.Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plays = run.play(episodes=2, seed=1)
    file = plays.save(tmp_path / "plays.jsonl")
    assert main(["replay", "kuhn_poker", str(file)]) == 0
    out = capsys.readouterr().out
    assert "2 episodes, ok" in out
    assert plays.text(1) in out


def test_written_replies_are_played_and_have_no_odds(tmp_path: Path) -> None:
    file = write(tmp_path, WORDS)
    settings = {"games": 2, "group_size": 2}
    run = gamedsl.train(file, 1, model="tiny", settings=settings, out=tmp_path / "run")
    assert "hint" in run.play().text()
    with pytest.raises(gamedsl.UserError, match="their odds are not known"):
        run.odds()


def test_the_report_is_written_anew_after_more_steps(tmp_path: Path) -> None:
    settings = {"games": 8}
    run = gamedsl.train("stag_hunt", 1, model="tabular", settings=settings, out=tmp_path / "run")
    page = run.report.path
    assert "1 of 1" in page.read_text(encoding="utf-8")
    page.unlink()
    assert Path(run.report) == page
    assert page.exists()
    run.resume(2)
    assert "2 of 2" in run.report.path.read_text(encoding="utf-8")
    assert "srcdoc=" in run.report._repr_html_()


def test_a_copy_of_another_game_is_refused(run: gamedsl.Run, tmp_path: Path) -> None:
    settings = {"games": 8}
    run = gamedsl.train("stag_hunt", 1, model="tabular", settings=settings, out=tmp_path / "run")
    (copy,) = (run.path / "game").glob("*.yaml")
    text = copy.read_text(encoding="utf-8")
    copy.write_text(text.replace("4, 4", "5, 5"), encoding="utf-8")
    with pytest.raises(gamedsl.UserError, match="it has changed"):
        run.odds()


def test_everything_public_shows_itself_in_one_line(run: gamedsl.Run) -> None:
    game = gamedsl.load("kuhn_poker")
    episode = game.env().reset(seed=1)
    shown = [game, game.env(), episode, episode.decisions[0], game.solve(), game.show(), run,
             run.policy, run.play(), run.report]  # fmt: skip
    for one in shown:
        assert "\n" not in repr(one)
        assert len(repr(one)) < 400
        assert " at 0x" not in repr(one)
    assert {"Run", "train", "load", "games", "Game"} <= set(dir(gamedsl))
    for name in gamedsl.__all__:
        assert getattr(gamedsl, name).__doc__, name


def test_html_escapes_what_files_say(tmp_path: Path) -> None:
    text = WORDS.replace("game: words", "game: words\nabout: <b>bold</b> & <script>x</script>")
    shown = gamedsl.load(write(tmp_path, text))._repr_html_()
    assert "&lt;b&gt;bold" in shown
    assert "<script" not in shown
    assert "teller, guesser" in shown


def test_notebooks_show_solutions_runs_and_plays(run: gamedsl.Run) -> None:
    report = gamedsl.load("kuhn_poker").solve()
    assert str(report) in report._repr_html_().replace("&#x27;", "'")
    assert run.summary.split(".")[0] in run._repr_html_()
    plays = run.play(episodes=2)
    assert "<th>mean payoff</th>" in plays._repr_html_()
    assert json.loads(json.dumps(run.metrics)) == run.metrics
