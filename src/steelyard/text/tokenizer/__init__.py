"""Split texts of any script into tokens and map tokens to ids."""
