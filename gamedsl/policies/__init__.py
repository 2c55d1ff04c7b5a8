"""Engines that score a role's legal labels, and the adapters they train.

A policy sees prompts, legal labels and adapter names, never a game. Importing this package loads
no torch: import the engine you need (`gamedsl.policies.hf`) when you need it.
"""

import logging

# PEFT imports bitsandbytes where it is installed, which warns of a kernel that it cannot fetch and
# that nothing here calls
logging.getLogger("bitsandbytes.backends.cpu.ops").setLevel(logging.ERROR)
