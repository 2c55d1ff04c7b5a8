"""The notebooks run from top to bottom in a fresh kernel, and are committed without outputs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat", reason='needs pip install -e ".[dev]"')

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
SHOWN = {
    "first_game": ("image/svg+xml", "seller_1", "did you mean `min`", "{'seller_1': 2"),
    "solve_and_look": ("image/svg+xml", "Nash equilibrium", "Fraction(-1, 18)"),
    "train_and_question": ("text/html", "step 60/60 |", "1,000 episodes", "step 70 of 70"),
}
"""Parts of the outputs of each notebook."""


def outputs_of(notebook: Any) -> list[Any]:
    return [one for cell in notebook.cells for one in cell.get("outputs", ())]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_valid_and_has_no_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert outputs_of(notebook) == []
    assert all(cell.get("execution_count") is None for cell in notebook.cells)
    assert notebook.cells[0].source.startswith("# ")


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=300, resources=resources).execute()
    outputs = outputs_of(notebook)
    assert not [one for one in outputs if one.get("name") == "stderr" and "rror" in one["text"]]
    shown = "\n".join(str(one) for one in outputs)
    for part in SHOWN[path.stem]:
        assert part in shown, part
