"""Sample a Nano-set from a full dataset."""
