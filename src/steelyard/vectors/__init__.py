"""Arithmetic on vectors: exact search (`topk`), and equal documents kept equal (`copies`)."""
