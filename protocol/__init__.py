"""Bytes to messages and back, both sides; imports nothing of ours and touches no I/O."""
