"""Hypothesis without deadlines (a shared machine has none) and without a database on disk."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "gamedsl", deadline=None, database=None, max_examples=60, print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)  # fmt: skip
settings.load_profile("gamedsl")
