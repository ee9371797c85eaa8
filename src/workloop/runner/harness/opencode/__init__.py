"""The opencode CLI: how it is started and what it prints."""
