"""A proxy that stands in front of anything, TCP or serial, and lets messages go wrong on their way."""
