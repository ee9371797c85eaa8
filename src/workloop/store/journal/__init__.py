"""The loop's own record: what it decided, whom it ran, and where its accounts and targets stand."""
