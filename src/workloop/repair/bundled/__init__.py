"""What the repair bench can make of a harness that is a git repository of files, without a driver of one's own."""
