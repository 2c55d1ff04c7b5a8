"""Games in words: models, runs and endpoints in all seats, referees, what is told of replies."""

from __future__ import annotations

import json
import logging
import re
import threading
from pathlib import Path
from typing import Any

import pytest

import gamedsl
from gamedsl.cli import main
from gamedsl.evaluate import EvalError, Evaluation, Options, ReplySite, contestants, evaluate
from gamedsl.evaluate.plan import plan_of
from gamedsl.evaluate.tables import tables_of
from gamedsl.evaluate.transcripts import keeper
from gamedsl.players import open_player
from gamedsl.players.model import SpeakingPlayer
from gamedsl.policies.endpoint import EndpointSettings
from gamedsl.runtime import Game
from gamedsl.tables.text import rendered, titled_lines
from tests.evaluate.serving import Reply, options_in, serving, serving_model
from tests.evaluate.small import PENNIES
from tests.writing import write

CHAT = """
game: chat
roles: [ann, bob]
turns:
  - {draw: topic, from: [rain, tea], seen_by: all}
  - repeat: 2
    turns: [{each: roles, say: word, max_tokens: 6}]
payoffs: {ann: 1, bob: 0}
on_invalid: {retry: 1, then: skip, pay: -1}
"""
JUDGED = """
game: judged
roles: [asker, teller]
referees: [judge]
turns:
  - {role: asker, choose: ask, from: [news, time]}
  - {role: teller, say: word, max_tokens: 8}
  - {role: judge, choose: verdict, from: [good, bad]}
payoffs: {asker: 1 if verdict == bad else 0, teller: 1 if verdict == good else 0}
respond: tag
on_invalid: {all: {retry: 1, then: forfeit, pay: -1}, judge: {then: void}}
train: {model: tiny, games: 4, group_size: 4, steps: 1, adapters: per_role}
"""
LASTING = """
game: lasting
roles: [ann, bob]
state: {lessons: {of: text(30), lasts: run}}
turns:
  - {show: lessons, as: earlier, if: lessons != none}
  - {role: all, choose: go, from: [x, y]}
  - {role: ann, say: lessons, max_tokens: 6}
payoffs: 1 if go.me == x else 0
on_invalid: {then: forfeit, pay: 0}
"""
FIRST = """
def first(decision, episode):
    return decision.legal[0]
"""
QUICK = {"first_wait": 0.01, "timeout": 30.0}


@pytest.fixture
def chat(tmp_path: Path) -> Game:
    return gamedsl.load(write(tmp_path, CHAT))


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    return write(tmp_path, JUDGED)


def played(game: Game, *texts: str, **settings: Any) -> Evaluation:
    """The contestants against themselves and each other."""
    given = {name: settings.pop(name) for name in ("referees", "roles") if name in settings}
    endpoints = EndpointSettings(**{**QUICK, **settings.pop("endpoint", {})})
    plan = plan_of(game, contestants(texts), settings.pop("against", ()), **given)
    return evaluate(game, plan, Options(**{"games": 4, "endpoints": endpoints, **settings}))


def test_what_is_told_of_replies_adds_up(judged: Path) -> None:
    game = gamedsl.load(judged)
    found = played(game, "tiny", "random", referees=["judge=tiny"], games=6)
    places = {(place.who, place.role) for place in found.reply_counts}
    assert places == {
        ("tiny", "asker"), ("tiny", "teller"), ("tiny", "judge"),
        ("random", "asker"), ("random", "teller"),
    }  # fmt: skip
    total = sum(games.games for games in found.games.values())
    ended = sum(count.forfeits.total() for count in found.reply_counts.values())
    assert found.own_ends.value == pytest.approx(1 - ended / total)
    for place, count in found.reply_counts.items():
        if place.role != "teller":
            assert count.valid.value == 1  # options are scored: every answer is one
    spoken = found.reply_counts[ReplySite("tiny", "teller", "word")]
    assert spoken.invalid["truncated"] > 0
    assert spoken.written == spoken.replies
    assert 1 < spoken.length <= 8
    assert found.invalid("tiny").value == pytest.approx(
        spoken.invalid.total()
        / sum(
            c.replies
            for p, c in found.reply_counts.items()
            if p.who == "tiny" and p.role != "judge"
        )
    )


