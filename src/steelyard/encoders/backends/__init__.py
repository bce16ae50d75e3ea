"""Encoders by where the model runs: transformers, ONNX Runtime, static tables, services, functions, files."""
