"""A scripted model: what it reads, what it may do, and how its answers look on the wire."""
