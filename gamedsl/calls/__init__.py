"""The functions that `call:` steps name: the registry, those that are shipped, and the sandbox.

Nothing here knows a game. A function is registered by Python code alone, never by a game file.
"""
