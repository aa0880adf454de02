"""What `lpnc bench` measures, and how it is told."""