def test_numbers_come_again_and_are_of_the_seed(chat: Game) -> None:
    def texts(seed: int) -> list[Any]:
        kept: list[Any] = []
        plan = plan_of(chat, contestants(["tiny"]), ["random"])

        def keep(holders: Any, records: Any) -> None:
            kept.append([record["replies"] for record in records])

        evaluate(chat, plan, Options(games=4, seed=seed, keep=keep))
        return kept

    first = texts(1)
    assert first == texts(1)
    assert first != texts(2)


def test_served_model_replies_as_the_local_one(chat: Game) -> None:
    """The same prompts, seeds, temperature and room: the same replies, whoever carries them."""
    kept: dict[str, Any] = {}

    def keep(holders: Any, records: Any) -> None:
        if len(set(holders)) == 1:
            kept[holders[0]] = [(r["replies"], r["mistakes"], r["payoffs"]) for r in records]

    player = open_player("model:tiny", chat, seed=0)
    assert isinstance(player, SpeakingPlayer)
    with serving_model(player.policy) as served:
        people = contestants(["tiny", f"far=endpoint:{served.url}#tiny"])
        plan = plan_of(chat, people)
        options = Options(games=4, endpoints=EndpointSettings(**QUICK), keep=keep)
        both = evaluate(chat, plan, options)
        assert kept["far"] == kept["tiny"]
        assert served.at_once > 1
    here, far = (both.reply_counts[ReplySite(name, "ann", "word")] for name in ("tiny", "far"))
    assert (here.replies, here.tokens, here.invalid) == (far.replies, far.tokens, far.invalid)
    assert both.spent["far"].calls == len(served.asked)
    assert both.spent["far"].tokens > far.tokens
    body = served.asked[0]
    assert (body["temperature"], body["max_tokens"]) == (1.0, 6)


def test_endpoints_are_asked_while_others_think(tmp_path: Path) -> None:
    """Two that speak at once are asked at the same time: each waits until the other is asked."""
    both_speak = gamedsl.load(write(tmp_path, CHAT.replace("{each: roles,", "{role: all,")))
    both = threading.Barrier(2)

    def wait(number: int, body: Any) -> Reply:
        both.wait(20)  # until the other is asked as well
        return Reply("yes")

    with serving(wait) as one, serving(wait) as two:
        people = contestants([f"a=endpoint:{one.url}#m"])
        plan = plan_of(both_speak, people, roles=[f"bob=endpoint:{two.url}#m"])
        settings = EndpointSettings(**{**QUICK, "retries": 0})
        found = evaluate(both_speak, plan, Options(games=1, endpoints=settings))
    assert found.stopped is None
    assert len(one.asked) == len(two.asked) == 2


def test_spent_budget_ends_the_evaluation_with_message(chat: Game) -> None:
    with serving(lambda number, body: Reply("fine", usage={"total_tokens": 9})) as served:
        name = f"x=endpoint:{served.url}#m"
        found = played(chat, name, games=40, endpoint={"calls": 150})
        assert found.stopped.fact.startswith("the budget of 150 calls")
        assert len(served.asked) == 150
        assert found.spent["x"] == (150, 1350)
        (games,) = found.games.values()
        assert games.games == 32  # 32 games with itself take 128 calls; the rest was cut
        with pytest.raises(EvalError, match="the budget of 100 tokens"):
            played(chat, name, endpoint={"tokens": 100, "concurrency": 1})
    assert len(served.asked) == 150 + 12


def test_a_cut_reply_of_an_endpoint_is_invalid(chat: Game) -> None:
    with serving(lambda number, body: Reply("and then", finish="length")) as served:
        found = played(chat, f"x=endpoint:{served.url}#m", against=["random"], games=2)
    assert found.reply_counts[ReplySite("x", "ann", "word")].invalid.keys() == {"truncated"}


