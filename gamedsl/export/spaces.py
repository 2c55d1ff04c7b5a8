"""The spaces of gymnasium that a seat's actions and observations make.

An action is the number of a name in `Env.action_names`; the mask says which are legal now. The
vector of a view has bounds of its own for each float.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from gamedsl.runtime.env import Env


def action_space(names: Sequence[str]) -> spaces.Discrete:
    """Returns the numbers of a seat's actions; a seat that never chooses has one."""
    return spaces.Discrete(max(len(names), 1))


def vector_space(env: Env, seat: str) -> spaces.Box:
    """Returns the space of `View.vector` of a seat, float32 of shape `(components,)`."""
    components = env.viewer.layout(seat).components
    low = np.array([c.low for c in components], np.float32)
    high = np.array([c.high for c in components], np.float32)
    return spaces.Box(low, high, dtype=np.float32)


def mask_of(names: Sequence[str], legal: Collection[str] | None) -> Any:
    """Returns which actions are legal, int8 of shape `(max(names, 1),)`; no `legal`: none is."""
    mask = np.zeros(max(len(names), 1), np.int8)
    if legal:
        known = set(legal)
        mask[:] = [name in known for name in names]
    return mask
