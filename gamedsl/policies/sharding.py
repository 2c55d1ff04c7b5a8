"""Frozen base weights shared out between processes, by FSDP2 (`torch.distributed.fsdp`).

Each process keeps its part of every layer, and gathers the rest when the layer is run. Adapters and
their optimiser stay whole in each. The scheme is that of Zhao et al. 2023 (arXiv:2304.11277); FSDP2
is its second version in PyTorch.

Gathering is collective: all processes must run as many passes. `Lockstep` sees to that where they
have different shares of work: whoever has none left runs empty passes beside the others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from gamedsl.policies.process_group import ProcessGroup


def shard(
    decoder: nn.Module, layers: Collection[nn.Module], whole: Collection[nn.Parameter],
    device: torch.device,
) -> None:  # fmt: skip
    """Shares out the weights of a decoder, layer by layer; the parameters of `whole` stay as they
    are. Weights move to `device` as their layer is shared out, so that no device holds all."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh(device.type, (torch.distributed.get_world_size(),))
    options: dict[str, Any] = {"mesh": mesh, "ignored_params": set(whole)}
    for layer in layers:
        fully_shard(layer, **options)
    fully_shard(decoder, **options)


class Lockstep:
    """Has all processes run as many passes, inside of `together`. `empty` runs a pass of one token,
    forward and, if asked, backward."""

    def __init__(self, group: ProcessGroup, empty: Callable[[bool], None]) -> None:
        self._group, self._empty = group, empty
        self._active = False

    def passing(self) -> None:
        """Is called before each pass: tells the others that there is one."""
        if self._active:
            self._group.any(True)

    @contextmanager
    def together(self, *, backward: bool) -> Iterator[None]:
        """For a share of work. It ends when that of the last process does; `backward` says whether
        passes go backward too."""
        self._active = True
        try:
            yield
        finally:
            self._active = False
            while self._group.any(False):
                self._empty(backward)
