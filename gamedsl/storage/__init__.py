"""Files on disk: read within bounds, written whole or not at all, locked."""
