"""The report of one or more runs."""
