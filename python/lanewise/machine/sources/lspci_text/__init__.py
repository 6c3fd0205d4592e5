"""The words that `lspci -v`, `-vv` and `-vvv` print about one function.

`block` cuts what is printed of a function into records; `header`, `express` and `extended` each read those of
their part of configuration space; `ignored` lists what no reader takes. Wordings changed over the years:
``UncorrErr`` became ``NonFatalErr``, commas came and went, ``(ok)`` and ``(downgraded)`` were added behind
speeds. Source: pciutils, ``lspci.c``, ``ls-caps.c``, ``ls-ecaps.c`` of 3.1.7, 3.9.0 and 3.13.0, read for the
wording only.
"""

from __future__ import annotations
