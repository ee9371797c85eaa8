"""The GitHub Copilot CLI: how it is started and what it prints."""
