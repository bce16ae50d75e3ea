"""Stages and variants of the models of a run, for the console and the leaderboard."""
