"""The addresses that a package names: those of the repository whose workflow builds it."""

from __future__ import annotations

import os
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class Addresses(MetadataHookInterface):
    """Writes `project.urls` where a workflow of GitHub builds; elsewhere there are none to name."""

    def update(self, metadata: dict[str, Any]) -> None:
        repository = os.environ.get("GITHUB_REPOSITORY")
        if not repository:
            return
        owner, _, name = repository.partition("/")
        source = f"{os.environ.get('GITHUB_SERVER_URL', 'https://github.com')}/{repository}"
        metadata["urls"] = {
            "Documentation": f"https://{owner.lower()}.github.io/{name}/",
            "Source": source,
            "Issues": f"{source}/issues",
            "Changelog": f"{source}/blob/main/CHANGELOG.md",
        }
