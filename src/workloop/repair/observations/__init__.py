"""Findings about a harness in the events of its sessions: what was seen, never what it means."""
