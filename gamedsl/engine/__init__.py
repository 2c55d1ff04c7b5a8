"""The engine that runs a `GameIR`: the flow of its program and the kernels."""
