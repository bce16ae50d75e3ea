"""What is known of models without loading them: `card("intfloat/multilingual-e5-small").dimension`.

Cards are for reading and choosing. A model without a card works as well as one with a card; what a loaded model
declares, and what the user asks for, count before what its card says.
"""

from steelyard.models.model_cards import Card, card, cards, prompts_for

__all__ = ["Card", "card", "cards", "prompts_for"]
