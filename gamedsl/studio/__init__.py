"""The studio `gamedsl studio`: a local web page to read, write, play and replay games."""
