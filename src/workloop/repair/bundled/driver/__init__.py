"""The driver that comes with the bench: work trees, agents and checks for a harness that is a repository of files."""
