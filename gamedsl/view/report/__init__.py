"""Pictures and pages about finished, or interrupted, runs. Importing this loads nothing heavy."""
