"""Settings: precedence, types, words, and the way there and back."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import is_dataclass
from fractions import Fraction
from importlib import import_module
from pathlib import Path

import pytest
import yaml

from gamedsl.diagnostics import Problems
from gamedsl.policies.names import EMBEDDED, fully_trained
from gamedsl.recipe.methods import METHODS, method_spec, table
from gamedsl.recipe.resolve import override, parse_overrides, read_recipe, resolve
from gamedsl.recipe.setting import specs
from gamedsl.recipe.table import Recipe, Start
from gamedsl.runs.record_fields import shape_of
from tests.train.conftest import DILEMMA, OFFER, recipe_of, run_of


def _problems(game, *texts: str) -> list[tuple[str, str, str]]:
    problems = Problems()
    resolve(game.ir, parse_overrides(texts), problems)
    return [(d.code, d.span.text, d.help) for d in problems.sorted()]


def test_defaults_then_file_then_command_line(compiled) -> None:
    game = compiled(DILEMMA + "train: {steps: 7, games: 64, lora: {rank: 4}}\n")
    problems = Problems()
    texts = ["games=32", "lora.layers=3", "betas=[0, 0.99]", "lr=1e-3", "games=16"]
    recipe = resolve(game.ir, parse_overrides(texts), problems)
    assert not problems.found
    assert (recipe.steps, recipe.games, recipe.seed) == (7, 16, 0)
    assert (recipe.lora.rank, recipe.lora.layers, recipe.lora.targets) == (4, 3, None)
    assert (recipe.betas, recipe.lr) == ((0.0, 0.99), 0.001)


def test_recipe_keys_match_fields_and_defaults(compiled) -> None:
    game = compiled(DILEMMA)
    problems = Problems()
    given = [override(key.name, key.default) for key in table().values() if key.kind != "map"]
    recipe = resolve(game.ir, given, problems)
    assert not problems.found
    assert recipe == resolve(game.ir, (), problems)
    groups = {name: part for name, part in vars(recipe).items() if is_dataclass(part)}
    groups |= dict(recipe.of_methods)
    inside = {f"{group}.{name}" for group, part in groups.items() for name in vars(part)}
    assert set(table()) == ({*vars(recipe), *inside} - {*groups, "of_methods"})
    assert [row.name for row in recipe.rows()] == [row.name for row in specs(Recipe)] + [
        name for name in table() if name.partition(".")[0] in dict(recipe.of_methods)
    ]


def test_there_and_back(compiled) -> None:
    game = compiled(OFFER)
    recipe = recipe_of(
        game,
        model="tiny",
        lora__layers=2,
        threads=3,
        lr=3e-4,
        start={"responder": {"answer": {"accept": 0.1}}},
    )
    assert recipe.start == (Start("responder", "answer", (("accept", 0.1),)),)
    read = yaml.safe_load(yaml.safe_dump(recipe.as_dict()))
    problems = Problems()
    again = resolve(game.ir, [override(key, value) for key, value in read.items()], problems)
    assert not problems.found
    assert again == recipe


SAY = """
game: say
roles: [row, column]
turns:
  - {role: all, say: word, max_tokens: 4}
