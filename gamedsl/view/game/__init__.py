"""Pictures of games: payoff tables, trees, the turn program and visibility, as SVG and text."""
