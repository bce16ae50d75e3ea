"""Models that are Python objects: of sentence-transformers, LangChain and LlamaIndex, functions, runs, vectors."""
