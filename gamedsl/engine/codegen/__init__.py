"""The code generator: from the IR of a game to a Python module that plays it.

`module` puts the parts together; `support` is what generated modules import. What is written is the
fast path of the reference backend and no more: where it cannot tell what the reference would do (a
none where a value is needed, a number out of range, too much work), it raises, and the reference
takes over from the same history. So a generated game differs from an interpreted one in speed only.
"""
