"""Training recipes: the table of settings, their checks, and the typed `Recipe` they resolve to."""
