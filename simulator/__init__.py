"""Stand-in equipment with a ledger of what really happened, and all that can go wrong on the way to it."""
