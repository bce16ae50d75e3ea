"""Doors for people who come from elsewhere: EvalScope's configs, mteb's models, tasks and result files."""
