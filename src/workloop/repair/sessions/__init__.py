"""How the workers of a bench run are kept within their limits by the supervisor itself, not by a driver's word."""
