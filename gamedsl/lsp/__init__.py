"""The language server: what an editor asks about a file while it is written."""
