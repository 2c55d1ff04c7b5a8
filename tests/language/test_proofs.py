"""What the compiler says of a game, with its grade; every witness is played again through `Env`."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest

import gamedsl
from gamedsl import Action, Episode
from gamedsl.analysis import PASSES
from gamedsl.analysis.history_sample import USUAL, HistorySample
from gamedsl.analysis.passes import prove
from gamedsl.analysis.proof import Proof
from gamedsl.compiler import Result, compile_file
from gamedsl.diagnostics import Problems, codes
from gamedsl.engine.interpreter import History
from gamedsl.engine.kernel import PlayError
from gamedsl.ir.game import GameIR
from gamedsl.prompting.prompts import Messages
from gamedsl.runtime import Env
from gamedsl.sema.game import build_game
from gamedsl.sema.library import load_document
from tests.diagnostics.expectations import CASES, case_files, expectations

ROOT = Path(__file__).parent.parent.parent


def checked(text: str, folder: Path, histories: int = USUAL) -> Result:
    """A game given as text, compiled."""
    path = folder / "example.yaml"
    path.write_text(f"game: example\n{text}", encoding="utf-8")
    return compile_file(path, histories=histories)


def built(path: Path) -> GameIR:
    """A game as it is before the passes look at it, whatever is wrong with it."""
    document = load_document(path, Problems())
    assert document is not None
    ir = build_game(document, None, Problems())
    assert ir is not None
    return ir


def proof(result: Result, name: str) -> Proof:
    (found,) = [each for each in result.proofs if each.name == name]
    return found


def played(ir: GameIR, moves: tuple[str, ...]) -> Episode:
    """A witness, played again: every name must be an outcome of chance or a legal choice."""
    episode = Env(ir).reset(chance="asked", forced="asked")
    rest = iter(moves)
    for name in rest:
        if episode.outcome_count:
            episode.draw([outcome.name for outcome in episode.chance].index(name))
            continue
        asked = episode.decisions
        names = [name, *(next(rest) for _ in asked[1:])]
        episode.step({d.seat: Action(n) for d, n in zip(asked, names, strict=True)})
    return episode


def witnesses(code: str, name: str, case: str) -> tuple[list[Episode], Proof]:
    """The histories of a witness in a case file, each played again, and the proof it refutes."""
    path = CASES / case
    result = compile_file(path)
    found = next(p for p in result.proofs if p.name == name)
    assert (found.grade, found.codes) == ("refuted", (code,))
    assert found.histories
    assert any(d.code == code and d.witness for d in result.diagnostics)
    return [played(built(path), moves) for moves in found.histories], found


# claims


def test_a_play_that_refutes_a_sum() -> None:
    (play,), found = witnesses("GD0470", "claims.zero_sum", "game/claimed_zero_sum.yaml")
    assert play.done
    assert sum(play.payoffs.values()) == 1
    assert "their sum is 1" in found.witness[-1]
    (play,), _ = witnesses("GD0470", "claims.constant_sum", "game/claimed_sum.yaml")
    assert sum(play.payoffs.values()) == 7


def test_witness_play_with_unequal_payoffs() -> None:
    (play,), _ = witnesses("GD0471", "claims.common_payoff", "game/claimed_common.yaml")
    assert len(set(play.payoffs.values())) == 2


def test_a_play_that_an_exchange_changes() -> None:
    (play,), _ = witnesses("GD0472", "claims.symmetric", "game/claimed_symmetric.yaml")
    assert [d.seat for d in play.decisions] == ["one"]


@pytest.mark.parametrize(
    ("name", "symmetric"),
    [
        ("matching_pennies", False), ("battle_of_the_sexes", False), ("kuhn_poker", False),
        ("stag_hunt_n", True), ("public_goods", True), ("goofspiel", True),
    ],
)  # fmt: skip
def test_symmetry_is_found_unasked(name: str, symmetric: bool) -> None:
    found = compile_file(name).proofs
    assert any(p.name == "claims.symmetric" for p in found) == symmetric


EACH_DRAWS = """roles: [ann, bob]
state:
  deck: {bag: 1..3, copies: 2, seen_by: nobody}
  hand: {per: role, list: 1..3, at_most: 2, seen_by: owner}
  die: {per: role, of: 0..2, start: 0, seen_by: owner}
