"""How well a sample ranks models like its source."""
