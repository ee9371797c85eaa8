"""The `work_loop` tool over stdio and over loopback HTTP."""
