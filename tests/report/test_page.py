import base64
import hashlib
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest
from runs import pure, records, write_run

import gamedsl
from gamedsl.prompting.labels import LabelBook
from gamedsl.solve import one_shot, predict_basin, tabulate, uniform
from gamedsl.view.report.game import payoff_matrix
from gamedsl.view.report.page import write_report
from gamedsl.view.report.parts import Section, paragraph
from gamedsl.view.report.portrait import picture
from gamedsl.view.report.run_data import read_run
from gamedsl.view.report.sections import SECTIONS

HARE = {"hunter_1:move": "hare", "hunter_2:move": "hare"}


class Checker(HTMLParser):
    """Every element is closed in order, and nothing is loaded from anywhere. The only script is
    the one that the content security policy names by its hash."""

    VOID = {"meta", "br", "hr", "img", "link", "input"}

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag, attrs):
        assert tag not in {"link", "img", "iframe"}
        assert not {name for name, _ in attrs} & {"src", "onclick"}
        links = [value for name, value in attrs if name == "href"]
        assert not [link for link in links if ":" in link or link.startswith("/")]
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def page(folder) -> str:
    text = write_report(folder).read_text(encoding="utf-8")
    checker = Checker()
    checker.feed(text)
    assert checker.open == []
    assert len(checker.ids) == len(set(checker.ids))
    assert "default-src 'none'" in text
    (script,) = re.findall(r"<script>(.*?)</script>", text, flags=re.S)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in text
    assert len(text.encode()) < 300_000
    text = text.replace('"http://www.w3.org/2000/svg"', "")
    assert "http://" not in text.replace("http-equiv", "")
    assert "https://" not in text
    return text


def words(text: str) -> str:
    body = re.sub(r"<(style|script)>.*?</\1>", "", text, flags=re.S)
    return " ".join(re.sub(r"<[^>]+>", " ", body).split())


@pytest.fixture(scope="module")
def stag(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "stag"
    write_run(folder, "stag_hunt", HARE)
    return folder, page(folder)


def test_the_page_says_what_happened(stag):
    folder, text = stag
    said = words(text)
    assert "Both hunters learned hare: (hare, hare), the risk-dominant equilibrium" in said
    assert "(hare, hare) — came true." in said
    assert "8 of 8" in said
    assert "interrupted" not in said
    for value in json.loads((folder / "run.json").read_text())["versions"].values():
        assert value in said
    assert json.loads((folder / "run.json").read_text())["rules_hash"] in said
    assert "lora.rank 8" in said


def test_the_table_marks_best_replies_and_equilibria(stag):
    _, text = stag
    cells = re.findall(
        r'<td(?: class="(equilibrium)")?>((?:(?!</td>).)*?)<small>', text, flags=re.S
    )
    assert cells == [
        ("equilibrium", "<u>4</u>, <u>4</u>"), ("", "0, 3"), ("", "3, 0"),
        ("equilibrium", "<u>2</u>, <u>2</u>"),
    ]  # fmt: skip
    assert re.findall(r"<small>(.*?)</small>", text) == ["0%", "1.0%", "1.0%", "98.0%"]


def test_cell_with_one_best_reply_is_unmarked():
    tree = tabulate(gamedsl.load("prisoners_dilemma").env())
    table = payoff_matrix(one_shot(tree), None)
    columns = [column.head for column in table.columns[1:]]
    cells = {(row[0], b): cell for row in table.rows for b, cell in zip(columns, row[1:])}
    runs = cells["cooperate", "defect"].runs
    assert [(run.text, run.style) for run in runs] == [("0", ""), (", ", ""), ("5", "marked")]
    assert [where for where, cell in cells.items() if cell.style] == [("defect", "defect")]


def test_prompts_are_those_that_were_sent(stag):
    folder, text = stag
    labels = json.loads((folder / "labels.json").read_text())
    book = LabelBook(labels["kind"], tuple(labels["labels"].items()), labels["order"])
    game = gamedsl.load("stag_hunt")
    (first, _) = read_run(folder).prompts
    sent = game.env(run_seed=3).reset(seed=0).decisions[0].messages
    assert first.messages == sent
    assert dict(first.replies) == {name: book.label(name) for name in ("stag", "hare")}
    assert sent[1][1].splitlines()[0] in words(text)


def test_transcripts_come_most_played_first(stag):
    _, text = stag
    assert re.findall(r"(\d+) \(([\d.]+)%\)", text)[:2] == [("90", "70.3"), ("38", "29.7")]


def test_portrait_shows_basins_trajectory_and_equilibria(stag):
    _, text = stag
    portrait = re.search(r'<figure class="portrait">.*?</figure>', text, flags=re.S)[0]
    for style in ("basin", "edge", "stream", "course c1", "mixed"):
        assert f'class="{style}"' in portrait
    assert portrait.count('class="pure"') == 2
    assert "mixed (0.67, 0.67)" in portrait
    assert "starts at 0.50, 0.50 and ends, after step 8, at 0.01, 0.01" in portrait


@pytest.fixture
def copy(stag, tmp_path):
    return Path(shutil.copytree(stag[0], tmp_path / "run"))


def test_an_interrupted_run_still_gets_its_page(copy):
    metrics = copy / "metrics.jsonl"
    lines = metrics.read_text().splitlines(keepends=True)
    metrics.write_text("".join(lines[:-1]) + '{"event": "st')
    (copy / "recipe.yaml").write_text("steps: 16\n")
    said = words(page(copy))
    assert "This run was interrupted after step 8 of 16" in said
    assert "Both hunters learned hare" in said


def test_a_run_that_never_made_a_step(copy):
    folder = copy
    (folder / "metrics.jsonl").write_text("")
    (folder / "labels.json").unlink()
    said = words(page(folder))
    assert "No step of training was completed." in said
    assert "Prompts as sent" not in said


def test_changed_game_is_not_used(copy):
    folder = copy
    file = next((folder / "game").glob("*.yaml"))
    file.write_text(file.read_text().replace("4, 4", "5, 5"))
    said = words(page(folder))
    assert "compiles to another hash" in said
    assert "Best replies" not in said
    file.write_text("game: [")
    assert "no longer compiles" in words(page(folder))


def test_what_a_run_wrote_is_never_markup(copy):
    folder = copy
    info = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**info, "model": "<b>bold</b>"}))
    assert "<b>bold</b>" not in page(folder)


