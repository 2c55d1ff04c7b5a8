"""Games for other programs and libraries, one module for each.

`table` lists the formats that `gamedsl export` writes; `gambit` writes texts and needs no library.
`pettingzoo` makes AEC and Parallel environments and `openspiel` registers games; both need their
library, which is an extra of this package. `peer_play` drives plays for loops of other libraries,
which have a module and a row in `table` each; `package` writes the packages that use them.
"""