turns:
  - each: roles
    turns:
      - {draw: hand.me, from: 2 of deck}
      - {draw: die.me, from: DIE}
  - {role: all, choose: move, from: [stay, pass]}
payoffs: sum(hand.me) + die.me if move.me == stay else 1
claims: symmetric
"""


def test_what_each_draws_in_turn_has_no_order(tmp_path: Path) -> None:
    result = checked(EACH_DRAWS.replace("DIE", "1..2"), tmp_path)
    assert result.diagnostics == []
    assert proof(result, "claims.symmetric").grade == "enumerated"
    odds = EACH_DRAWS.replace("DIE", '"[1, 2] if me == ann else [1, 1, 2]"')
    (problem,) = checked(odds, tmp_path).diagnostics
    assert (problem.code, problem.message.split(": ")[1]) == ("GD0472", "the odds of chance differ")


def test_the_witness_of_an_exchange_says_what_differs(tmp_path: Path) -> None:
    rules = (
        "roles: [ann, bob]\nturns:\n  - {draw: coin, from: 1..2, seen_by: ann}\n"
        "  - {role: all, choose: move, from: 1..2}\npayoffs: 1\nclaims: symmetric\n"
    )
    (problem,) = [d for d in checked(rules, tmp_path).diagnostics if d.code == "GD0472"]
    assert problem.witness == (
        "coin: 1", "exchanged:", "coin: 1", "`ann` has seen coin=1, not nothing",
    )  # fmt: skip


def test_an_exchange_renames_seats_that_are_chosen(tmp_path: Path) -> None:
    rules = (
        "roles: [ann, bob, cleo]\n"
        "turns:\n  - {role: all, choose: vote, from: [ann, bob, cleo]}\n"
        "payoffs: count(r for r in roles if vote[r] == %s)\nclaims: symmetric\n"
    )
    assert checked(rules % "me", tmp_path).ok
    assert [d.code for d in checked(rules % "ann", tmp_path).diagnostics] == ["GD0472"]


def test_claims_are_no_rules(tmp_path: Path) -> None:
    rules = "roles: [a, b]\nactions: [x, y]\nprotocol: simultaneous\npayoffs: index(me) - 1 / 2\n"
    plain, claimed = checked(rules, tmp_path).ir, checked(f"{rules}claims: zero_sum", tmp_path).ir
    assert plain is not None
    assert claimed is not None
    assert plain.hash == claimed.hash
    assert claimed.claims[0].kind == "zero_sum"


def test_large_games_are_sampled_and_undecided() -> None:
    result = compile_file("liars_dice")
    assert proof(result, "claims.zero_sum").grade == "sampled"
    assert "74 random plays" in proof(result, "claims.zero_sum").extent
    assert proof(result, "size").claim == "there are about 1e5 histories"


def test_few_random_plays_claim_nothing() -> None:
    names = {proof.name for proof in compile_file("negotiation").proofs}
    assert "plays" in names
    assert "claims.common_payoff" not in names


def test_symmetry_of_a_large_game_is_undecided(tmp_path: Path) -> None:
    result = checked(
        "roles: [a, b]\nturns:\n  - repeat: 9\n    turns:\n"
        "      - {role: all, choose: move, from: 1..9}\npayoffs: move.me\nclaims: symmetric\n",
        tmp_path,
    )
    assert result.ok
    assert proof(result, "claims.symmetric").grade == "undecided"
    assert "only whole trees" in proof(result, "claims.symmetric").extent


# reachability


def test_what_random_plays_never_meet_is_noted(tmp_path: Path) -> None:
    """As what never happens is in a game that is gone through; a condition that was read and did
    not hold is left to the report."""
    rules = (
        "roles: [left, right]\nturns:\n  - repeat: %d\n    turns:\n"
        "      - {role: left, choose: call, from: 1..3}\n"
        "      - {role: right, choose: answer, from: 1..3, if: call > 3}\n"
        "  - {role: right, choose: last, from: 1..2}\npayoffs: last if last < 3 else 7\n"
    )
    small = checked(rules % 2, tmp_path)
    assert [d.code for d in small.diagnostics] == ["GD0473", "GD0474"]
    assert {d.severity for d in small.diagnostics} == {"warning"}
    assert proof(small, "reachable").grade == "refuted"
    large = checked(rules % 20, tmp_path)
    assert [(d.code, d.severity) for d in large.diagnostics] == [("GD0473", "note")]
    assert large.diagnostics[0].message == "the choice `answer` was never met"
    assert "random plays" in large.diagnostics[0].why
    assert proof(large, "reachable").grade == "sampled"
    assert proof(large, "reachable").codes == ("GD0473",)
    assert len(proof(large, "reachable").witness) == 2
    told = rules.replace(
        "{role: right, choose: answer, from: 1..3, if: call > 3}",
        "{show: call, as: answer, if: call > 3}",
    )
    assert not checked(told % 20, tmp_path).diagnostics


def test_coverage_of_generated_games_uses_the_interpreter(tmp_path: Path) -> None:
    rare = (
        "roles: [left, right]\nturns:\n  - repeat: 4\n    turns:\n"
        "      - {role: left, choose: call, from: 1..6}\n"
        "let: {total: sum(past(call))}\n"
        "payoffs: 1 if total > 23 else -1 if total > 24 else 0\n"
    ).replace("  - repeat", "  - {role: right, choose: start, from: [go]}\n  - repeat")
    result = checked(rare, tmp_path)
    assert proof(result, "size").grade == "enumerated"
    assert [d.code for d in result.diagnostics] == ["GD0474"]
    assert result.diagnostics[0].span.text == "-1"


STUCK = """roles: [left, right]
state: {deck: {bag: 1..3}}
turns:
  - repeat: 4
    turns:
      - {role: left, choose: move, from: 1..9}
      - {draw: card, from: deck, seen_by: all}
  - {role: right, choose: answer, from: 1..2}
