"""Bounds that hold in every play, by abstract interpretation: nothing is played or sampled.

`expressions` interprets expressions over abstract values, `programs` the turn program of a game:
passes of loops, totals over steps, the range of state. All other modules read these two.
"""
