"""Games for other libraries, one module a neighbour.

`pettingzoo` makes AEC and Parallel environments, `openspiel` registers games; both need their
library, which is an extra of this package. `gambit` writes texts, and needs none.
"""
