"""How a bench run is written down so that a later change of it shows."""
