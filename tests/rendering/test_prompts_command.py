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
Game for 2 players. Reply with exactly one of the options.
[user]
You are player 1.
Options:
P
L
J

━━ responder · answer ━━
(for instance after: proposer chose low)
[system]
Game for 2 players. Reply with exactly one of the options.
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
