"""Runtimes of a harness: each built once from one commit, kept under what it holds, and never changed."""
