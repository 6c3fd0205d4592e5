"""One reader per kind of source; each fills a `draft.Reading`."""
