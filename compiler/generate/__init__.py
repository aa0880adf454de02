"""Random LPN programs, well typed by construction, and packets for them."""
