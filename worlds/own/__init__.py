"""A user's own profiles and inventory, played against equipment that behaves as they say."""