payoffs: 0
"""
VALUES = (True, False, 0, 0.5, 1, 2, 100, "random", "mcts:20", [0.5, 0.5])
"""Values of settings, each for those that accept it; their words are added."""


@pytest.mark.parametrize(
    ("text", "method"),
    [(SAY, "grpo"), *((OFFER, name) for name in METHODS)],
    ids=["in_words", *METHODS],
)
def test_resumed_runs_accept_their_own_settings(compiled, text: str, method: str) -> None:
    """A resumed run gives all settings by name. None of them is refused that the first run was not
    refused, and the recipe stays what it was."""
    game, tried = compiled(text), 0
    for row in table().values():
        for value in (*row.choices, *VALUES) if row.kind != "map" and row.name != "method" else ():
            if not (row.fits(value) and row.in_range(value)):
                continue
            given, problems = [override("method", method), override(row.name, value)], Problems()
            recipe = resolve(game.ir, given, problems)
            if problems.errors:
                continue
            again = [override(*item) for item in recipe.as_dict().items()]
            assert resolve(game.ir, again, problems) == recipe
            assert not problems.errors, f"{row.name}: {value}"
            tried += 1
    assert tried > 100


def test_the_command_line_is_a_source(compiled) -> None:
    game = compiled(DILEMMA)
    heads = dict.fromkeys(key.name.partition(".")[0] for key in table().values())
    assert _problems(game, "lerning_rate=3") == [
        ("GD0701", "3", f"the settings are {', '.join(heads)}")
    ]
    assert _problems(game, "step=3") == [("GD0701", "3", "did you mean `steps`?")]
    assert _problems(game, "lr_schedule=linaer") == [("GD0702", "linaer", "did you mean `linear`?")]
    assert _problems(game, "lora.rank=0") == [("GD0703", "0", "the default is `16`")]
    assert _problems(game, "start.row.coperate=0.5") == [
        ("GD0705", "0.5", "did you mean `cooperate`?")
    ]
    assert _problems(game, "start={row: {defect: 0.2}}") == []


NEWTON = ["method=project", "project.fitter=newton"]


def test_settings_that_nothing_reads_are_told(compiled) -> None:
    """Of a file where the file decides, and of the command line whoever decides."""
    plain = compiled(DILEMMA)
    given = compiled(DILEMMA + "train: {method: project, project: {eta: [0.5, 0.1]}, games: 64}\n")
    wrong = compiled(DILEMMA + "train: {project: {eta: [0.5, 0.1]}}\n")
    timed = compiled(DILEMMA + "train: {lr: 0.01}\n")
    sized = compiled(DILEMMA + "train: {lora: {rank: 4}}\n")
    for game, texts, unread in (
        (plain, ["clip=0.1"], []),
        (plain, ["clip=0.1", "method=project"], ["0.1"]),
        (plain, ["clip=0.2", "method=project"], []),
        (plain, ["pool.size=3"], ["3"]),
        (plain, ["pool.size=3", "opponents={self: 1, pool: 1}"], []),
        (plain, ["expert.keep=0.5", "magnet.every=3"], ["0.5", "3"]),
        (plain, ["baseline=none", "estimator=tree"], ["none"]),
        (plain, ["method=magnet", "magnet.uniform=0.05"], ["0.05"]),
        (plain, ["method=magnet", "magnet.uniform=0.05", "magnet.every=3"], []),
        (given, [], []),
        (given, ["method=grpo"], []),
        (given, ["method=grpo", "magnet.every=3"], ["3"]),
        (given, ["clip=0.1"], ["0.1"]),
        (wrong, [], ["[0.5, 0.1]"]),
        (wrong, ["games=64"], ["[0.5, 0.1]"]),
        (wrong, ["method=magnet"], []),
        (plain, ["lora.rank=4", "finetuning=full"], ["4"]),
        (plain, ["lora.rank=4", "model=small"], ["4"]),
        (plain, ["lora.rank=4", "model=small", "finetuning=lora"], []),
        (plain, ["lora.rank=4", "model=tabular", "finetuning=full"], ["4", "full"]),
        (plain, ["roles.row.lora.rank=4", "finetuning=full", "adapters=per_role"], ["4"]),
        (
            plain,
            ["roles.row={lora: {rank: 4}, model: small}", "adapters=per_role"],
            ["{lora: {rank: 4}, model: small}"],
        ),
        (plain, ["roles.row.lora.rank=4", "adapters=per_role"], []),
        (sized, [], []),
        (sized, ["model=small"], []),
        (sized, ["finetuning=full"], []),
        (plain, ["dtype=bfloat16", "model=tiny"], []),
        (plain, ["dtype=bfloat16", "finetuning=full"], ["bfloat16"]),
        (plain, ["dtype=bfloat16", "model=small"], ["bfloat16"]),
        (plain, ["minibatches=4", "estimator=tree"], ["4"]),
        (
            plain,
            [*NEWTON, "lr=0.01", "lr_schedule=cosine", "lr_warm_up=2", "betas=[0.5, 0.9]"],
            ["0.01", "cosine", "2", "[0.5, 0.9]"],
        ),
        (plain, [*NEWTON, "project.rate=held", "project.batch=8"], ["held", "8"]),
        (plain, [*NEWTON, "adapters=per_role", "roles.row.lr=0.01"], ["0.01"]),
        (plain, ["method=project", "lr=0.01", "project.rate=held"], []),
        (plain, ["method=project", "project.fitter=adam", "lr=0.01"], []),
        (plain, ["lr=0.01", "project.fitter=newton"], ["newton"]),
        (timed, NEWTON, []),
        (timed, ["method=project"], []),
    ):
        problems = Problems()
        resolve(game.ir, parse_overrides(texts), problems)
        assert [(d.code, d.span.text) for d in problems.found] == [("GD0716", t) for t in unread]
        assert not problems.errors


@pytest.mark.parametrize("text", ["lr", "=3", "lr="])
def test_what_sets_nothing_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not of the form key=value"):
        parse_overrides([text])


def test_numbers_are_exact_until_they_are_floats(compiled) -> None:
    assert override("lr", 0.1).value == Fraction(1, 10)
    assert recipe_of(compiled(DILEMMA), lr=0.1).lr == 0.1


def test_declarations_of_methods_load_no_torch() -> None:
    code = (
        "import sys; from gamedsl.recipe.methods import table; table();"
        "print([n for n in ('torch', 'numpy', 'transformers') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


SPEAK = """
game: speak
roles: [speaker]
turns:
  - {role: speaker, say: word, max_tokens: 8}
