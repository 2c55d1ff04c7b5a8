"""What is proved of a compiled game: one pass a file, named by what it proves.

Each pass takes the IR and the list of problems, reports what it refutes and changes nothing. They are
independent and run in this order.
"""

from collections.abc import Callable

from gamedsl.diagnostics import Problems
from gamedsl.ir.game import GameIR

PASSES: tuple[Callable[[GameIR, Problems], None], ...] = ()
