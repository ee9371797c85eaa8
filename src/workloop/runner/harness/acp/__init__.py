"""Any agent of the Agent Client Protocol: how it is started, what is said to it and what it says."""
