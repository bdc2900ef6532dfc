"""Figures of a record, as people read them: in words, as rows of a table, as frames."""