payoffs: 1
"""


def test_failing_play_ends_with_the_failing_move(tmp_path: Path) -> None:
    result = checked(STUCK, tmp_path)
    (problem,) = result.diagnostics
    assert problem.message == "`deck` is empty: 1 cannot be drawn from 0"
    assert "only where there is enough: `if: len(deck) >= 1`" in str(problem.help)
    (moves,) = proof(result, "plays").histories
    assert len(moves) == 7
    with pytest.raises(PlayError, match="is empty"):
        played(built(tmp_path / "example.yaml"), moves)


def test_unequal_reward_is_reported_once(tmp_path: Path) -> None:
    """What it makes of incentives comes later."""
    file = "reward: pooled\nclaims: common\nsplit: sum(payoff) - payoff.me\n"
    (tmp_path / "pooled.yaml").write_text(file, encoding="utf-8")
    game = "extends: prisoners_dilemma\nrewards: pooled\n"
    assert [d.code for d in checked(game, tmp_path).diagnostics] == ["GD0610"]
    (tmp_path / "pooled.yaml").write_text(file.replace(" - payoff.me", ""), encoding="utf-8")
    assert [d.code for d in checked(game, tmp_path).diagnostics] == ["GD0611"]


# information


def test_two_histories_that_a_leak_tells_apart() -> None:
    path = CASES / "game" / "left_in_an_open_deck.yaml"
    found = proof(compile_file(path), "told.alike")
    assert found.grade == "refuted"
    one, other = (played(built(path), moves) for moves in found.histories)
    asked = [d for play in (one, other) for d in play.decisions if d.seat == "second"]
    keys = [d.information_set for d in asked]
    assert keys[0] == keys[1]
    assert one.view("second").data != other.view("second").data


def test_two_histories_with_one_prompt() -> None:
    plays, found = witnesses("GD0530", "told.harmless", "prompts/told_the_same.yaml")
    one, other = (next(d for d in play.decisions if d.seat == "second") for play in plays)
    assert one.information_set != other.information_set
    assert one.messages == other.messages
    assert "  The first has decided." in found.witness


def test_two_histories_that_a_view_forgets() -> None:
    plays, _ = witnesses("GD0531", "told.harmless", "prompts/view_forgets.yaml")
    one, other = (next(d for d in play.decisions if d.seat == "left") for play in plays)
    assert one.information_set != other.information_set
    assert one.messages == other.messages


MANY = """
roles: [left]
types: {Cell: {cell: [3, 3]}}
turns:
  - {role: left, choose: call, from: [low, high]}
  - {role: left, choose: spot, from: Cell}
