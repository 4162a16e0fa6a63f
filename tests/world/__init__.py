"""Seeded worlds, and whether they would notice."""
