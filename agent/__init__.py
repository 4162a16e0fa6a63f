"""The agent: decides, remembers, sends, and ends every command with a true word."""
