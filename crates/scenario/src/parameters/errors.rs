//! Errors of the transaction layer: what goes wrong at a device, and what it does about it.

use crate::parameter::parameters;
use crate::value::Fraction;
use lanewise_units::Span;

parameters! {
    /// Errors that a host makes as the completer of reads.
    HostErrorParameters, Claim "errors" {
        /// Ordinals, from 0, of read requests that are never answered.
        unanswered_reads: Vec<u64> = "[]",
        Assumed away "no errors unless they are asked for";
        /// Ordinals, from 0, of read requests that are answered late.
        late_reads: Vec<u64> = "[]",
        Assumed away "no errors unless they are asked for";
        /// How late.
        late_by: Span = "20 ms" in "0 ns" to "100 s",
        Assumed "after the shortest timeouts and before the longest";
        /// Ordinals, from 0, of completions whose data are known to be wrong (EP bit).
        poisoned: Vec<u64> = "[]",
        Assumed away "no errors unless they are asked for";
    }
}

parameters! {
    /// Packets whose data a switch changes, which no LCRC shows.
    SwitchErrorParameters, Claim "errors" {
        /// Probability that a packet is damaged.
        corruption_rate: Fraction = "0" in "0" to "1",
        Assumed away "no errors unless they are asked for";
        /// Ordinals, from 0, of packets that enter the switch, at any port, and are damaged.
        corrupt_tlps: Vec<u64> = "[]",
        Assumed away "no errors unless they are asked for";
    }
}

parameters! {
    /// Errors that a device makes, and what it does when its reads are not answered well.
    DeviceErrorParameters, Claim "errors" {
        /// From when a read request has left until it is given up (Device Control 2); "none" when the timeout is disabled.
        completion_timeout: Option<Span> = "none" in "50 us" to "64 s",
        Assumed away "no read stays unanswered unless it is asked for, so that the timeout never runs out";
        /// How often it asks again for data that did not come in time, or came poisoned.
        retries: u32 = "0" in "0" to "1000",
        Assumed "drivers give an operation up, not requests";
        /// Ordinals, from 0, of read requests to its memory or registers that it never answers.
        unanswered_reads: Vec<u64> = "[]",
        Assumed away "no errors unless they are asked for";
        /// Ordinals, from 0, of packets with data that it sends although they are known to be wrong (EP bit).
        poisoned: Vec<u64> = "[]",
        Assumed away "no errors unless they are asked for";
    }
}
