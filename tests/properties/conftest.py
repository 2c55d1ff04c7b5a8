"""Hypothesis without deadlines (a shared machine has none) and without a database on disk.

`HYPOTHESIS_PROFILE=thorough` runs twenty times as many examples.
"""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "gamedsl", deadline=None, database=None, max_examples=60, print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)  # fmt: skip
settings.register_profile("thorough", settings.get_profile("gamedsl"), max_examples=1200)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "gamedsl"))
