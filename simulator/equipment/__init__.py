"""What commands do on each simulated machine, written apart from every profile."""
