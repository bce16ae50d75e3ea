"""Encoders turn texts into vectors: `load_encoder("use-multilingual-v3")`."""

from steelyard.encoders.load import ENCODERS, load_encoder

__all__ = ["ENCODERS", "load_encoder"]
