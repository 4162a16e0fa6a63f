"""What are the points called at which the world may go several ways?

Messages are called by what they are and a number, counted from 1 over all processes of the agent: `copy 2`, `hello 3`.
What is under way may come in `before copy 2`. The others have no number.
"""

COPY = "copy"
"""A copy of the command."""
AGENT = "agent"
"""The process of the agent goes on, or is stopped at a write."""
MEANWHILE = "meanwhile"
"""What the device does while no process of the agent is there."""
THEN = "then"
"""What the next process is asked for."""
