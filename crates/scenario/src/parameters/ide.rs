//! Encryption and integrity of what an endpoint and its root port send each other.

use crate::parameter::parameters;
use crate::value::choices;
use lanewise_units::Span;

choices! {
    /// How many TLPs of a sub-stream one MAC stands for.
    MacChoice, "how many TLPs one MAC stands for" {
        /// No IDE.
        Off = "off",
        /// One for each TLP.
        Every = "every TLP",
        /// One for two.
        Two = "2 TLPs",
        /// One for four.
        Four = "4 TLPs",
        /// One for eight.
        Eight = "8 TLPs",
    }
}

impl MacChoice {
    /// TLPs of a unit; none without IDE.
    pub const fn unit(self) -> Option<u8> {
        match self {
            Self::Off => None,
            Self::Every => Some(1),
            Self::Two => Some(2),
            Self::Four => Some(4),
            Self::Eight => Some(8),
        }
    }
}

parameters! {
    /// Integrity and Data Encryption between an endpoint and its root port: all of its TLPs are of one stream.
    IdeParameters, Claim "ide" {
        /// TLPs of a sub-stream (posted, non-posted, completions) for each MAC of 12 B; each TLP has a prefix of 4 B, too. "off" for none.
        mac: MacChoice = "off",
        Spec "off after reset; a MAC for each TLP or for up to 2, 4 or 8, PCIe Base 6.3 §6.33.5, §7.9.26";
        /// Whether a PCRC of 4 B stands beside each MAC.
        pcrc: bool = "false",
        Spec "off after reset, PCIe Base 6.3 §7.9.26";
        /// Time that a TLP takes at each end, to be encrypted or to be checked and decrypted.
        latency: Span = "10 ns" in "0 ns" to "10 us",
        Assumed "an AES-256-GCM pipeline of the 14 rounds of the cipher, a round in each clock of 1.4 GHz; makers publish none";
    }
}
