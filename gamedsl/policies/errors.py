"""The one exception of this package that a user is meant to read."""

from __future__ import annotations

from gamedsl.errors import UserError


class ModelError(UserError):
    """A model cannot be had or used. The text states the fact, then the fix."""
