"""Meaning: documents and names resolved, expressions typed, the `GameIR` built."""
