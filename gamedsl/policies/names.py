"""The models that come with the package, by name; nothing here loads torch."""

from __future__ import annotations

SMOLLM2 = "smollm2-135m"
SMALL = "small"
TINY = "tiny"
EMBEDDED = (SMOLLM2, SMALL, TINY)
