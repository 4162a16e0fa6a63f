"""What people type: the `ackonce` command."""
