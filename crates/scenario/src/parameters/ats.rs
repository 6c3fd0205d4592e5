//! Address translation services: a translation cache in a device.

use crate::parameter::parameters;
use crate::value::Auto;
use lanewise_units::{Bytes, Span};

parameters! {
    /// Address translation services of an endpoint: a cache of translations in the device. Its requests to memory of the host are then
    /// translated, and pass the host's `iommu` by.
    AtsParameters, Claim "ats" {
        /// Translations that the device holds; 0 for a device without such a cache.
        entries: u32 = "0" in "0" to "1048576" stays Table,
        Spec "off after reset: ATS Control, PCIe Base 6.3 §10.5.1.3";
        /// Bytes that one translation covers; "auto" for the pages of the host's `iommu`.
        page: Auto<Bytes> = "auto" in "4 KiB" to "1 GiB",
        Assumed "the unit of the host's tables, of which STU can be a part";
        /// Pages behind the one that is needed which a translation request asks for, too.
        prefetch: u32 = "0" in "0" to "15",
        Assumed "a request for what is needed; PCIe Base 6.3 §10.2.2 lets it ask for more, 8 B each, up to the host's `rcb`";
        /// Translation requests that the device may have out; each has a tag.
        requests: u32 = "32" in "1" to "4096",
        Assumed away "more than hosts have walkers, so that it is not the limit unless it is known to be";
        /// Time between two invalidations by the host, each of which takes the translation that the device has had longest, or "none".
        invalidate_interval: Option<Span> = "none" in "10 ns" to "1 s",
        Assumed "buffers stay mapped";
    }
}
