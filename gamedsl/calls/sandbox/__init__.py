"""A sandbox for programs that nobody has read, made of the Linux kernel's own means.

`report.sandbox_report` says what can be guaranteed here and by which means; `launch.confined`
starts a program under all of it, or refuses. What runs is Python, in an interpreter of its own that
shuts itself in before it touches the program: `child` is the side inside, `launch` the side
outside.
"""
