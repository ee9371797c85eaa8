"""Adapters: argv, configuration and event stream of one agent program each."""
