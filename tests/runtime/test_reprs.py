"""Games, environments and episodes show themselves in one line; names complete; types ship."""

from __future__ import annotations

from pathlib import Path

import pytest

import gamedsl
from gamedsl.solve import solve


def test_reprs_are_one_short_line() -> None:
    game = gamedsl.load("kuhn_poker")
    env = game.env()
    asked = env.reset(seed=4)
    chance = env.reset(chance="asked")
    done = env.reset(seed=4)
    while not done.done:
        done.step({d.seat: gamedsl.Action(d.legal[0]) for d in done.decisions})
    shown = [repr(one) for one in (game, env, asked, chance, done)]
    assert all("\n" not in text and len(text) < 120 for text in shown), shown
    assert shown[0].startswith("<Game kuhn_poker: seats first, second; hash ")
    assert shown[1] == "<Env kuhn_poker: seats first, second; run seed 0>"
    assert shown[2].startswith("<Episode kuhn_poker: seed 4; asked first.")
    assert shown[3] == "<Episode kuhn_poker: seed 0; chance draws>"
    assert "; done, payoffs first " in shown[4]


def test_void_payoffs_are_shown_as_none() -> None:
    episode = gamedsl.load("stag_hunt").env().reset()
    episode.step({d.seat: "no label" if not n else gamedsl.Action(d.legal[0])
                  for n, d in enumerate(episode.decisions)})  # fmt: skip
    assert "hunter_2 None" in repr(episode)


def test_public_names_complete() -> None:
    assert set(gamedsl.__all__) <= set(dir(gamedsl))


def test_types_are_declared() -> None:
    assert (Path(gamedsl.__file__).parent / "py.typed").exists()


def test_solutions_are_one_line() -> None:
    report = solve(gamedsl.load("stag_hunt"))
    for shown in (repr(report), repr(report.solution)):
        assert "\n" not in shown
        assert len(shown) < 300, shown
    assert repr(report).startswith("<Report stag_hunt: equilibria; <Solution ")


def test_compile_errors_say_fact_and_fix(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("game: bad\nroles: [a, b]\nturnz: []\n", encoding="utf-8")
    with pytest.raises(gamedsl.UserError) as caught:
        gamedsl.load(path)
    error = caught.value
    assert isinstance(error, gamedsl.CompileError)
    first = next(one for one in error.diagnostics if one.severity == "error")
    assert (error.fact, error.fix) == (first.message, first.help)
    assert first.code in str(error)


def test_shipped_games_are_listed() -> None:
    found = gamedsl.games()
    shipped = Path(gamedsl.load("stag_hunt").files[0]).parent
    assert set(found) == {path.stem for path in shipped.glob("*.yaml")}
    assert found["kuhn_poker"] == " ".join(gamedsl.load("kuhn_poker").ir.about.split())
    assert all("\n" not in about for about in found.values())
