//! A drive that changes hosts while the run goes on.

use crate::parameter::parameters;
use lanewise_units::Span;

parameters! {
    /// A drive goes from one partition of a switch to another at a time of the run. The move is managed: commands under
    /// way finish first.
    ReassignParameters, Choice "workload kind \"reassign\"" {
        /// The drive: an endpoint with `nvme.capacity` below a partition of a switch.
        device: String = required names Components,
        Assumed "a choice";
        /// The partition that gets it: a switch with `partition_of`, or the one that others are partitions of.
        to: String = required names Components,
        Assumed "a choice";
        /// When the drive is asked to leave; after the warm-up.
        at: Span = required in "1 ns" to "3600 s",
        Assumed "a choice";
        /// From the last completion until the old host has deleted its queues and told the drive to shut down.
        shutdown_time: Span = "1 ms" in "0 ns" to "60 s",
        Assumed "a few administration commands; the write buffer is emptied besides";
        /// From the drive at rest until the port is in the new partition: firmware of the switch, and hot reset.
        reset_time: Span = "2.1 ms" in "0 ns" to "60 s",
        Spec "hot reset ends after 2 ms, PCIe Base 6.3 §4.2.7.11; 100 us for the firmware are assumed";
        /// From there until the link has trained.
        training_time: Span = "10 ms" in "0 ns" to "60 s",
        Assumed "detection, polling, equalisation; a device must enter link training within 20 ms, PCIe Base 6.3 §6.6.1";
        /// From there until software may ask the device.
        ready_time: Span = "100 ms" in "0 ns" to "60 s",
        Spec "PCIe Base 6.3 §6.6.1 above 5 GT/s; less for a device that says that it is ready (§6.22)";
        /// Hot-plug notice, enumeration, and the start of the driver and its queues at the new host.
        enumeration_time: Span = "20 ms" in "0 ns" to "60 s",
        Assumed "configuration requests that firmware answers, and a controller that gets ready quickly";
    }
}
