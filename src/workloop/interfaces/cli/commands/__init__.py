"""The commands that are more than one action, a module each."""
