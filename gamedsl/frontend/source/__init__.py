"""Places in text, and YAML as a tree that knows them."""
