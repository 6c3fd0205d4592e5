//! Virtual functions of an endpoint.

use crate::parameter::parameters;

parameters! {
    /// Single Root I/O Virtualization: virtual functions of an endpoint, each with queues of its own and its Requester ID. A workload names
    /// one as `nic.vf[3]`, or all as `nic.vf[*]`. They share port and link.
    SriovParameters, Claim "sriov" {
        /// How many virtual functions software has enabled (NumVFs).
        functions: u32 = "0" in "0" to "254",
        Spec "off after reset: VF Enable, PCIe Base 6.3 §9.3.3.3";
        /// Reads that each function may have out, the physical one, too; "none" where all share `tags`.
        own_tags: Option<u32> = "none" in "1" to "768" stays Table,
        Assumed "one DMA engine tracks reads for all functions; tags need to be unique for each Requester ID only, PCIe Base 6.3 §2.2.6.2";
        /// Requests in turn of each virtual function; an empty list for one each.
        weights: Vec<u32> = "[]" in "1" to "255",
        Assumed "functions are served in turn";
        /// First VF Offset: from the Requester ID of the physical function to that of `vf[0]`.
        first_offset: u32 = "1" in "1" to "255",
        Assumed "behind the physical function; each device has its own, PCIe Base 6.3 §9.3.3.9";
        /// VF Stride: from the Requester ID of a virtual function to that of the next.
        stride: u32 = "1" in "1" to "255",
        Assumed "one after the other; each device has its own, PCIe Base 6.3 §9.3.3.10";
    }
}
