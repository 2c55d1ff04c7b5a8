"""Unit tests of a program that nobody has read: two confined interpreters that talk.

`subject` holds the code, `judge` the tests; each is confined on its own and neither can reach the
other but by `wire`, over which values go, never objects. What passes is counted where the code is
not, so nothing that the code does in its own interpreter, to its runner, its built-ins, its output
or its exit, is a passed test: it can only answer calls, rightly or wrongly.
"""
