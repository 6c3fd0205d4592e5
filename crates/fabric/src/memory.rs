//! Memory of one socket: channels, and banks behind them.
//!
//! Blocks of `interleave` bytes lie on the channels in turn; each channel moves bytes one after the other. A channel may have
//! banks, each of which opens one row at a time and needs a row cycle for it: an access to another row than the open one waits
//! until its bank is through with those before. Latency that rises with load comes out of these two: requests that meet on
//! one channel, or in one bank, wait for each other. For random requests that is the queue M/D/1 at a bank, whose mean wait
//! is ρ/(2(1−ρ)) row cycles. Sources: JEDEC JESD79-4 and JESD79-5 (row cycle time tRC, banks); the closed form is Pollaczek
//! and Khinchine's. Left out: refresh, turn-arounds between reads and writes, what processors ask for.
//!
//! Buffers of different devices lie in different places: where a byte is depends on its address and on the device that uses it.

use crate::config::MemoryConfig;
use crate::packet::{Packet, RouteEnd};
use crate::server::{Book, Server};
use lanewise_units::{Bytes, Rate, Span, SpanSum, Time};

/// Where something lies: an address in the buffers of a requester.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) address: u64,
    pub(crate) owner: RouteEnd,
}

impl Place {
    /// Of a request.
    pub(crate) fn of(request: &Packet) -> Self {
        Self { address: request.address, owner: request.requester }
    }
}

/// A bank, and the row that it has open.
#[derive(Clone, Copy)]
struct Bank {
    row: u64,
    /// Since when the row is open, or from when on it will be.
    open_at: Time,
    /// When the next row can be opened.
    free_at: Time,
}

/// One channel.
struct Channel {
    bus: Server,
    banks: Box<[Bank]>,
    /// Of all of its banks.
    book: Book,
}

/// The memory of one socket.
pub(crate) struct Memory {
    channels: Box<[Channel]>,
    interleave: u64,
    row: u64,
    cycle: Span,
    /// One channel without banks: a rate, and nothing else.
    is_plain: bool,
}

impl Memory {
    pub(crate) fn new(config: &MemoryConfig) -> Self {
        let count = config.channels.max(1);
        let rate = config.rate.div_floor(u64::from(count));
        let banks = config.banks.as_ref();
        let closed = Bank { row: u64::MAX, open_at: Time::ZERO, free_at: Time::ZERO };
        let channel = || Channel {
            bus: Server::new(rate),
            banks: vec![closed; banks.map_or(0, |banks| banks.per_channel as usize)].into(),
            book: Book::default(),
        };
        Self {
            channels: (0..count).map(|_| channel()).collect(),
            interleave: config.interleave.get().max(1),
            row: banks.map_or(1, |banks| banks.row.get().max(1)),
            cycle: banks.map_or(Span::ZERO, |banks| banks.cycle),
            is_plain: count == 1 && banks.is_none(),
        }
    }

    /// When `bytes` from a place on, asked for at `at`, have been moved.
    #[inline(always)]
    pub(crate) fn serve(&mut self, at: Time, place: Place, bytes: Bytes) -> Time {
        if self.is_plain { self.channels[0].bus.serve(at, bytes) } else { self.spread(at, place, bytes) }
    }

    /// The rate that it is, where it is nothing else.
    #[inline(always)]
    pub(crate) fn as_one_rate(&mut self) -> Option<&mut Server> {
        if self.is_plain { self.channels.first_mut().map(|channel| &mut channel.bus) } else { None }
    }

    #[inline(never)]
    fn spread(&mut self, at: Time, place: Place, bytes: Bytes) -> Time {
        let (mut address, end) = (place.address, place.address + bytes.get());
        let mut done = at;
        while address < end {
            let block = address / self.interleave;
            let next = ((block + 1) * self.interleave).min(end);
            done = done.max(self.access(at, block, place.owner, Bytes::new(next - address)));
            address = next;
        }
        done
    }

