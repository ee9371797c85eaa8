"""The Codex CLI: how it is started, spoken to and read."""
