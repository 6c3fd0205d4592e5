//! Host memory as drivers hand it out.

use lanewise_units::Bytes;

/// A page: buffers begin at one, and lists of memory have an entry for each. Assumed: 4 KiB, what every x86 driver sets.
pub(crate) const PAGE: Bytes = Bytes::from_kib(4);
