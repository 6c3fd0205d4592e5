//! Memory of a host: channels that have a part of the rate each, and banks that open one row at a time.
//!
//! Rules: docs/explanation/root-complex.md ("Memory"). Where a byte lies follows from its address and whose buffer it is in.

use super::tlp::Server;
use lanewise_fabric::config::MemoryConfig;
use lanewise_units::{Span, Time};

/// Whose the page tables are, in place of the number of an endpoint.
pub const HOST: u64 = u32::MAX as u64;

/// The row that is open in a bank, and since when, or from when on.
type Bank = Option<(u64, Time)>;

struct Channel {
    bus: Server,
    banks: Vec<Bank>,
}

/// The memory of a host.
pub struct Memory {
    config: MemoryConfig,
    channels: Vec<Channel>,
}

impl Memory {
    pub fn new(config: &MemoryConfig) -> Self {
        let banks = config.banks.as_ref().map_or(0, |banks| banks.per_channel as usize);
        let rate = config.rate.div_floor(u64::from(config.channels));
        let channel = |_| Channel { bus: Server::new(rate), banks: vec![None; banks] };
        Self { config: config.clone(), channels: (0..config.channels).map(channel).collect() }
    }

    /// Another rate.
    pub fn change(&mut self, config: &MemoryConfig) {
        let rate = config.rate.div_floor(u64::from(config.channels));
        self.channels.iter_mut().for_each(|channel| channel.bus.set_rate(rate));
    }

    /// When so many bytes from an address on have been moved: block by block, where channels or banks take turns.
    pub fn serve(&mut self, now: Time, owner: u64, address: u64, bytes: u64) -> Time {
        let interleave = self.config.interleave.get();
        if self.channels.len() == 1 && self.config.banks.is_none() {
            return self.channels[0].bus.serve(now, bytes, Span::ZERO);
        }
        let (mut at, end, mut done) = (address, address + bytes, now);
        while at < end {
            let next = ((at / interleave + 1) * interleave).min(end);
            done = done.max(self.move_block(now, owner, at / interleave, next - at));
            at = next;
        }
        done
    }

    /// Moves bytes of one block. Neighbours lie on different channels, and strides of any power of two spread.
    fn move_block(&mut self, now: Time, owner: u64, block: u64, bytes: u64) -> Time {
        let count = self.channels.len() as u64;
        let (round, first) = (block / count, scattered(owner) % count);
        let hash = round ^ (round >> 5) ^ (round >> 11);
        let channel = &mut self.channels[((block + hash + first) % count) as usize];
        let moved = channel.bus.serve(now, bytes, Span::ZERO);
        let Some(banks) = &self.config.banks else { return moved };
        let row = round * self.config.interleave.get() / banks.row.get();
        let row = scattered(row ^ (owner << 40));
        let bank = &mut channel.banks[(row % u64::from(banks.per_channel)) as usize];
        let opened = match *bank {
            Some((open, since)) if open == row => since,
            Some((_, since)) => now.max(since + banks.cycle),
            None => now,
        };
        *bank = Some((row, opened));
        moved.max(opened)
    }
}

/// SplitMix64's finaliser (Steele, Lea and Flood, 2014).
fn scattered(number: u64) -> u64 {
    let first = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let second = (first ^ first >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let third = (second ^ second >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    third ^ third >> 31
}
