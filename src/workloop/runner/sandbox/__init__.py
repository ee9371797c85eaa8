"""Where the walls around what a session and a check may reach are built; see `enclosure`."""