payoffs: 1 if (call == low) == (spot == [0, 0]) else 0
view: {left: [size(past(call))]}
"""


def test_a_witness_shows_what_was_seen(tmp_path: Path) -> None:
    result = checked(MANY, tmp_path)
    (found,) = [d for d in result.diagnostics if d.code == "GD0531"]
    assert found.witness == (
        "one history:   call: left low",
        "another:       call: left high",
        "`left` has seen in one alone: left.call=low",
        "`left` has seen in the other alone: left.call=high",
        "`left` is told in both:",
        "  size(past(call)): 1",
        "  Make your choice (spot).",
        "what may follow differs",
    )


def test_a_view_may_forget_what_makes_no_difference(tmp_path: Path) -> None:
    result = checked("extends: nim\nparams: {piles: [1, 2, 2]}\n", tmp_path)
    assert result.diagnostics == []
    assert proof(result, "view.forgets").grade == "proved"
    assert proof(result, "told.harmless").grade == "enumerated"


def test_recall_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    ir = compile_file("repeated_prisoners_dilemma", {"rounds": 2}).ir
    assert ir is not None
    (found,) = [p for p in prove(PASSES, HistorySample(ir), Problems()) if p.name == "recall"]
    assert found.grade == "proved"
    monkeypatch.setattr(History, "seen", lambda self, seat: ())
    (found,) = [p for p in prove(PASSES, HistorySample(ir), Problems()) if p.name == "recall"]
    assert found.grade == "refuted"
    assert len(found.histories) == 2


def test_recall_of_a_sampled_game_is_undecided(tmp_path: Path) -> None:
    game = """
roles: [walker]
turns:
  - {draw: deal, from: 1..20000, seen_by: walker}
  - {role: walker, choose: first, from: [left, right], knows: [deal]}
  - {role: walker, choose: second, from: [left, right], knows: [deal, first]}
