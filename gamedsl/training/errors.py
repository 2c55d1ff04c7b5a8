"""The exception of this package that a user is meant to read."""

from __future__ import annotations

from gamedsl.errors import UserError


class TrainError(UserError):
    """Training cannot start or go on. The text states the fact, then the fix."""
