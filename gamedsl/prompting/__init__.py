"""Labels, templates and prompts of a compiled game, and the parsing of replies."""
