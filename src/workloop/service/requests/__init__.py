"""How each action's raw arguments become a use case that is ready to run; one module per family, loaded when called."""
