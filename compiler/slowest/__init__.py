"""The search for the slowest run of a hook."""
