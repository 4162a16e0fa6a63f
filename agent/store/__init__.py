"""Where the agent remembers: one interface, SQLite behind it."""
