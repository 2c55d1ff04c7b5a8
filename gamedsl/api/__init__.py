"""The objects that Python code holds: a game, with methods that stand on the parts above it."""
