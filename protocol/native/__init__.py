"""LSQ1, the last-seq protocol of ackonce (WIRE.md)."""
