"""Races: which model is best, with as little encoding as possible and a bounded risk of dropping it."""

from steelyard.racing.elimination import Elimination
from steelyard.racing.outcome import Race
from steelyard.racing.race_models import race

__all__ = ["Elimination", "Race", "race"]
