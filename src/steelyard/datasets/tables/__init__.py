"""Read tables: JSON Lines, delimited text, Parquet; columns and values."""
