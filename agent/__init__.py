"""The agent: decides, remembers, sends, and ends every command with a true word."""

__version__ = "0.1.0"
