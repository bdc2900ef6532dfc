"""Recorded requests: what a file holds, and its profile."""
