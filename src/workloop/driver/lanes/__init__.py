"""How the loop keeps exclusive lanes: taken along with a claim, made ready, cleaned before the next grant."""
