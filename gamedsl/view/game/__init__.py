"""Pictures of games: payoff tables, trees, the turn program and visibility, as SVG and text.

`scene.scene_of(episode, seat)` is what one seat sees of a play now: boards as boards, hands as
cards, the rest as lines. `Scene.canvas` draws it as SVG and `Scene.lines` in a terminal; pages that
show it inline take `canvas.picture_rules` into their style sheet.
"""
