"""One reader per kind of source; each fills an `assembly.Reading`."""
