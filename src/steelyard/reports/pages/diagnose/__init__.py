"""Why queries fail, what limits the score, and what would change it."""
