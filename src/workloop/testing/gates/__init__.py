"""Workers that lie, and honest ones beside them: what our own gates are measured by."""
