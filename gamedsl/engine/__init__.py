"""Runs a `GameIR`: the flow of its steps, and the kernels that play it."""
