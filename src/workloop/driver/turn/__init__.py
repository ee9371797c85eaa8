"""One run of the loop: its turns over all targets, what they share, and what is kept of it."""
