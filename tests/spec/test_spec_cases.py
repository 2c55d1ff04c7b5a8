"""Every case of the specification holds: `cases/*.yaml`, whose form `rule_cases.py` describes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import gamedsl
from gamedsl.compiler import Result, compile_file
from gamedsl.ir.evaluate import EvaluationError
from gamedsl.runtime import Env, Episode
from tests.spec.rule_cases import Case, cases, exact

KEYS = {
    "game", "files", "params", "errors", "notes", "plays", "same_rules", "other_rules",
    "same_prompts", "given", "true", "false", "wrong",
}  # fmt: skip
KIND = re.compile(r"^\ufeff?game:|\A(protocol|reward):|\A\[", re.MULTILINE)
"""What a text has that is a whole file."""
PLAIN = "game: case\nroles: [ann, bob]\nturns: [{role: all, choose: move, from: [a, b]}]\n"


def written(text: str, folder: Path, files: dict[str, str]) -> Path:
    """Writes a game, and the files beside it."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    whole = text if KIND.search(text) else f"game: case\n{text}"
    path = folder / "case.yaml"
    path.write_text(whole, encoding="utf-8")
    return path


def problems(result: Result, *severities: str) -> list[str]:
    return [f"{d.code} {d.message}" for d in result.diagnostics if d.severity in severities]


def codes(found: list[str]) -> set[str]:
    return {problem[:6] for problem in found}


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


@pytest.mark.parametrize("case", cases(), ids=str)
def test_rule_holds(case: Case, tmp_path: Path) -> None:
    content = case.content
    assert not set(content) - KEYS, sorted(set(content) - KEYS)
    if "game" not in content:
        check_expressions(content, tmp_path)
        return
    files, params = content.get("files", {}), content.get("params")
    path = written(content["game"], tmp_path, files)
    result = compile_file(path, params)
    if "errors" in content:
        found = problems(result, "error")
        assert codes(found) == set(listed(content["errors"])), found
        return
    assert problems(result, "error") == []
    noted = problems(result, "warning", "note")
    assert codes(noted) == set(listed(content.get("notes", []))), noted
    if result.ir is None:  # a protocol or a reward file
        return
    for backend in ("interpreter", None):  # None: the generated one where there can be one
        for play in content.get("plays", ()):
            check_play(result.ir, backend, play)
    if "same_rules" in content or "other_rules" in content:
        other = written(content.get("same_rules") or content["other_rules"], tmp_path, files)
        one, two = result.ir, gamedsl.load(other, params).ir
        assert (one.rules_hash == two.rules_hash) == ("same_rules" in content)
        if "same_prompts" in content:
            assert (one.hash == two.hash) == (content["same_prompts"] == "true")


def check_expressions(content: dict[str, Any], folder: Path) -> None:
    """Checks the values of expressions at the end of the first play of the game `given`."""
    given = content.get("given", PLAIN)
    if "turns:" not in given and "protocol:" not in given:
        given += "turns: [{role: all, choose: move, from: [a, b]}]\n"
    wanted = [(text, True) for text in listed(content.get("true", []))]
    wanted += [(text, False) for text in listed(content.get("false", []))]
    wrong = content.get("wrong", {})
    assert wanted or wrong
    if wanted:
        lets = "".join(f"  given_{at}: {quoted(text)}\n" for at, (text, _) in enumerate(wanted))
        bits = " + ".join(f"(2 ** {at} if given_{at} else 0)" for at in range(len(wanted)))
        head, found, tail = given.partition("let:\n")
        text = f"{head}let:\n{lets}{tail}" if found else f"{given}let:\n{lets}"
        path = written(f"{text}payoffs: {bits}\n", folder, content.get("files", {}))
        result = compile_file(path, content.get("params"))
        assert problems(result, "error") == []
        assert result.ir is not None
        episode = Env(result.ir).reset(chance="asked", forced="asked")
        while not episode.done:
            episode.apply(*([0] * max(1, len(episode.decisions))))
        bits_set = int(str(episode.payoffs[result.ir.seats[0]]))
        for at, (text, value) in enumerate(wanted):
            assert bool(bits_set >> at & 1) == value, text
    for text, code in wrong.items():
        game = f"{given}payoffs: {quoted(f'1 if ({text}) == ({text}) else 0')}\n"
        result = compile_file(written(game, folder, {}), content.get("params"))
        assert code in codes(problems(result, "error")), text


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def reached(episode: Episode, moves: list[Any]) -> Episode:
    """Makes moves from where an episode is: by name, or as the text of a reply."""
    waiting = list(moves)
    while waiting:
        assert not episode.done, f"the play is over before {waiting}"
        if episode.outcome_count:
            names = [outcome.name for outcome in episode.chance]
            episode.draw(names.index(waiting.pop(0)))
            continue
        replies: dict[str, Any] = {}
        for decision in episode.decisions:
            move = waiting.pop(0)
            replies[decision.seat] = (
                move["reply"] if isinstance(move, dict) else gamedsl.Action(move)
            )
        episode.step(replies)
    return episode


def check_play(ir: Any, backend: str | None, play: dict[str, Any]) -> None:
    env = Env(ir, backend=backend)

    def start() -> Episode:
        return env.reset(chance="asked", forced="asked")

    def by_seat(value: Any, seats: list[str]) -> dict[str, Any]:
        return value if isinstance(value, dict) else dict(zip(seats, listed(value), strict=True))

    play = dict(play)
    moves = play.pop("moves", [])
    if play.pop("fails", None):
        *before, last = moves if moves else [None]
        try:
            there = reached(start(), before if moves else [])
            assert moves, "the game begins"
        except EvaluationError:
            assert not moves, "an earlier move has no value"
            return
        with pytest.raises(EvaluationError):
            reached(there, [last])
        return
    episode = reached(start(), moves)
    assert play, "a play says what is true of it"
    for key, value in play.items():
        match key:
            case "asked":
                assert [d.seat for d in episode.decisions] == listed(value)
            case "legal":
                asked = {d.seat: list(d.legal) for d in episode.decisions}
                wanted = value if isinstance(value, dict) else {next(iter(asked)): listed(value)}
                assert {seat: asked.get(seat) for seat in wanted} == wanted
            case "chance":
                found = {o.name: o.probability for o in episode.chance}
                assert found == {name: exact(share) for name, share in value.items()}
            case "pays" | "rewards":
                assert episode.done
                amounts = episode.payoffs if key == "pays" else episode.rewards
                wanted = by_seat(value, list(ir.seats))
                assert amounts == {seat: exact(one) for seat, one in wanted.items()}
            case "ends":
                assert episode.done == (value == "true")
            case "refused":
                assert episode.mistakes
                assert episode.mistakes[-1].failure.reason == value
            case "knows":
                assert {seat: episode.information(seat) for seat in value} == value
            case "keys":
                found = {d.seat: d.information_set for d in episode.decisions}
                assert {seat: found.get(seat) for seat in value} == value
            case "alike" | "apart":
                for seat, others in value.items():
                    other = reached(start(), others)
                    same = episode.information(seat) == other.information(seat)
                    assert same == (key == "alike"), episode.information(seat)
            case "says" | "omits":
                prompt = "\n".join(text for _, text in episode.decisions[0].messages)
                for part in listed(value):
                    assert (part in prompt) == (key == "says"), prompt
            case _:
                raise AssertionError(f"a play has no {key}")