payoffs: 1
on_invalid: {then: forfeit, pay: -1}
"""
LAZY = '''
"""`lazy`: changes nothing."""

from __future__ import annotations

from dataclasses import dataclass

from gamedsl.recipe.conflicts import Conflict
from gamedsl.recipe.methods import MethodSpec
from gamedsl.recipe.setting import setting
from gamedsl.storage.shapes import NUMBER


@dataclass(frozen=True)
class LazySettings:
    naps: int = setting(3, "steps that are slept through", low=1)


class Lazy:
    def __init__(self, learner) -> None:
        self._learner = learner

    def update(self, experience):
        naps = self._learner.recipe.of(LazySettings).naps
        return self._learner.idle(experience.step) | {"naps": naps}

    def state(self):
        return {}

    def restore(self, state) -> None: ...


METHOD = MethodSpec(
    doc="it rests",
    start=Lazy,
    settings={"lazy": LazySettings},
    defaults={"games": 16},
    records={"naps": (NUMBER, "the steps that are slept through")},
    conflicts=(
        Conflict(("method", "kl"), lambda recipe, _: recipe.kl, "`lazy` has no `kl`", "leave it"),
    ),
)
'''


@pytest.fixture
def lazy(tmp_path, monkeypatch) -> Iterator[None]:
    """A method by one file and one row."""
    (tmp_path / "lazy_method.py").write_text(LAZY, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(METHODS, "lazy", "lazy_method")
    table.cache_clear()
    shape_of.cache_clear()
    yield
    table.cache_clear()
    shape_of.cache_clear()
    method_spec.cache_clear()
    sys.modules.pop("lazy_method", None)


@pytest.mark.usefixtures("lazy")
def test_a_method_is_one_file_and_one_row(compiled, tmp_path) -> None:
    game = compiled(DILEMMA)
    recipe = recipe_of(game, method="lazy", model="tabular", lazy__naps=7, steps=3)
    assert (recipe.games, recipe.as_dict()["lazy"]) == (16, {"naps": 7})
    run, _ = run_of(game, recipe, tmp_path / "run")
    assert [one["naps"] for one in run.records() if one["event"] == "step"] == [7, 7, 7]
    assert _problems(game, "lazy.naps=0") == [("GD0703", "0", "the default is `3`")]
    assert _problems(game, "lazy.naps=4") == [
        ("GD0716", "4", "leave it out, or write `method: lazy`")
    ]
    assert _problems(game, "method=lazy", "kl=1") == [("GD0704", "1", "leave it")]


@pytest.mark.usefixtures("lazy")
def test_the_same_method_trains_games_in_words(compiled, tmp_path) -> None:
    game = compiled(SPEAK)
    settings = {"games": 4, "group_size": 4, "steps": 1, "lazy__naps": 2}
    recipe = recipe_of(game, method="lazy", model="tiny", **settings)
    run, _ = run_of(game, recipe, tmp_path / "run")
    (step,) = [one for one in run.records() if one["event"] == "step"]
    assert (step["naps"], step["trained"], step["games"]) == (2, 0, 4)


@pytest.mark.usefixtures("lazy")
def test_settings_of_a_method_are_documented(monkeypatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "docs")
    rows = "\n".join(import_module("generate").recipe())
    assert "| `lazy.naps` | `3` | a whole number of at least 1 | steps that are slept" in rows
    assert "`lazy`: it rests" in rows


@pytest.mark.usefixtures("lazy")
def test_closed_methods_say_why_words_do_not_fit(compiled, tmp_path) -> None:
    because = "it rests on options"
    closed = LAZY.replace('    doc="', f'    closed_because="{because}",\n    doc="')
    (tmp_path / "lazy_method.py").write_text(closed, encoding="utf-8")
    problems = Problems()
    resolve(compiled(SPEAK).ir, parse_overrides(["method=lazy"]), problems)
    (found,) = [one for one in problems.found if one.message.startswith("`method: ")]
    assert found.message == f"`method: lazy` is not for games in words: {because}"
    found = _problems(compiled(SPEAK), "lazy.naps=4")
    assert ("GD0704", "4", "leave `lazy.naps` out") in found


@pytest.mark.parametrize("method", ["magnet", "project"])
def test_mixtures_need_options(compiled, method: str) -> None:
    problems = Problems()
    resolve(compiled(SPEAK).ir, parse_overrides([f"method={method}"]), problems)
    assert "here all replies are written" in problems.found[0].message


def test_thoughts_come_once(compiled) -> None:
    """What goes from step to step at a prompt has no place where each prompt is new."""
    game = compiled(DILEMMA + "respond: {form: tag, think: 8}\n")
    assert _problems(game, "method=project") == []
    found = _problems(game, "method=project", "project.base=target", "project.fitter=newton")
    assert [help for _, _, help in found] == [
        "write `project: {base: policy}`", "write `project: {fitter: adam}`",
    ]  # fmt: skip


def test_games_in_words_refuse_warm_starts(compiled) -> None:
    game = compiled(DILEMMA)
    found = _problems(game, "replies=free", "start={row: {defect: 0.2}}")
    assert ("GD0704", "{row: {defect: 0.2}}", "leave `start` out") in found


def test_a_saved_recipe_is_read_without_the_game(compiled) -> None:
    recipe = recipe_of(
        compiled(OFFER), method="project", project__batch=4, adapters="per_role",
        roles={"responder": {"lr": 0.1}},
        start={"responder": {"answer": {"accept": 0.1}}}, opponents={"self": 1, "random": 1},
    )  # fmt: skip
    saved = yaml.safe_load(yaml.safe_dump(recipe.as_dict(), sort_keys=False))
    assert read_recipe(saved) == recipe
    del saved["project"], saved["finetuning"]
    older = read_recipe(saved)
    assert (older.value("project.batch"), older.finetuning) == (None, None)
    with pytest.raises(ValueError, match="`steps` must be a whole number from 1 to 100,000,000"):
        read_recipe(saved | {"steps": "many"})
    with pytest.raises(ValueError, match=r"`roles\.responder` cannot be read"):
        read_recipe(saved | {"roles": {"responder": {"hat": 1}}})


def test_earlier_names_of_settings_are_read(compiled) -> None:
    """In a game's `train:`, on the command line, and in the recipe of a run."""
    game = compiled(DILEMMA + "train: {method: project, project: {floor: 0.1}}\n")
    problems = Problems()
    texts = ["magnet.floor=0.5", "magnet.every=3", "curriculum.floor=0.25"]
    recipe = resolve(game.ir, parse_overrides(texts), problems)
    assert {d.code for d in problems.found} == {"GD0716"}  # nothing draws rows here
    saved = recipe.as_dict()
    named = ("project.min_probability", "magnet.uniform", "curriculum.unweighted")
    assert [recipe.value(name) for name in named] == [0.1, 0.5, 0.25]
    for name in named:
        group, _, last = name.partition(".")
        saved[group]["floor"] = saved[group].pop(last)
    assert read_recipe(saved) == recipe


def test_rule_of_whole_models_is_the_factory_s(compiled) -> None:
    """The recipe and the factory of policies agree which models are trained whole by default."""
    for model in (*EMBEDDED, "folder/of_a_model"):
        recipe = recipe_of(compiled(DILEMMA), model=model)
        assert recipe.whole_by_default == fully_trained(model, recipe.finetuning)
