"""How well a sampled set ranks models like its source."""
