"""Games as environments of other libraries, one module a neighbour.

`pettingzoo` makes AEC and Parallel environments, `openspiel` registers games. Each needs its
library, which is an extra of this package; importing this package needs none.
"""

from __future__ import annotations


def missing(library: str, extra: str) -> ImportError:
    """What to raise where a neighbour's library is not there."""
    return ImportError(f"{library} is not installed; fix: pip install 'gamedsl[{extra}]'")
