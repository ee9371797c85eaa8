"""The repair bench: faults of a harness are found, repaired and checked; what a worker says of them proves nothing."""
