"""How results look in a terminal of 80 to 120 columns, readable without colour."""
