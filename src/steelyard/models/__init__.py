"""Facts about models without loading them: `card("intfloat/multilingual-e5-small").dimension`.

Cards help to choose a model. A model without a card works as well; what a loaded model declares, and options, take
precedence over its card.
"""

from steelyard.models.model_cards import Card, card, cards, prompts_for

__all__ = ["Card", "card", "cards", "prompts_for"]
