"""Steelyard inside other libraries: evaluators and callbacks for training loops."""