payoffs: deal if first == second else 0
"""
    found = proof(checked(game, tmp_path), "recall")
    assert found.grade == "undecided"
    assert "not all was gone through" in found.extent


def test_probabilities_are_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    ir = compile_file("kuhn_poker").ir
    assert ir is not None
    from gamedsl.engine.chance import Single

    monkeypatch.setattr(Single, "probability", lambda self, outcome: Fraction(1, self.total + 1))
    (found,) = [p for p in prove(PASSES, HistorySample(ir), Problems()) if p.name == "chance"]
    assert (found.grade, found.witness[-1]) == ("refuted", "the probabilities sum to 3/4")


# rewards


def test_a_play_that_refutes_a_reward_file() -> None:
    (play,), _ = witnesses("GD0610", "rewards.keeps_sum", "rewards/claimed_rewards.yaml")
    assert sum(play.rewards.values()) != sum(play.payoffs.values())


def test_reward_may_reverse_the_preferred_play() -> None:
    plays, _ = witnesses("GD0611", "rewards.incentives", "rewards/wants_another.yaml")
    one, other = ((p.payoffs["hunter"], p.rewards["hunter"]) for p in plays)
    assert one[0] < other[0]
    assert one[1] >= other[1]


@pytest.mark.parametrize(
    ("game", "reward", "grade"),
    [
        ("prisoners_dilemma", "individual", "proved"),
        ("prisoners_dilemma", "{use: mixing, matrix: [[2, 0], [0, 1/2]]}", "enumerated"),
        ("matching_pennies", "zero_sum", "enumerated"),
        ("prisoners_dilemma", "shared", "refuted"),
        ("prisoners_dilemma", "{use: mixing, matrix: [[-1, 0], [0, 1]]}", "refuted"),
        ("rock_paper_scissors", "rank", "enumerated"),
        ("pure_coordination", "shared", "enumerated"),
        ("chicken", "cubed", "undecided"),
    ],
)
def test_incentives(game: str, reward: str, grade: str, tmp_path: Path) -> None:
    (tmp_path / "cubed.yaml").write_text("reward: cubed\nsplit: (payoff.me + 9) ** 3\n")
    result = checked(f"extends: {game}\nlabels: plain\nrewards: {reward}\n", tmp_path)
    assert proof(result, "rewards.incentives").grade == grade
    assert [d.code for d in result.diagnostics] == ["GD0611"] * (grade == "refuted")


# plays, labels, size


def test_failing_play_replays_up_to_the_failure() -> None:
    path = CASES / "game" / "no_value_in_some_play.yaml"
    found = proof(compile_file(path), "plays")
    assert (found.grade, found.codes) == ("refuted", ("GD0402",))
    with pytest.raises(gamedsl.EvaluationError):
        played(built(path), found.histories[0])


def test_a_play_that_is_too_long_is_undecided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gamedsl.analysis.history_sample.WORK", 20_000)
    result = checked(
        "roles: [a, b]\nstate: {n: 0}\nturns:\n  - repeat: 100000\n    turns:\n"
        "      - {do: n = (n * n + 1) % 1000}\n      - {do: n = (n * n + 3) % 1000}\n"
        "  - {role: all, choose: move, from: [x, y]}\npayoffs: n\n",
        tmp_path,
    )
    assert proof(result, "plays").grade == "undecided"
    assert proof(result, "prompts.length").grade == "proved"
    assert not [found for found in result.proofs if found.name == "prompts.length.met"]


def test_labels_change_nothing() -> None:
    found = proof(compile_file("ultimatum"), "labels.same_game")
    assert found.grade == "proved"
    assert "6 plays were replied" in found.extent


def test_kuhn_in_numbers() -> None:
    result = compile_file("kuhn_poker")
    said = {p.name: p.claim for p in result.proofs}
    assert said["size"] == "there are 58 histories, 12 information sets, and 30 plays"
    assert said["length"] == "a play has 2 to 3 decisions"
    assert said["length.first"] == "`first` is asked at most 2 times"
    assert said["length.chance"] == "chance draws at most 2 times in a play"
    assert not {p.grade for p in result.proofs} - {"proved", "enumerated"}


class Words:
    """A tokenizer of which a word is a token."""

    fingerprint = "words"

    def count(self, text: str) -> int:
        return len(text.split())

    def render(self, messages: Messages) -> str:
        return " ".join(f"<{role}> {text}" for role, text in messages)


def test_prompts_are_measured_with_a_tokenizer() -> None:
    result = compile_file("kuhn_poker", tokenizer=Words())
    found = proof(result, "prompts.length")
    asked = played(result.ir, found.histories[0]).decisions
    counts = [Words().count(Words().render(decision.messages)) for decision in asked]
    assert found.claim == f"the longest prompt has {max(counts)} tokens"


@pytest.mark.parametrize(("name", "histories"), [("jury", 1599), ("goofspiel", 733)])
def test_the_estimate_is_near(name: str, histories: int) -> None:
    ir = compile_file(name).ir
    assert ir is not None
    sample = HistorySample(ir)
    assert len(sample.nodes) == histories
    assert abs(sample.estimate / histories - 1) < 0.2
    few = HistorySample(ir, 10)
    assert not few.whole
    assert few.nodes


def test_the_same_is_found_again() -> None:
    assert compile_file("advice").proofs == compile_file("advice").proofs


# the table


def test_every_code_belongs_to_a_pass_or_stage() -> None:
    of_passes = {code for row in PASSES for code in row.codes}
    folder = Path(gamedsl.__file__).parent
    stages = {
        code
        for stage in ("frontend/schema", "frontend/syntax", "sema", "recipe")
        for path in (folder / stage).glob("*.py")
        for code in re.findall(r'"(GD\d{4})"', path.read_text(encoding="utf-8"))
    }
    known = [code for code in codes.codes() if code[2:4] in ("04", "05", "06")]
    assert [code for code in known if code not in of_passes | stages] == []
    reported = {
        code
        for path in (folder / "analysis").glob("*.py")
        for code in re.findall(r'"(GD\d{4})",? [f(]', path.read_text(encoding="utf-8"))
    }
    assert sorted(reported - of_passes) == []
    cased = {expected.code for path in case_files() for expected in expectations(path)}
    assert sorted(of_passes - cased) == []


def test_every_proof_belongs_to_a_table_row() -> None:
    names = {row.name for row in PASSES}
    page = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in page for name in names)
    for game in ("kuhn_poker", "tic_tac_toe", "ultimatum"):
        for found in compile_file(game).proofs:
            first = found.name.partition(".")[0]
            assert any(
                name.partition(".")[0] == first for name in {*names, "size", "length", "view"}
            )
            assert found.claim
            assert found.extent
