"""Thin translations between people or agents and the service; no rules."""
