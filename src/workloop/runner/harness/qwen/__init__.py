"""The Qwen Code CLI: how it is started and what it prints."""
