"""Pages that explain results: one self-contained HTML file each, readable without a network.

plots.py   cells and tables as figures, in SVG whose colours follow the page
page.py    what a page says, put together and written
templates/ how it looks
"""
