"""Plain models of FTLs, written from the documents of the FTLs alone. Slow, and only for tests."""
