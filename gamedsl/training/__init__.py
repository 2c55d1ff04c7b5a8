"""Training policies in games: play, advantages, losses, the loop, and the folder a run lives in.

The loop sees the runtime and a `Policy`, never YAML or a syntax tree. Importing this package
loads no torch.
"""
