"""Open decisions in play: what is said and bound, what a failure costs, what chats go on with."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from random import Random

import pytest

import gamedsl
from gamedsl import Action, Env
from gamedsl.prompting.random_replies import random_reply
from gamedsl.runtime.episode import Episode

GUESS = """
game: case
roles: [ann]
turns:
  - {draw: secret, from: 1..9, seen_by: nobody}
  - repeat: 3
    until: hint == right
    turns:
      - {role: ann, say: guess, read: {n: 1..9}, valid: guess.n != 5}
      - show: Hint.low if guess.n < secret else Hint.right if guess.n == secret else Hint.high
        as: hint
        if: guess != none
types: {Hint: [low, high, right]}
payoffs: 1 if hint == right else 0
"""
TALK = """
game: case
roles: [ann, bob]
turns:
  - {role: all, say: talk, max_tokens: 4}
  - {call: same_number, with: {text: talk, value: 7}, gives: hit}
  - {role: bob, choose: move, from: [left, right]}
payoffs: 1 if hit.me else 0
"""
IN_TURN = """
game: case
roles: [ann, bob]
turns:
  - {each: roles, say: talk, max_tokens: 9}
payoffs: 1 if talk.ann != none else 0
on_invalid: {then: skip}
"""
FIELDS = """
game: case
roles: [ann, bob]
turns:
  - {each: roles, say: offer, read: {keep: 0..3, words: text(20)}, seen_by: {keep: all}}
payoffs: {ann: offer.ann.keep, bob: offer.bob.keep}
"""
JUDGED = """
game: case
roles: [ann, bob]
referees: {judge: 2}
turns:
  - {role: ann, say: talk, max_tokens: 9}
  - {role: bob, say: answer, max_tokens: 9}
  - {role: judge, choose: verdict, from: roles}
payoffs: count(verdict, me)
on_invalid: {ann: {retry: 1, pay: -3}, judge: {then: void}}
"""
GAMES = {"guess": GUESS, "talk": TALK, "in_turn": IN_TURN, "fields": FIELDS, "judged": JUDGED}


def load(folder: Path, text: str, more: str = "") -> Env:
    path = folder / "case.yaml"
    path.write_text(text.lstrip() + more, encoding="utf-8")
    return gamedsl.load(path).env()


def replies(episode: Episode, **texts: str) -> None:
    episode.step(texts)


def test_said_text_is_stripped_and_mutually_blind(tmp_path: Path) -> None:
    env = load(tmp_path, TALK)
    episode = env.reset()
    assert [d.seat for d in episode.decisions] == ["ann", "bob"]
    replies(episode, ann="  it is 7\n", bob="no")
    assert episode.state.variables["talk"] == {"ann": "it is 7", "bob": "no"}
    assert [(e.seat, e.name) for e in episode.seen("bob")] == [("ann", "it is 7"), ("bob", "no")]
    assert "hit" not in {e.step for seat in env.seats for e in episode.seen(seat)}
    replies(episode, bob="left")
    assert episode.payoffs == {"ann": 1, "bob": 0}


def test_json_reply_has_the_declared_fields(tmp_path: Path) -> None:
    episode = load(tmp_path, GUESS).reset(seed=1)
    assert episode.decisions[0].schema is not None
    replies(episode, ann='I say {"n": 3}, surely')
    assert [e.name for e in episode.seen("ann")][:1] == ['{"n":3}']


@pytest.mark.parametrize("reply", ['{"n": 5}', '{"n": 10}', "3", '{"n": 3} or {"n": 4}', ""])
def test_what_is_not_valid_forfeits(tmp_path: Path, reply: str) -> None:
    episode = load(tmp_path, GUESS).reset()
    replies(episode, ann=reply)
    assert episode.done
    assert episode.payoffs == {"ann": 0}
    assert [m.last for m in episode.mistakes] == [True]


def test_valid_reads_what_was_just_said(tmp_path: Path) -> None:
    reasons = []
    for n in (4, 5):
        episode = load(tmp_path, GUESS).reset()
        replies(episode, ann=f'{{"n": {n}}}')
        reasons.append([f.reason for f in episode.failures.values()])
    assert reasons == [[], ["invalid"]]


def test_a_retry_is_private_and_others_are_held(tmp_path: Path) -> None:
    episode = load(tmp_path, TALK, "on_invalid: {retry: 1, pay: -2}\n").reset()
    first = {d.seat: d.messages for d in episode.decisions}
    replies(episode, ann="7", bob="far too many words in here")
    assert [d.seat for d in episode.decisions] == ["bob"]
    again = episode.decisions[0].messages
    assert again[: len(first["bob"])] == first["bob"]
    assert len(again) == len(first["bob"]) + 2
    assert "7" not in again[-1][1]
    assert episode.seen("bob") == ()
    fork = episode.fork()
    replies(episode, bob="8")
    assert episode.state.variables["talk"] == {"ann": "7", "bob": "8"}
    replies(fork, bob="")
    assert fork.payoffs == {"ann": None, "bob": -2}
    assert [(m.decision.seat, m.last) for m in fork.mistakes] == [("bob", False), ("bob", True)]
    assert [m.last for m in episode.mistakes] == [False]


def test_the_next_try_says_why(tmp_path: Path) -> None:
    """What the file says of a condition is what its author reads, and no other text of it is; where
    it says nothing, the reason is told as of any reply."""
    game = load(
        tmp_path,
        """
