"""What the loop does next, decided from a snapshot alone."""
