"""Reading files: YAML with source spans, JSON Schemas, and the syntax of expressions."""
