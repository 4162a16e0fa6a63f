"""Stand-in equipment with a ledger of what really happened, and everything that can go wrong on the way to it."""
