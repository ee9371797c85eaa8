"""How a session's model calls are counted and capped: a proxy on loopback between the agent and its provider."""
