"""The result record as typed, read-only objects."""