def test_many_actions_and_conventions(tmp_path):
    game = gamedsl.load("pure_coordination")
    tree = tabulate(game.env())
    final = pure(tree, {s.key: "s4" for s in tree.info_sets})
    folder = write_run(tmp_path / "run", "pure_coordination", final)
    said = words(page(folder))
    sent = [d.messages for d in game.env(run_seed=3).reset(seed=0).decisions]
    assert [prompt.messages for prompt in read_run(folder).prompts] == sent
    assert "6 likeliest named, 4 more in grey" in said
    assert "each one of ten equally good conventions" in said


def test_many_players_get_an_outcome_list(tmp_path):
    names = {f"player_{i}:move": "keep" for i in range(1, 5)}
    text = page(write_run(tmp_path / "run", "public_goods", names))
    assert "◆ keep, keep, keep, keep" in text
    assert "◆ give" not in text
    assert "NashConv / 4 seats" in text


def test_three_actions_are_drawn_in_a_triangle():
    tree = tabulate(gamedsl.load("biased_rock_paper_scissors").env())
    final = {s.key: {"rock": 3 / 7, "paper": 3 / 7, "scissors": 1 / 7} for s in tree.info_sets}
    rows = records(tree, final, 3)
    course = [(r["step"], {k: v["probs"] for k, v in r["policy"].items()}) for r in rows]
    drawn = picture(tree, course, None)
    assert "scissors" in drawn
    diamond = re.search(r'<path d="M([\d.]+) ([\d.]+)[^"]*" class="mixed"', drawn)
    ends = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)" r="6.0" class="finish', drawn)
    assert float(diamond[1]) + 7 == pytest.approx(float(ends[0][0]), abs=0.2)
    assert float(diamond[2]) == pytest.approx(float(ends[0][1]), abs=0.2)


def test_the_tint_covers_the_predicted_corner():
    tree = tabulate(gamedsl.load("stag_hunt").env())
    start = {key: {"stag": 0.9, "hare": 0.1} for key in uniform(tree)}
    drawn = picture(tree, [(0, start)], predict_basin(tree, start).as_dict())
    right_top = re.search(r'<path d="M([\d.]+) ([\d.]+)L[^"]*" class="basin"', drawn)
    assert (right_top[1], right_top[2]) == ("478.0", "38.0")


def test_the_command_names_what_differs_from_the_defaults(stag):
    _, text = stag
    command = re.search(r'<pre class="command">(.*?)</pre>', text, flags=re.S)[1]
    assert command.startswith("gamedsl train stag/game/stag_hunt.yaml")
    assert "--set model=tiny" in command
    assert "--set seed=3" in command
    assert "games=" not in command


def test_one_row_adds_a_section(stag, monkeypatch):
    def seat_section(run):
        return Section("Seats", [paragraph(", ".join(run.game.ir.seats) + " & <all>")])

    monkeypatch.setattr("gamedsl.view.report.page.SECTIONS", (*SECTIONS, seat_section))
    text = page(stag[0])
    assert "<h2>Seats</h2>" in text
    assert '<p class="small">hunter_1, hunter_2 &amp; &lt;all&gt;</p>' in text


def test_a_folder_without_a_run_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        write_report(tmp_path)


def test_levels_of_a_curriculum_are_not_compared(tmp_path: Path) -> None:
    """The first level pays at most 4 and the last at most 8, and neither is the game's default."""
    levels = {"param": "rounds", "levels": [1, 2], "at": 0.1, "over": 2}
    settings = {"model": "tabular", "curriculum": levels, "lr": 0.5}
    run = gamedsl.train("repeated_stag_hunt", 5, settings=settings, out=tmp_path / "run")
    last = [record for record in run.metrics if record["level"] == 2]
    assert 1 < len(last) < 5
    assert "uniform play" not in (tmp_path / "run" / "report.html").read_text("utf-8")
    first = last[0]["reward"]["hunter_1"]
    assert f"({first:.2f} in the first)" in run.summary