game: case
roles: [ann]
params: {most: 4}
turns:
  - role: ann
    say: offer
    read: {n: 1..6}
    valid: ["offer.n != 3", {when: offer.n > 1, say: Offer something.},
            {when: offer.n <= most, say: That is too much}]
payoffs: offer.n
on_invalid: {retry: 3, pay: -1}
""",
    )
    episode = game.reset()
    told = []
    for n in (5, 3, 1):
        replies(episode, ann=f'{{"n": {n}}}')
        told.append(episode.decisions[0].messages[-1][1])
    assert told == [
        "This is no valid reply: That is too much. Try again.",
        "This is no valid reply: what it says is against the step's `valid`. Try again.",
        "This is no valid reply: Offer something. Try again.",
    ]
    replies(episode, ann='{"n": 4}')
    assert episode.payoffs == {"ann": 4}


def test_silence_is_none_and_leaves_what_others_said(tmp_path: Path) -> None:
    episode = load(tmp_path, IN_TURN).reset()
    replies(episode, ann="hello")
    replies(episode, bob="")
    assert episode.payoffs == {"ann": 1, "bob": 1}
    silent = load(tmp_path, IN_TURN).reset()
    replies(silent, ann="")
    assert "talk" not in silent.state.variables
    assert "gave no valid reply" in silent.decisions[0].messages[-1][1]
    replies(silent, bob="hello")
    assert silent.payoffs == {"ann": 0, "bob": 0}


@pytest.mark.parametrize("turn", ["each", "role"])
def test_a_closed_game_goes_on_without_a_choice(tmp_path: Path, turn: str) -> None:
    """One after another, or at once; as generated code, which knows options alone, and as the
    reference has it."""
    text = IN_TURN.replace("say: talk, max_tokens: 9", "choose: talk, from: [hi, ho]")
    if turn == "role":
        text = text.replace("each: roles", "role: all")
    path = tmp_path / "case.yaml"
    path.write_text(text.lstrip(), encoding="utf-8")
    for backend in ("generated", "interpreter"):
        episode = gamedsl.load(path).env(backend=backend).reset()
        joint = len(episode.decisions) == 2
        replies(episode, **({"ann": "", "bob": "ho"} if joint else {"ann": ""}))
        if not joint:
            replies(episode, bob="ho")
        assert [step["choices"] for step in episode.transcript["steps"]] == (
            [{"ann": "", "bob": "ho"}] if joint else [{"ann": ""}, {"bob": "ho"}]
        )
        assert episode.payoffs == {"ann": 0, "bob": 0}, backend


def test_play_takes_the_option(tmp_path: Path) -> None:
    text = TALK.replace("payoffs: 1 if hit.me else 0", "payoffs: 1 if move == right else 0")
    episode = load(tmp_path, text, "on_invalid: {bob: {then: play, play: right}}\n").reset()
    replies(episode, ann="a", bob="")
    assert episode.state.variables["talk"] == {"ann": "a"}
    replies(episode, bob="nonsense")
    assert episode.payoffs == {"ann": 1, "bob": 1}


def test_fields_that_are_not_seen_are_not_told(tmp_path: Path) -> None:
    episode = load(tmp_path, FIELDS).reset()
    replies(episode, ann='{"keep": 2, "words": "mine alone"}')
    prompt = "\n".join(text for _, text in episode.decisions[0].messages)
    assert "keep: 2" in prompt
    assert "mine alone" not in prompt
    replies(episode, bob='{"keep": 1, "words": "so"}')
    assert episode.payoffs == {"ann": 2, "bob": 1}


def test_referees_act_see_and_are_not_paid(tmp_path: Path) -> None:
    env = load(tmp_path, JUDGED)
    episode = env.reset()
    replies(episode, ann="I am right")
    replies(episode, bob="No")
    assert [d.seat for d in episode.decisions] == ["judge_1", "judge_2"]
    assert "I am right" in episode.decisions[0].messages[-1][1]
    fork = episode.fork()
    replies(episode, judge_1="ann", judge_2="bob")
    assert episode.payoffs == {"ann": 1, "bob": 1}
    replies(fork, judge_1="ann", judge_2="nobody")
    assert fork.payoffs == {"ann": None, "bob": None}


def test_a_forfeit_pays_what_it_costs(tmp_path: Path) -> None:
    episode = load(tmp_path, JUDGED).reset()
    replies(episode, ann="")
    assert not episode.done
    replies(episode, ann="")
    assert episode.payoffs == {"ann": -3, "bob": None}


def test_a_chat_is_only_added_to(tmp_path: Path) -> None:
    play = load(tmp_path, GUESS).reset(seed=4)
    before = play.decisions[0].messages
    replies(play, ann='perhaps {"n":   1}')
    while not play.done:
        now = play.decisions[0].messages
        assert now[: len(before)] == before
        assert now[len(before)] == ("assistant", '{"n":1}')
        before = now
        replies(play, ann='{"n": 1}')


def test_an_action_is_a_canonical_name(tmp_path: Path) -> None:
    episode = load(tmp_path, GUESS).reset()
    with pytest.raises(ValueError, match="canonical"):
        episode.fork().step({"ann": Action('{"n": 3}')})
    episode.step({"ann": Action('{"n":3}')})
    assert episode.seen("ann")[0].name == '{"n":3}'


@pytest.mark.parametrize("name", GAMES)
def test_random_replies_never_break_a_game_and_replay(tmp_path: Path, name: str) -> None:
    """Valid and odd replies by turns; the transcript has the same end when played again."""
    env = load(tmp_path, GAMES[name])
    for seed in range(12):
        ends = [_played(env, seed) for _ in range(2)]
        assert ends[0].transcript == ends[1].transcript
        assert all(p is None or isinstance(p, int | Fraction) for p in ends[0].payoffs.values())


def _played(env: Env, seed: int) -> Episode:
    random, episode = Random(seed), env.reset(seed=seed)
    while not episode.done:
        texts = {}
        for decision in episode.decisions:
            odd = random.choice(["", "```", '{"n"', "<think>", "\x00", "left", "🂡 " * 40])
            said = decision.said
            good = random.choice(decision.legal) if decision.legal else ""
            if said is not None:
                good = random_reply(said, decision.type, env.seats, random)
            texts[decision.seat] = odd if random.random() < 0.2 else good
        episode.step(texts)
    return episode
