"""The `workloop` command."""
