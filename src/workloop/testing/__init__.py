"""Shipped doubles and contracts for people who test a store, a harness or a loop."""
