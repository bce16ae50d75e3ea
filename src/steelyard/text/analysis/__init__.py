"""Turn tokens into index terms: stop words, stemming, spelling variants, per language."""
