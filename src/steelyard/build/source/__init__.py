"""Full datasets from which Nano-sets are sampled."""
