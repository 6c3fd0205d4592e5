"""Pages that explain results: one self-contained file each, readable without a network.

Of a reproduction:
page.py        what its page says, put together and written
plots.py       cells and tables as figures, in SVG whose colours follow the page
rigs.py        what was simulated, as pictures

Of runs, comparisons and measurements:
content.py     what a report says, before it is known how it looks
*_part.py      what it says of a run, of two, of several, of a measurement; *_figures.py and bars.py draw it
sources.py     what it is about, from where that was kept
html.py markdown.py   how it looks
writing.py     what is on it by what it is about, and the file

templates/     how both look
"""
