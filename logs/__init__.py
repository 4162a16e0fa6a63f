"""The record of what was sent and heard: schema, writer, reader, the human line."""
