"""Click logs as judgements."""
