"""An expression under `role` that gives several roles: they act at once, and nobody else does."""

from __future__ import annotations

from pathlib import Path

import gamedsl
from gamedsl.runtime.game import Game
from gamedsl.view.game.flow import flow_lines
from tests.runtime.test_backends import TwinKernel

COUNCIL = """\
game: council
roles: [ann, bob, cal]
state: {seated: {set: role, start: roles}}
turns:
  - each: mover in roles
    turns:
      - {role: mover, choose: offer, from: [low, high]}
      - {role: others(mover), choose: vote, from: [yes, no], if: offer == high}
  - {role: seated, choose: stay, from: [yes, no]}
  - {each: roles, do: drop me from seated, if: stay.me == no}
  - role: seated
    turns:
      - {choose: word, from: [a, b]}
payoffs: 1 if me in seated else 0
"""


def council(folder: Path) -> Game:
    path = folder / "council.yaml"
    path.write_text(COUNCIL, encoding="utf-8")
    return gamedsl.load(path)


def test_those_whom_the_expression_gives_act(tmp_path: Path) -> None:
    episode = council(tmp_path).env().reset()
    assert [d.seat for d in episode.decisions] == ["ann"]
    episode.step({"ann": gamedsl.Action("high")})
    assert [d.seat for d in episode.decisions] == ["bob", "cal"]
    assert "each of the players other than mover makes its choice (vote) at the same time" in str(
        episode.decisions[0].messages
    )
    assert "All who are asked choose at the same time." in str(episode.decisions[0].messages)


def test_its_condition_is_read_too(tmp_path: Path) -> None:
    episode = council(tmp_path).env().reset()
    episode.step({"ann": gamedsl.Action("low")})
    assert [(d.seat, d.step) for d in episode.decisions] == [("bob", "offer")]


def test_a_block_goes_through_those_seats(tmp_path: Path) -> None:
    episode = council(tmp_path).env().reset()
    for seat in ("ann", "bob", "cal"):
        episode.step({seat: gamedsl.Action("low")})
    episode.step(
        dict(zip(("ann", "bob", "cal"), map(gamedsl.Action, ("yes", "no", "yes")), strict=True))
    )
    asked = []
    while not episode.done:
        asked += [d.seat for d in episode.decisions]
        episode.step({d.seat: gamedsl.Action("a") for d in episode.decisions})
    assert asked == ["ann", "cal"]


def test_the_flow_names_who_acts(tmp_path: Path) -> None:
    text = "\n".join("".join(run.text for run in line) for line in flow_lines(council(tmp_path).ir))
    assert "others(mover) choose at once vote" in text
    assert "if offer == high" in text


def test_backends_ask_the_same_seats(tmp_path: Path) -> None:
    kernel = TwinKernel(council(tmp_path).ir)
    for number in range(20):
        state = kernel.start()
        while state.kind != "end":
            state.choose([ask.legal[number % len(ask.legal)] for ask in state.asks])
            number //= 2
