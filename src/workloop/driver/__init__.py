"""The loop that drains a queue with fresh agent sessions."""
