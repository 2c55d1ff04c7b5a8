"""The shapes of files: JSON Schemas that editors load, and their translation into problems."""
