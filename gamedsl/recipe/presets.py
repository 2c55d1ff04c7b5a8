"""Presets: published variants of `method: grpo` by name, as defaults of settings.

A preset changes defaults alone: a setting that the user gives wins over it, and `--dry-run` shows
what all of it comes to. What does not fit a game is reported at the preset.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Preset:
    """A published variant: its paper, what distinguishes it, and its defaults of settings, as users
    write them."""

    paper: str
    doc: str
    settings: Mapping[str, Any]


_BY_DEVIATION = {"scale": "group", "allow": ("group_std",)}
"""Division by each group's deviation, which the user of such a preset knows to move equilibria."""

_BY_CRITIC = {
    "baseline": "critic", "critic.gae_lambda": 0.95, "clip": 0.2, "entropy": 0.01, "kl": 0,
}  # fmt: skip
"""What the papers on PPO have in common."""
_BY_SEATS = {**_BY_CRITIC, "scale": "batch", "inner_steps": 5, "minibatches": 1}
"""The settings that Yu et al. give both IPPO and MAPPO: few passes, and no minibatches."""

PRESETS: Mapping[str, Preset] = {
    "grpo": Preset(
        "Shao et al. 2024, DeepSeekMath",
        "advantages over each group's deviation, each reply averaged over its own length, and a"
        " pull to the start",
        {**_BY_DEVIATION, "length_norm": "reply", "clip": 0.2, "kl": 0.04},
    ),
    "dr_grpo": Preset(
        "Liu et al. 2025, Understanding R1-Zero-like training",
        "advantages as they are, and the same weight for every token",
        {"scale": "none", "length_norm": "limit", "clip": 0.2, "kl": 0},
    ),
    "dapo": Preset(
        "Yu et al. 2025, DAPO",
        "a higher upper clip, groups without signal played anew, a soft penalty on long replies,"
        " and one mean over all tokens",
        {
            **_BY_DEVIATION, "length_norm": "step", "clip": 0.2, "clip_high": 0.28, "kl": 0,
            "dynamic_sampling": 3, "overlong.penalty": 1, "overlong.share": 0.2,
        },
    ),
    "gspo": Preset(
        "Zheng et al. 2025, Group sequence policy optimization",
        "one ratio for each reply, clipped within ten-thousandths, over four minibatches",
        {
            **_BY_DEVIATION, "ratio": "sequence", "clip": 0.0003, "clip_high": 0.0004,
            "minibatches": 4, "kl": 0,
        },
    ),
    "spiral_rae": Preset(
        "Liu et al. 2025, SPIRAL",
        "a running mean for each role in place of groups, with a memory of about twenty steps",
        {
            "baseline": "running", "baseline_rate": 0.05, "scale": "none", "length_norm": "limit",
            "kl": 0,
        },
    ),
    "mgrpo": Preset(
        "Hong et al. 2025, M-GRPO",
        "an adapter for each role, and advantages relative to all turns of the same role, over"
        " their deviation",
        {
            **_BY_DEVIATION, "adapters": "per_role", "compare": "role", "length_norm": "reply",
            "kl": 0,
        },
    ),
    "ppo": Preset(
        "Schulman et al. 2017, Proximal policy optimization",
        "a learned value in place of groups, and three passes over four minibatches",
        {
            **_BY_CRITIC, "critic.view": "own", "scale": "none", "inner_steps": 3,
            "minibatches": 4,
        },
    ),
    "ippo": Preset(
        "de Witt et al. 2020, Is independent learning all you need in the StarCraft multi-agent"
        " challenge?",
        "PPO of each seat by a value of its own view, with the settings of `mappo`",
        {**_BY_SEATS, "critic.view": "own"},
    ),
    "mappo": Preset(
        "Yu et al. 2021, The surprising effectiveness of PPO in cooperative multi-agent games",
        "PPO of each seat by a value of the whole state: five passes, no minibatches, and"
        " advantages over their deviation in the batch",
        {**_BY_SEATS, "critic.view": "centralised"},
    ),
}  # fmt: skip
