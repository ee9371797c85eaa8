"""What happens under one claim: its sessions, their briefs, and how it ends."""
