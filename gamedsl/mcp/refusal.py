"""The error of a task that cannot be carried out."""

from __future__ import annotations

from gamedsl.errors import UserError


class Refused(UserError):
    """A task cannot be carried out. The assistant reads the fact and the fix."""
