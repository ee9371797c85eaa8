"""What a harness may bring beside its words: skills, extension tools and MCP bundles, each judged before it is used."""
