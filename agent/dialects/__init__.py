"""Each dialect binds a device profile to a codec of `protocol/`."""
