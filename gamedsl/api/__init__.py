"""What Python code holds: a game with the methods that stand on the parts above it."""
