"""The commands of `lpnc`, one file each; what several of them need is in inputs, judge and packets."""
