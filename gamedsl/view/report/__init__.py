"""Pages about finished or interrupted runs: `page.write_report`, `comparison.write_comparison`.

Importing this loads nothing heavy.
"""
