"""Who a text names, and when two are the same contestant."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from gamedsl.evaluate import contestant
from gamedsl.policies.endpoint import EndpointSettings

POLICY = "policy:{}", "best_response:policy:{}", "mix:0.5*random+0.5*policy:{}"
OPEN = "random", "minimax", "equilibrium", "fixed:rock", "tit_for_tat", "endpoint:http://h/v1#m"
SEEDED = "mcts:20", "model:tabular", "mix:1*random + 2*mcts:20", "best_response:model:tabular"


@pytest.mark.parametrize("spec", OPEN)
def test_player_identity_ignores_current_folder(
    spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = contestant(spec).identity
    for name in ("notes", "rock"):
        (tmp_path / name).write_text("more", encoding="utf-8")
    assert contestant(spec).identity == before


@pytest.mark.parametrize("spec", POLICY)
def test_player_identity_includes_its_files(spec: str, tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    identities = set()
    for text in ("one", "two"):
        file.write_text(text, encoding="utf-8")
        identities.add(contestant(spec.format(file)).identity)
    assert len(identities) == 2


@pytest.mark.parametrize("spec", [*SEEDED, *OPEN])
def test_player_identity_includes_seed_where_used(spec: str) -> None:
    identities = {contestant(spec, seed).identity for seed in (0, 1)}
    assert len(identities) == (2 if spec in SEEDED else 1)


@pytest.mark.parametrize("held", ["mcts:20", "policy:{file}", "random"])
def test_run_identity_includes_seat_holders(held: str, tmp_path: Path) -> None:
    """Its seed where its policy depends on it, and its file."""
    run, file = tmp_path / "run", tmp_path / "p.json"
    run.mkdir()
    (run / "run.json").write_text("{}", encoding="utf-8")
    recipe = {"roles": {"row": {"player": held.format(file=file)}, "column": {"trained": True}}}
    (run / "recipe.yaml").write_text(yaml.safe_dump(recipe), encoding="utf-8")
    found = []
    for seed, text in ((0, "one"), (0, "two"), (1, "one"), (0, "one")):
        file.write_text(text, encoding="utf-8")
        found.append(contestant(f"run:{run}", seed).identity)
    one, other_file, other_seed, again = found
    assert again == one
    assert (other_file != one) == held.startswith("policy")
    assert (other_seed != one) == held.startswith("mcts")


def test_endpoint_settings_make_another_contestant() -> None:
    asked = [
        EndpointSettings(), EndpointSettings(temperature=0.5), EndpointSettings(max_tokens=9),
        EndpointSettings(calls=9), EndpointSettings(enable_thinking=False),
    ]  # fmt: skip
    found = [contestant("endpoint:http://h/v1#m", 0, one).identity for one in asked]
    assert len(set(found)) == 4
    assert found[0] == found[3]
    assert contestant("random", 0, asked[1]).identity == contestant("random").identity
