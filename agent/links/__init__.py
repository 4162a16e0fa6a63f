"""Byte streams to equipment: open, write whole frames, read what comes, close."""
