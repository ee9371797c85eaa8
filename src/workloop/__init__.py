"""Workloop keeps coding agents working through a backlog and believes nothing it has not checked."""

__version__ = "0.1.0"
