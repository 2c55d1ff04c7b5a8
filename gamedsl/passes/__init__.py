"""What is proved of a compiled game: one pass a file, named by what it proves.

Each pass takes the IR and the list of problems, reports what it refutes and changes nothing. They
run in this order; passes that render prompts skip a game whose templates or labels are at fault.
"""

from collections.abc import Callable

from gamedsl.diagnostics import Problems
from gamedsl.ir.game import GameIR
from gamedsl.passes.labels import labels_are_distinct
from gamedsl.passes.leaks import names_stay_masked
from gamedsl.passes.payoffs import payoffs_are_defined
from gamedsl.passes.plays import plays_end
from gamedsl.passes.prompts import prompts_render
from gamedsl.passes.readers import only_readers_learn
from gamedsl.passes.taint import payoffs_stay_secret
from gamedsl.passes.templates import templates_name_what_is_seen

PASSES: tuple[Callable[[GameIR, Problems], None], ...] = (
    payoffs_are_defined,
    only_readers_learn,
    plays_end,
    labels_are_distinct,
    templates_name_what_is_seen,
    payoffs_stay_secret,
    prompts_render,
    names_stay_masked,
)
"""Every pass, in order."""
