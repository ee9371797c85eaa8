"""Words and rules of Workloop, pure: no I/O, no clock, no randomness, no third-party import."""
