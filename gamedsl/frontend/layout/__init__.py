"""The layout of a file: lines, indents, quotes and spaces, with the same values and comments."""
