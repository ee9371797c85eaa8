"""What sessions may spend and what they did: set aside before each, settled after it, over restarts."""
