"""The package inside a page: Python runs there, in WebAssembly, and so does the core.

`core` takes the place of `lanewise._core`, over what answers the page, and `examine` is what the page calls.
Only the standard library is there.
"""