    fn access(&mut self, at: Time, block: u64, owner: RouteEnd, bytes: Bytes) -> Time {
        let count = self.channels.len() as u64;
        // Neighbouring blocks are on different channels; strides of any power of two spread, as hashes of controllers see to.
        let start = mixed(u64::from(owner.0)) % count;
        let round = block / count;
        let fold = round ^ (round >> 5) ^ (round >> 11);
        let channel = &mut self.channels[((block + fold + start) % count) as usize];
        let moved = channel.bus.serve(at, bytes);
        if channel.banks.is_empty() {
            return moved;
        }
        let row = round * self.interleave / self.row;
        let row = mixed(row ^ (u64::from(owner.0) << 40));
        let bank = &mut channel.banks[(row % channel.banks.len() as u64) as usize];
        if bank.row == row {
            return moved.max(bank.open_at);
        }
        let start = bank.free_at.max(at);
        channel.book.enter(at, start, self.cycle);
        *bank = Bank { row, open_at: start, free_at: start + self.cycle };
        // Latency of an idle memory has the time of one row in it.
        moved.max(start)
    }

    /// Each channel has its part of another rate from now on.
    pub(crate) fn set_rate(&mut self, rate: Rate) {
        let rate = rate.div_floor(self.channels.len() as u64);
        self.channels.iter_mut().for_each(|channel| channel.bus.set_rate(rate));
    }

    /// What all channels have done up to `at`, and how many there are.
    pub(crate) fn channels_at(&self, at: Time) -> (Book, u32) {
        (self.channels.iter().map(|channel| channel.bus.book_at(at)).sum(), self.channels.len() as u32)
    }

    /// What all banks have done up to `at`, and how many there are.
    pub(crate) fn banks_at(&self, at: Time) -> (Book, u32) {
        let banks = || self.channels.iter().flat_map(|channel| &channel.banks);
        let ahead: SpanSum = banks().map(|bank| bank.free_at.saturating_since(at)).sum();
        let book: Book = self.channels.iter().map(|channel| channel.book).sum();
        (Book { busy: book.busy.saturating_sub(ahead), ..book }, banks().count() as u32)
    }
}

/// A number as good as random for each number: the finaliser of SplitMix64 (Steele, Lea and Flood, 2014).
pub(crate) fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::BankConfig;
    use crate::ports::LINE;
    use lanewise_engine::random::RandomStream;
    use lanewise_units::Rate;

    fn memory(channels: u32, gb_per_s: u64, banks: Option<BankConfig>) -> Memory {
        let rate = Rate::from_bytes_per_second(gb_per_s * 1_000_000_000);
        Memory::new(&MemoryConfig { rate, channels, interleave: Bytes::new(256), banks })
    }

    fn at(address: u64) -> Place {
        Place { address, owner: RouteEnd(3) }
    }

    /// Neighbours do not wait for each other; what lies on one channel does.
    #[test]
    fn blocks_lie_on_the_channels_in_turn() {
        let mut memory = memory(8, 80, None);
        let times: Vec<Time> =
            (0..16).map(|block| memory.serve(Time::ZERO, at(block * 256), Bytes::new(256))).collect();
        let once = Time::ZERO + Span::from_ns(26);
        assert!(times[..8].iter().all(|time| *time < once), "25.6 ns at 10 GB/s: {times:?}");
        assert!(times[8..].iter().all(|time| *time > once), "each channel has one already: {times:?}");
    }

    /// Mean wait of random lines at the banks is that of M/D/1.
    #[test]
    fn latency_rises_with_load_as_the_closed_form_says() {
        let (banks, cycle) = (32u32, Span::from_ns(46));
        for load in [0.3, 0.6, 0.8] {
            let config = BankConfig { per_channel: banks, cycle, row: Bytes::from_kib(8) };
            let mut memory = memory(1, 1000, Some(config));
            let mut stream = RandomStream::new(1, "memory", "arrivals");
            let mean = Span::from_ticks((cycle.ticks() as f64 / f64::from(banks) / load) as u64);
            let (mut now, mut waited) = (Time::ZERO, 0.0);
            let count = 200_000;
            for _ in 0..count {
                now += stream.exponential(mean);
                let place = at(stream.below(1 << 34) / 64 * 64);
                waited += (memory.serve(now, place, LINE) - now).as_seconds();
            }
            let bus = 64.0 / 1e12;
            let expected = load / (2.0 * (1.0 - load)) * cycle.as_seconds();
            let found = waited / f64::from(count);
            assert!((found / expected - 1.0).abs() < 0.05, "{load}: {found:e} for {expected:e}, bus {bus:e}");
        }
    }
}
