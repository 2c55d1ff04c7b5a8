"""A game with people in some of its seats: the play, advice on its decisions, and its review."""
