"""Pictures of games: payoff tables, trees, the turn program, and who sees what, as SVG and text."""
