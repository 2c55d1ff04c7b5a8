"""Games as environments of other libraries, one module a neighbour.

`pettingzoo` makes AEC and Parallel environments, `openspiel` registers games. Each needs its
library, which is an extra of this package; importing this package needs none.
"""
