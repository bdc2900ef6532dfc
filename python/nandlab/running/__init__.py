"""Several experiments: batches, and keys that vary."""
