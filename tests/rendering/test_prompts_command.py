"""`gamedsl prompts`: what is sent, and apart from it what the labels mean."""

from __future__ import annotations

import json

import pytest

from gamedsl.cli import main
from tests.rendering.games import STAG_HUNT, ULTIMATUM


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "game.yaml"
    path.write_text(ULTIMATUM + "labels: masked\n", encoding="utf-8")
    return str(path)


def output(capsys, *argv):
    code = main(["prompts", *argv])
    out, err = capsys.readouterr()
    return code, out, err


def test_all_roles_and_steps_are_printed(file, capsys):
    code, out, err = output(capsys, file)
    assert (code, err) == (0, "")
    assert out == GOLDEN


GOLDEN = """\
━━ proposer · offer ━━
[system]
Game for 2 players. Player 1 chooses from 3 options. Player 2 chooses from 2 options. \
All see every choice. Reply with exactly one of the options.
[user]
You are player 1.
Options:
P
L
J

━━ responder · answer ━━
(for instance after: proposer chose low)
[system]
Game for 2 players. Player 1 chooses from 3 options. Player 2 chooses from 2 options. \
All see every choice. Reply with exactly one of the options.
[user]
player 1 chose P.
You are player 2.
Options:
K
X

labels: masked, drawn per run (not sent)
  P  low
  L  fair
  J  high
  X  accept
  K  reject
"""


def test_label_meanings_are_not_sent(file, capsys):
    report = json.loads(output(capsys, file, "--format", "json")[1])
    sent = json.dumps([prompt["messages"] for prompt in report["prompts"]])
    assert not any(name in sent for name in report["labels"]["names"])
    for prompt in report["prompts"]:
        assert set(prompt["answers"]) <= set(prompt["messages"][-1]["content"].split())
        assert all(report["labels"]["names"][n] == a for a, n in prompt["answers"].items())


def test_one_role_one_seed_one_param(file, capsys):
    argv = ("--role", "responder", "--run-seed", "5", "--param", "pie=20", "--format", "json")
    report = json.loads(output(capsys, file, *argv)[1])
    assert [prompt["seat"] for prompt in report["prompts"]] == ["responder"]
    other = json.loads(output(capsys, file, *argv[:2], *argv[4:])[1])
    assert report["labels"]["names"] != other["labels"]["names"]


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (("--role", "respnder"), "did you mean `responder`?"),
        (("--param", "pie"), "is not of the form name=value"),
        (("--model", "tinny"), "did you mean `tiny`?"),
    ],
)
def test_wrong_usage_says_what_to_write(file, capsys, argv, text):
    pytest.importorskip("torch")
    code, out, err = output(capsys, file, *argv)
    assert (code, out) == (2, "")
    assert text in err


def test_problems_are_shown_instead(tmp_path, capsys):
    path = tmp_path / "game.yaml"
    path.write_text(STAG_HUNT + "rules: '{{ roels }}'\n", encoding="utf-8")
    code, out, err = output(capsys, str(path))
    assert (code, out) == (1, "")
    assert "GD0512" in err


def test_a_part_has_no_prompts(capsys):
    code, _, err = output(capsys, "simultaneous")
    assert code == 2
    assert "is a protocol file" in err


def test_with_a_model_its_chat_template_is_applied(file, capsys):
    pytest.importorskip("torch")
    report = json.loads(output(capsys, file, "--model", "tiny", "--format", "json")[1])
    for prompt in report["prompts"]:
        assert prompt["tokens"] >= len(prompt["sent"].encode()) // 8
        for message in prompt["messages"]:
            assert message["content"] in prompt["sent"]


def test_any_decision_is_shown(capsys):
    code, out, err = output(capsys, "kuhn_poker", "--at", "first.card=K, open=check, reply=bet")
    assert (code, err) == (0, "")
    assert "(after: first.card=K; second.card=J; first.open=check; second.reply=bet)" in out
    assert "card for first: K.\nfirst chose check.\nsecond chose bet.\nYou are first." in out
    assert out.count("━━ ") == 1


def test_choices_at_once_are_named_in_order(capsys):
    moves = "prize=2, bid=1, bid=3"
    _, out, _ = output(capsys, "goofspiel", "--at", moves, "--role", "left")
    assert "(after: prize=2; left.bid=1; right.bid=3; prize=1)" in out
    assert "━━ right" not in out


