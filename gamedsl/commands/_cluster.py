"""The options of commands whose work a Ray cluster may share."""

from __future__ import annotations

from argparse import Namespace, _ArgumentGroup
from typing import TYPE_CHECKING

from gamedsl.commands._arguments import cluster, count_to

if TYPE_CHECKING:
    from gamedsl.policies.cluster import StartWorkers


def add_cluster(group: _ArgumentGroup, work: str, usual: str) -> None:
    """Adds `--cluster` and `--workers`; `work` is what workers do, `usual` how many there are."""
    group.add_argument(
        "--cluster", type=cluster, metavar="ray|ray://HOST:PORT",
        help=f"{work} by workers of a Ray cluster: one started here, or one that is there",
    )  # fmt: skip
    group.add_argument(
        "--workers", type=count_to(4096), metavar="N",
        help=f"workers of the cluster (default: one for {usual})",
    )  # fmt: skip


def starter(args: Namespace, *, gpus: bool) -> StartWorkers | None:
    """Returns what starts the workers of a cluster, each with a GPU if it has any and `gpus` are
    wanted; None without a cluster. Raises ModelError."""
    from gamedsl.policies.errors import ModelError

    if args.cluster is None:
        if args.workers is not None:
            raise ModelError(
                "`--workers` is about a cluster, and there is none",
                "add `--cluster ray`, or leave it out",
            )
        return None
    from gamedsl.policies.cluster import Workers

    address = None if args.cluster == "ray" else args.cluster
    return lambda opening, kind: Workers(
        opening, kind, address=address, count=args.workers, gpus=gpus
    )
