"""How good labelings are, and what they are compared with."""