def test_replies_in_words_are_named(capsys):
    text = 'offer={"message": "hi", "keep": {"book": 1, "hat": 0, "ball": 0}}'
    _, out, _ = output(capsys, "bargaining_in_words", "--at", text)
    assert "and says: hi" in out


@pytest.mark.parametrize(
    ("at", "told"),
    [
        ("bet", "`bet` names no move; write NAME=VALUE, such as `card=…`"),
        ("opn=bet", "nothing that is chosen or drawn is called `opn`; did you mean `open`?"),
        ("open=bett", "`bett` is not possible for `open` here; did you mean `bet`? possible: "
                      "check, bet"),
        ("answer=fold", "it never comes to `answer=fold`; on the way are: first.card (J, Q, K); "
                        "second.card (Q, K); first.open (check, bet); second.reply (check, bet)"),
        ("answer=call", "`answer` needs `open == bet` or `reply == bet`; what is not named before "
                        "it is the first option or outcome, so name earlier moves too"),
        ("reply=bet, answer=fold", "the game is over, and pays first -1, second 1"),
        ("reply=bet, answer=fold, open=bet", "it never comes to `open=bet`: the game is over "
                                             "before, and pays first -1, second 1"),
    ],
)  # fmt: skip
def test_bad_histories_list_what_is_possible(at, told, capsys):
    code, out, err = output(capsys, "kuhn_poker", "--at", at)
    assert (code, out) == (2, "")
    assert told in err


def test_a_role_that_is_not_asked_is_refused(capsys):
    code, _, err = output(capsys, "kuhn_poker", "--at", "open=bet", "--role", "first")
    assert code == 2
    assert "then second is asked, not first" in err


def test_a_reply_that_is_not_valid_is_refused(capsys):
    code, _, err = output(capsys, "bargaining_in_words", "--at", "offer=all of it")
    assert code == 2
    assert "`all of it` is no reply to `offer`; such is `{" in err


KEYED = """
game: keyed
roles: [ann, bob]
types: {Good: [hat, book]}
turns:
  - {draw: worth, per: [role, Good], from: 0..3, seen_by: owner}
  - {role: ann, choose: keep, from: [all_, none_]}
  - {role: bob, choose: only, from: "[keep]"}
  - {role: bob, choose: guess, from: 0..3}
payoffs: {ann: 0, bob: "1 if guess == worth.ann[hat] else 0"}
"""


def test_draws_for_keys_and_forced_moves_are_named(tmp_path, capsys):
    path = tmp_path / "keyed.yaml"
    path.write_text(KEYED, encoding="utf-8")
    at = "ann.worth=book:2, bob.worth=hat:3, keep=none_, only=none_"
    code, out, err = output(capsys, str(path), "--at", at)
    assert (code, err) == (0, "")
    after = "ann.worth=hat:0; ann.worth=book:2; bob.worth=hat:3; bob.worth=book:0; ann.keep=none_"
    assert f"(after: {after})" in out
    assert "bob chose none_" in out
    assert out.count("━━ ") == 1


SLOGANS = """
game: slogans
roles: [ann, bob]
types: {Product: {name: [soap, tea], price: 1..3}}
turns:
  - {draw: product, from: Product, seen_by: {name: all, price: ann}}
  - {role: all, choose: move, from: [buy, leave]}
payoffs: 0
"""


@pytest.mark.parametrize(
    ("at", "whole"),
    [
        ("product=tea,2", "tea,2"),
        ("product=name=tea,price=2", "tea,2"),
        ("product=name=tea", "tea,1"),
        ("product=price=3", "soap,3"),
    ],
)
def test_records_are_named_by_their_fields(at, whole, tmp_path, capsys):
    path = tmp_path / "slogans.yaml"
    path.write_text(SLOGANS, encoding="utf-8")
    code, out, err = output(capsys, str(path), "--at", at)
    assert (code, err) == (0, "")
    assert f"(after: product={whole})" in out


def test_fields_without_such_a_value_are_refused(tmp_path, capsys):
    path = tmp_path / "slogans.yaml"
    path.write_text(SLOGANS, encoding="utf-8")
    code, _, err = output(capsys, str(path), "--at", "product=name=tee")
    assert code == 2
    assert "`name=tee` is not possible for `product` here" in err
