"""Text on pages that is not computed: notes of a person, and drafts of a model that are checked against the values."""
