"""Stories about what goes wrong, as people would tell them, each played and compared to the letter."""
