"""Making sets to weigh models on: cutting Nano-sets, adding candidate lists, publishing."""
