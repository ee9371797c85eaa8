"""The one in charge of a bench run: it decides what is asked of a driver, when, how long, and for how much."""
