"""Plays as conversations: one model, for terminals and for pages."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pyte
import pytest

import gamedsl
from gamedsl.runtime.replay import replay
from gamedsl.runtime.transcripts import Transcript, read
from gamedsl.view.conversation import (
    Utterance,
    conversation_html,
    conversation_of,
    recorded_conversation,
    text_of,
)

TALK = """
game: talk
roles: [ann, bob, eve]
turns:
  - {role: ann, say: note, seen_by: [bob], max_tokens: 9}
  - {role: [ann, eve], choose: vote, from: [yes, no]}
  - {role: bob, say: offer, read: {price: 1..9, why: text(20)}, max_tokens: 20}
payoffs: 0
on_invalid: {retry: 1, then: forfeit, pay: -1}
respond: {form: tag, think: 20}
"""
HOSTILE = '</pre><script>alert("x")</script><img src=x onerror=y> \x1b[2J &amp;'


TURNS = (
    {"ann": ""},
    {"ann": "psst"},
    {"ann": "<think>hm</think><answer>yes</answer>", "eve": "dunno"},
    {"eve": "<answer>no</answer>"},
    {"bob": '{"price": 20, "why": "so"}'},
    {"bob": '{"price": 3, "why": "so"}'},
)


@pytest.fixture(scope="module")
def game(tmp_path_factory: pytest.TempPathFactory) -> gamedsl.Game:
    path = tmp_path_factory.mktemp("talk") / "talk.yaml"
    path.write_text(TALK, encoding="utf-8")
    return gamedsl.load(path)


def written(game: gamedsl.Game, *turns: dict[str, str]) -> str:
    """The line of a play of these replies, as runs keep it."""
    episode, texts = game.env().reset(), []
    for replies in turns:
        steps = {decision.seat: decision.step for decision in episode.decisions}
        texts += [{"seat": s, "step": steps[s], "text": text} for s, text in replies.items()]
        episode.step(replies)
    return json.dumps({**episode.transcript, "replies": texts}) + "\n"


def played(game: gamedsl.Game, *turns: dict[str, str]) -> Transcript:
    (transcript,) = read(written(game, *turns))
    return transcript


@pytest.fixture(scope="module")
def transcript(game: gamedsl.Game) -> Transcript:
    return played(game, *TURNS)


SHOWN = """\
talk, run seed 0, seed 0
seats: ann, bob, eve
1  ann gives no valid reply: there is nothing in it
   ann says note:
       | psst
       to bob
2  ann thinks:
       | hm
   ann chooses vote = yes
       to all
   eve gives no valid reply: it has no answer of the form that is asked for:
       | dunno
   eve chooses vote = no
       to all
3  bob gives no valid reply: a value is not of the type that is asked for \
(`price` must be a whole number from 1 to 9):
       | {"price": 20, "why": "so"}
   bob says offer:
       | price: 3
       | why: so
       to all
payoffs: ann 0, bob 0, eve 0"""


def test_channels_refusals_and_thoughts_are_lines(
    game: gamedsl.Game, transcript: Transcript
) -> None:
    assert text_of(conversation_of(replay(game, transcript))) == SHOWN


def test_prompts_are_those_that_were_sent(game: gamedsl.Game, transcript: Transcript) -> None:
    talk = conversation_of(replay(game, transcript))
    (said,) = talk.exchanges[0].parts
    assert isinstance(said, Utterance)
    assert said.prompt == game.env().reset().decisions[0].messages
    assert said.raw == "psst"
    assert "ann is asked:" in text_of(talk, prompts=True)


def test_a_record_alone_leaves_channels_unknown(transcript: Transcript) -> None:
    text = text_of(recorded_conversation(transcript))
    assert "to bob" not in text
    assert "to all" not in text
    without = SHOWN.replace(" (`price` must be a whole number from 1 to 9)", "")
    assert text.splitlines() == [
        line for line in without.splitlines() if not line.strip().startswith("to ")
    ]


def test_a_forfeit_shows_every_refused_reply(game: gamedsl.Game) -> None:
    lost = played(game, {"ann": ""}, {"ann": "\x00"})
    for talk in (conversation_of(replay(game, lost)), recorded_conversation(lost)):
        assert talk.refusals == 2
        assert "ann forfeits at note" in text_of(talk)
        assert "payoffs: ann -1, bob void, eve void" in text_of(talk)


class Texts(HTMLParser):
    """The texts and tags of a page, each element closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.text = ""
        self.feed(str(page))
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_says_the_same(game: gamedsl.Game, transcript: Transcript) -> None:
    page = Texts(conversation_html(conversation_of(replay(game, transcript))))
    for said in (
        "psst", "to bob", "Refused: there is nothing in it.", "whole number from 1 to 9",
        "dunno", "thought", "Payoffs: ann 0, bob 0, eve 0", "replies refused: 3",
    ):  # fmt: skip
        assert said in page.text


def test_hostile_texts_stay_texts(game: gamedsl.Game) -> None:
    hostile = played(game, {"ann": HOSTILE}, {"ann": HOSTILE})
    for talk in (conversation_of(replay(game, hostile)), recorded_conversation(hostile)):
        page = Texts(conversation_html(talk, title=HOSTILE))
        assert not page.tags & {"script", "img"}
        assert page.text.count("<script>") == 3
        assert "\x1b" not in page.text + text_of(talk)


def test_long_texts_are_cut_and_say_so(game: gamedsl.Game) -> None:
    talk = recorded_conversation(played(game, {"ann": "\x00" + "a" * 900}, {"ann": ""}))
    assert "… 801 more characters" in conversation_html(talk, cut=100)


def test_a_terminal_shows_seats_in_colours(game: gamedsl.Game, tmp_path: Path) -> None:
    """Through a pseudo-terminal of 60 columns: a long line goes on below its own beginning."""
    pytest.importorskip("rich")
    (tmp_path / "talk.yaml").write_text(TALK, encoding="utf-8")
    (tmp_path / "talk.jsonl").write_text(written(game, *TURNS), encoding="utf-8")
    command = [sys.executable, "-m", "gamedsl", "replay", "talk.yaml", "talk.jsonl"]
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": "60", "TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)
    with subprocess.Popen(command, cwd=tmp_path, stdout=theirs, stderr=theirs, env=environment):
        os.close(theirs)
        shown = b""
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:
                break
            if not piece:
                break
            shown += piece
    os.close(ours)
    text = shown.decode()
    assert "\x1b[1;36mann" in text
    assert "\x1b[31m" in text
    screen = pyte.Screen(60, 60)
    pyte.Stream(screen).feed(text)
    lines = [line.rstrip() for line in screen.display]
    at = next(i for i, line in enumerate(lines) if line.startswith("3  bob gives no valid"))
    assert lines[at + 1].startswith("   ")
    assert lines[at + 1].strip()[0] != "|"
