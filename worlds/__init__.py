"""Seeded worlds: the whole agent against simulated equipment, where anything may go wrong; and who judges them."""
