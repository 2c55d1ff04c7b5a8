"""Training on what is written: games with open decisions, and closed ones answered in words."""
