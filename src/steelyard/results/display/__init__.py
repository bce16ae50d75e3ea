"""How results are shown: tables as text, names of models, costs."""
