//! Virtual channels: what each has of its own, and taking turns, which channels of a port and ingress ports of a switch do.
//!
//! Rules: docs/explanation/transaction.md ("Traffic classes and virtual channels"), switches.md ("Arbitration"); PCIe Base 6.3 §2.5,
//! §6.3. Sequence numbers, the retry buffer and Acks are the link's.

use super::port::{Allowance, Buffer};
use super::tlp::Tlp;
use lanewise_fabric::config::{Arbitration, PortConfig};
use lanewise_pcie::flow_control::CreditPool;
use std::collections::VecDeque;

/// TLPs that wait in one place for one channel, by class.
pub type Queues = [VecDeque<Tlp>; 3];

/// One virtual channel of a port.
pub struct Channel {
    /// Classes that the peer has advertised.
    pub heard: [bool; 3],
    pub credits: [Allowance; 3],
    /// TLPs of an endpoint or root port that wait.
    pub queues: Queues,
    pub buffers: [Buffer; 3],
}

impl Channel {
    pub fn new(config: &PortConfig, pools: [CreditPool; 3]) -> Self {
        Self {
            heard: [false; 3],
            credits: [Allowance::none(); 3],
            queues: Queues::default(),
            buffers: [0, 1, 2].map(|class| Buffer::new(config, pools[class], class)),
        }
    }
}

/// Whose turn it is among those that are numbered from 0.
#[derive(Clone)]
pub struct Turns {
    policy: Arbitration,
    whose: usize,
    /// TLPs that are left of the turn.
    left: u8,
}

impl Turns {
    pub fn new(policy: &Arbitration) -> Self {
        let left = policy.weights().map_or(1, |weights| weights[0]);
        Self { policy: policy.clone(), whose: 0, left }
    }

    /// All of them in the order in which they are asked. With strict priority that is the same each time: ingress ports from the first,
    /// channels from the last.
    pub fn order(&self, count: usize, strict: impl Iterator<Item = usize>) -> Vec<usize> {
        match self.policy {
            Arbitration::Strict => strict.collect(),
            _ => (self.whose..count).chain(0..self.whose).collect(),
        }
    }

    /// One has sent a TLP: its turn goes on, or the next one's begins. One that is served out of turn has a turn from then on.
    pub fn served(&mut self, served: usize, count: usize) {
        let next = (served + 1) % count;
        let Some(weights) = self.policy.weights() else {
            self.whose = next;
            return;
        };
        let left = if self.whose == served { self.left } else { weights[served] };
        (self.whose, self.left) = if left > 1 { (served, left - 1) } else { (next, weights[next]) };
    }
}