def test_replies_can_be_constrained_to_the_schema(judged: Path) -> None:
    with serving(lambda number, body: Reply("<answer>news</answer>")) as served:
        settings = {"constrain": "structured_outputs"}
        name = f"x=endpoint:{served.url}#m"
        played(gamedsl.load(judged), name, referees=["judge=random"], endpoint=settings)
    options = [f"<answer>{option}</answer>" for option in ("news", "time")]
    sent = [body["structured_outputs"] for body in served.asked if "structured_outputs" in body]
    assert sent
    assert all(sorted(one["choice"]) == options for one in sent)


def test_who_referees(judged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    game = gamedsl.load(judged)
    plan = plan_of(game, contestants(["random"]))
    assert plan.referees["judge"].spec == "model:tiny"  # the recipe's model, as it comes
    named = plan_of(game, contestants(["random"]), referees=["judge=fixed:bad"])
    found = evaluate(game, named, Options(games=8))
    assert found.by_role(found.pairings[0])["asker"].value == 1
    for text, fact in (("judge", "names no referee"), ("teller=random", "names no referee")):
        with pytest.raises(EvalError, match=fact):
            plan_of(game, contestants(["random"]), referees=[text])
    with pytest.raises(EvalError, match="nobody is judge"):
        evaluate(game, plan_of(gamedsl.load("rock_paper_scissors"), contestants(["random"])))
    code = main(["eval", "random", "--game", str(judged), "--referee", "judge=fixed:good",
                 "--games", "4"])  # fmt: skip
    out = capsys.readouterr().out
    assert code == 0
    assert "referees: judge is fixed:good" in out
    assert "exploitability" not in out


def test_a_judge_that_says_nothing_voids_the_game(judged: Path) -> None:
    with serving(lambda number, body: Reply("Both were fine.")) as served:
        judge = f"judge=endpoint:{served.url}#m"
        found = played(gamedsl.load(judged), "random", "fixed:news", roles=["teller=random"],
                       referees=[judge])  # fmt: skip
    assert found.own_ends.value == 0
    assert [found.earned(pairing) for pairing in found.pairings] == [None, None]
    place = next(place for place in found.reply_counts if place.role == "judge")
    assert found.reply_counts[place].forfeits == {"missing": 8}


def test_leaderboards_keep_judges_apart(judged: Path, tmp_path: Path, capsys: Any) -> None:
    board = tmp_path / "board.json"
    for judge in ("fixed:good", "fixed:bad"):
        argv = ["eval", "random", "--game", str(judged), "--referee", f"judge={judge}"]
        assert main([*argv, "--games", "4", "--leaderboard", str(board)]) == 0
    capsys.readouterr()
    assert main(["eval", "--leaderboard", str(board), "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert sorted(one["referees"]["judge"] for one in found) == ["fixed:bad", "fixed:good"]
    assert all(one["rows"][0]["games"] == 0 for one in found)  # none against others


def test_run_plays_with_its_roles_adapters(judged: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    argv = ["train", str(judged), "--out", str(run), "--format", "json"]
    assert main([*argv, "--set", "roles.judge.player=fixed:good"]) == 0
    game = gamedsl.load(judged)
    plan = plan_of(game, contestants([str(run)]))
    assert plan.referees["judge"].spec == "fixed:good"  # as the run was trained
    player = open_player(f"run:{run}", game, seed=0)
    assert isinstance(player, SpeakingPlayer)
    assert player.adapters == {"asker": "asker", "teller": "teller"}
    assert set(player.held) == {"judge"}
    found = evaluate(game, plan, Options(games=4))
    assert found.reply_counts[ReplySite(str(run), "asker", "ask")].valid.value == 1


def test_players_hold_seats_while_others_are_trained(judged: Path, tmp_path: Path) -> None:
    """A model behind an address, asked for all games of the step at once, and a judge."""

    def answer(number: int, body: Any) -> Reply:
        return Reply("fine", wait=0.05)

    with serving(answer) as served:
        argv = ["train", str(judged), "--out", str(tmp_path / "run"), "--format", "json"]
        argv += ["--set", f"roles.teller.player=endpoint:{served.url}#m"]
        assert main([*argv, "--set", "roles.judge.player=model:tiny"]) == 0
    assert (len(served.asked), served.at_once) == (4, 4)
    assert len({body["seed"] for body in served.asked}) == 4


def test_endpoint_failure_ends_a_run_with_help(
    judged: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(lambda number, body: Reply(status=404)) as served:
        argv = ["train", str(judged), "--out", str(tmp_path / "run"), "--format", "json"]
        assert main([*argv, "--set", f"roles.teller.player=endpoint:{served.url}#m"]) == 2
    err = capsys.readouterr().err
    assert "refuses: 404" in err
    assert "--resume" in err


def test_games_are_written_and_replayed(
    judged: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "games"
    argv = ["eval", "tiny", "--game", str(judged), "--referee", "judge=random", "--games", "4"]
    assert main([*argv, "--transcripts", str(folder)]) == 0
    files = sorted(folder.iterdir())
    assert [file.name for file in files] == [
        "1-tiny-tiny.jsonl", "2-tiny-random.jsonl", "3-random-tiny.jsonl",
    ]  # fmt: skip
    for file in files:
        assert main(["replay", str(judged), str(file), "--quiet"]) == 0
    record = json.loads(files[0].read_text(encoding="utf-8").splitlines()[0])
    assert record["holders"] == {"asker": "tiny", "teller": "tiny", "judge": "random"}
    assert record["replies"][0].keys() == {"seat", "step", "text"}
    with pytest.raises(EvalError, match="not empty"):
        keeper(folder)


def test_closed_games_are_written_where_they_are_played(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["eval", "random", "last=random", "--game", "kuhn_poker", "--games", "4"]
    exact = [*argv, "--transcripts", str(tmp_path / "exact")]
    assert main(exact) == 2
    assert "add `--method sampled`" in capsys.readouterr().err
    module = tmp_path / "first.py"
    module.write_text(FIRST, encoding="utf-8")
    kept = tmp_path / "kept"
    mixed = ["eval", f"one=module:{module}:first", "random", "--game", "kuhn_poker", "--games", "4"]
    assert main([*mixed, "--transcripts", str(kept)]) == 0  # `random` meets itself exactly
    assert sum("random-random" in file.name for file in kept.iterdir()) == 0
    assert len(list(kept.iterdir())) == 3
    assert main([*exact, "--method", "sampled"]) == 0
    files = sorted((tmp_path / "exact").iterdir())
    assert len(files) == 4
    for file in files:
        assert file.read_text(encoding="utf-8").strip()
        assert main(["replay", "kuhn_poker", str(file), "--quiet"]) == 0


def test_the_key_is_in_nothing_that_is_written(
    judged: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    """Neither in what is printed, logged at any level, or put into files, nor where calls fail."""
    monkeypatch.setenv("MY_KEY", "sk-secret")
    caplog.set_level(logging.DEBUG)

    def answer(number: int, body: Any) -> Reply:
        if number % 5 == 3:
            return Reply(status=500, raw="sk-secret is busy")
        label = (options_in(body) or ["a word"])[0]
        return Reply(f"<answer>{label}</answer>" if options_in(body) else label)

    with serving(answer) as served:
        argv = ["eval", f"endpoint:{served.url}#m", "--game", str(judged), "--key-env", "MY_KEY",
                "--referee", f"judge=endpoint:{served.url}#judge", "--games", "4",
                "--transcripts", str(tmp_path / "games"), "--out", str(tmp_path / "found.json"),
                "--leaderboard", str(tmp_path / "board.json"), "--calls", "40"]  # fmt: skip
        main(argv)
    assert all(one["authorization"] == "Bearer sk-secret" for one in served.headers)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.name for path in files} >= {"found.json", "board.json"}
    out, err = capsys.readouterr()
    whole = [out, err, caplog.text, *(path.read_text(encoding="utf-8") for path in files)]
    assert caplog.records
    assert not any("sk-secret" in text for text in whole)


def test_evaluation_carries_no_memory_on(tmp_path: Path) -> None:
    file, kept = write(tmp_path, LASTING), tmp_path / "kept"
    command = ["eval", "random", "--game", str(file), "--games", "4", "--transcripts", str(kept)]
    assert main([*command, "--format", "json"]) == 0
    lines = [line for path in kept.iterdir() for line in path.read_text("utf-8").splitlines()]
    episodes = [json.loads(line) for line in lines]
    assert len(episodes) == 4
    assert all(episode["memory"] == {} for episode in episodes)
    assert all(episode["steps"][-1]["step"] == "lessons" for episode in episodes)


DIARY = """
game: diary
roles: [walker]
state: {lessons: {of: text(200), lasts: run}}
turns:
  - {show: lessons, as: earlier, if: lessons != none}
  - {role: walker, choose: go, from: [x, y], if: lessons != none}
  - {role: walker, say: lessons, max_tokens: 60}
payoffs: 1 if go != none else 0
on_invalid: {then: forfeit, pay: 0}
"""


def test_memory_is_carried(tmp_path: Path) -> None:
    """Only an episode with a memory pays here: the first of each lineage earns 0, all others 1."""
    file, kept = write(tmp_path, DIARY), tmp_path / "kept"
    game = gamedsl.load(file)
    found = played(game, "random", games=7, carry=3, keep=keeper(kept))
    (pairing,) = found.pairings
    assert [one and one.value for one in found.by_episode(pairing)] == [0, 1, 1]
    mean = found.earned(pairing)
    assert mean is not None
    assert (mean.value, mean.rows) == (pytest.approx(2 / 3), 3)
    told = shown(found).partition("by episode")[2].partition("\n\n")[0]
    assert re.findall(r"(\d+)  (\d\.\d+) ±0", told) == [
        ("1", "0.000"),
        ("2", "1.000"),
        ("3", "1.000"),
    ]
    lines = [line for path in kept.iterdir() for line in path.read_text("utf-8").splitlines()]
    episodes = [json.loads(line) for line in lines]
    left = [episode["steps"][-1] for episode in episodes]
    assert [bool(episode["memory"]) for episode in episodes] == [False, True, True] * 3
    assert episodes[1]["memory"] != episodes[2]["memory"] or left[0] == left[1]
    assert not played(game, "random", games=4).by_episode(pairing)


def test_nothing_is_carried_without_state_that_lasts(chat: Game) -> None:
    with pytest.raises(EvalError, match="no state that lasts"):
        played(chat, "random", carry=2)


def test_decisions_of_models_that_think(tmp_path: Path) -> None:
    """The mean over thoughts is laid over the tree, and exploitability is that of the mean."""
    game = gamedsl.load(write(tmp_path, PENNIES))
    found = played(game, "model:tiny", decisions=True, thoughts=5, games=2)
    (policy,) = found.policies.values()
    measured = found.exploitability["model:tiny"]
    assert (measured.kind, measured.thoughts) == ("sampled", 5)
    estimate = measured.estimate
    assert estimate is not None
    off = [abs(row["heads"] - row["tails"]) for row in policy.values()]
    assert estimate.value == pytest.approx(sum(off) / 2)
    assert 0 <= estimate.low < estimate.value < estimate.high
    tables = shown(found)
    assert f"≈ {estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]" in tables
    assert "a mean over 5 thoughts" in tables
    assert "over 5 thoughts" not in shown(played(game, "model:tiny", games=2))


def shown(found: Evaluation) -> str:
    return "\n".join(rendered(titled_lines(table)) for table in tables_of(found, 200))


def test_open_games_list_no_decisions(chat: Game) -> None:
    found = played(chat, "model:tiny", decisions=True, games=1)
    assert found.exploitability["model:tiny"].why == "its decisions cannot be listed"
    assert found.policies == {}
