"""Games whose decisions say what is known at them: what the backends make of them, and what the
analysis of readers proves."""

from __future__ import annotations

import pytest
from hypothesis import Phase, event, given, settings

from gamedsl.runtime.kernels import BACKENDS
from tests.properties.information import Witness
from tests.properties.strategies import forgetful_files
from tests.properties.walking import load, nodes, same_where_it_looks_the_same, standing

some = settings(max_examples=settings().max_examples // 2, phases=[Phase.explicit, Phase.generate])
"""Without shrinking, as in `test_generated_games`."""


@pytest.mark.parametrize("backend", [name for name in BACKENDS if name != "interpreter"])
@some
@given(forgetful_files())
def test_backends_agree_on_what_is_known(backend: str, text: str) -> None:
    game = load(text)
    event(f"says what is known: {bool(game.ir.asked_as)}")
    other = game.env(backend=backend)
    if backend == "generated":
        assert other.kernel.written
    pairs = zip(nodes(game.env(backend="interpreter"), 200), nodes(other, 200), strict=True)
    for ours, theirs in pairs:
        assert ours.path == theirs.path
        assert standing(ours.episode) == standing(theirs.episode)
        for seat in game.ir.seats:
            one, two = ours.episode.view(seat), theirs.episode.view(seat)
            assert (one.data, one.text, one.vector) == (two.data, two.text, two.vector)


@some
@given(forgetful_files())
def test_what_is_known_is_all_that_is_told(text: str) -> None:
    """Within an information set: the same options, labels, prompt, view and vector."""
    same_where_it_looks_the_same(load(text).env(run_seed=1), 200)


@some
@given(forgetful_files())
def test_who_is_asked_elsewhere_learns_nothing_by_it(text: str) -> None:
    """What the analysis says that a seat may read is a function of what it has seen, where it
    recalls."""
    Witness(load(text).ir).tree(200)
