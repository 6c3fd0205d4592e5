//! One port of an Ethernet adapter, and the transmit engine that an adapter's ports share.
//!
//! Receive: a frame that does not fit in the FIFO is lost. Descriptors are fetched ahead, so a frame waits for one
//! only when the driver has given none or the fetch is slow. Transmit: descriptors are fetched after the doorbell;
//! the engine reads so many frames at a time into the FIFO of their port, ports in turn; the line sends one after
//! another. All of it is bookkeeping here; what it leads to on the link is its owner's.

use super::config::NicConfig;
use lanewise_network::ethernet::FRAME_CHECK_SEQUENCE;
use lanewise_units::{Bytes, Time};
use std::collections::VecDeque;

/// A frame on its way through the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Frame {
    /// Index of its flow.
    pub flow: u32,
    /// Bytes, frame check sequence included.
    pub size: u32,
    /// Its class of service.
    pub priority: u8,
    /// When its last bit came in.
    pub arrived: Time,
    /// Since when the driver sees it; zero before.
    pub seen: Time,
}

impl Frame {
    /// What of it is in host memory: the adapter makes and checks the frame check sequence itself.
    pub(crate) fn in_memory(self) -> Bytes {
        Bytes::new(self.size.into()).saturating_sub(FRAME_CHECK_SEQUENCE)
    }
}

/// What a frame that came in leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Taken {
    /// It is in the FIFO.
    Stored,
    /// There was no room.
    Lost,
}

/// One port.
#[derive(Clone, Debug)]
pub(crate) struct Port {
    // Receive.
    fifo_used: u64,
    fifo: VecDeque<Frame>,
    on_chip: u32,
    in_ring: u32,
    fetching: bool,
    /// Frames in memory whose descriptors are not written back.
    unreported: u32,
    /// Frames in memory and not taken by the driver; those behind `visible` are not written back yet.
    in_memory: VecDeque<Frame>,
    visible: usize,
    // Interrupts.
    pub(crate) enabled: bool,
    pub(crate) timer_set: bool,
    pub(crate) next_interrupt: Time,
    // Transmit.
    /// Frames that the driver has put into the ring and of which the adapter has asked for no descriptor, in order.
    posted: VecDeque<Frame>,
    announced: u32,
    /// Frames whose descriptors are being fetched.
    fetching_transmit: VecDeque<Frame>,
    ready: VecDeque<Frame>,
    transmit_used: u32,
    transmit_fifo_used: u64,
    transmit_fifo: VecDeque<Frame>,
    pub(crate) line_busy: bool,
    sent_unreported: u32,
}

impl Port {
    /// A port whose driver has filled the receive ring.
    pub(crate) fn new(config: &NicConfig) -> Self {
        Self {
            fifo_used: 0,
            fifo: VecDeque::new(),
            on_chip: 0,
            in_ring: config.receive_ring,
            fetching: false,
            unreported: 0,
            in_memory: VecDeque::new(),
            visible: 0,
            enabled: true,
            timer_set: false,
            next_interrupt: Time::ZERO,
            posted: VecDeque::new(),
            announced: 0,
            fetching_transmit: VecDeque::new(),
            ready: VecDeque::new(),
            transmit_used: 0,
            transmit_fifo_used: 0,
            transmit_fifo: VecDeque::new(),
            line_busy: false,
            sent_unreported: 0,
        }
    }

    /// A frame's last bit is in.
    pub(crate) fn take(&mut self, config: &NicConfig, frame: Frame) -> Taken {
        let used = self.fifo_used + u64::from(frame.size);
        if used > config.receive_fifo.get() {
            return Taken::Lost;
        }
        self.fifo_used = used;
        self.fifo.push_back(frame);
        Taken::Stored
    }

    /// The next frame to write to memory, if it has a descriptor.
    pub(crate) fn next_write(&mut self) -> Option<Frame> {
        if self.on_chip == 0 {
            return None;
        }
        let frame = self.fifo.pop_front()?;
        self.on_chip -= 1;
        self.unreported += 1;
        self.in_memory.push_back(frame);
        Some(frame)
    }

    /// Descriptors to write back now: a batch, or all when no frame is about to follow.
    pub(crate) fn write_back(&mut self, config: &NicConfig) -> Option<u32> {
        let waits = self.unreported;
        let due = waits >= config.write_back_batch || (self.fifo.is_empty() || self.on_chip == 0);
        (waits > 0 && due).then(|| std::mem::take(&mut self.unreported))
    }

    /// A frame has left the FIFO.
    pub(crate) fn written(&mut self, bytes: u32) {
        self.fifo_used -= u64::from(bytes);
    }

    /// Descriptors to fetch now, as many as there is room and use for.
    pub(crate) fn fetch(&mut self, config: &NicConfig) -> Option<u32> {
        // Assumed: half of the room on chip is free before the next fetch, for reads of several descriptors, not of one.
        let low = config.descriptor_prefetch.div_ceil(2);
        if self.fetching || self.in_ring == 0 || self.on_chip > low {
            return None;
        }
        let count = (config.descriptor_prefetch - self.on_chip).min(self.in_ring);
        if count == 0 {
            return None;
        }
        self.fetching = true;
        self.in_ring -= count;
        Some(count)
    }

    /// Descriptors are on chip.
    pub(crate) fn fetched(&mut self, count: u32) {
        self.fetching = false;
        self.on_chip += count;
    }

    /// The driver gave descriptors back.
    pub(crate) fn replenished(&mut self, count: u32) {
        self.in_ring += count;
    }

    /// Written-back descriptors are in memory: the driver sees their frames.
    pub(crate) fn reported(&mut self, count: u32, now: Time) {
        let count = count as usize;
        self.in_memory.iter_mut().skip(self.visible).take(count).for_each(|frame| frame.seen = now);
        self.visible += count;
    }

    /// The next frame that the driver can take.
    pub(crate) fn receive(&mut self) -> Option<Frame> {
        if self.visible == 0 {
            return None;
        }
        self.visible -= 1;
        self.in_memory.pop_front()
    }

    /// Class of service of that frame.
    pub(crate) fn next_priority(&self) -> Option<u8> {
        self.in_memory.front().filter(|_| self.visible > 0).map(|frame| frame.priority)
    }

    /// Whether there is anything to interrupt for: frames in memory that the driver has not taken.
    pub(crate) fn wants_interrupt(&self) -> bool {
        self.in_memory.len() > self.unreported as usize
    }

    /// The driver puts a frame into the transmit ring; false when the ring is full.
    pub(crate) fn post(&mut self, config: &NicConfig, frame: Frame) -> bool {
        if self.transmit_used >= config.transmit_ring {
            return false;
        }
        self.transmit_used += 1;
        self.posted.push_back(frame);
        true
    }

    /// Puts frames of a higher priority ahead of those that the adapter has not begun to fetch: the newest frame moves up.
    pub(crate) fn sort_newest(&mut self) {
        let Some(newest) = self.posted.pop_back() else { return };
        let place = self.posted.partition_point(|other| other.priority >= newest.priority);
        self.posted.insert(place, newest);
    }

    /// Gives a frame that found the ring full the place of one of a lower priority that the adapter has not begun to fetch, if
    /// there is one. Returns the frame that is lost.
    pub(crate) fn push_out(&mut self, frame: Frame) -> Frame {
        let Some(last) = self.posted.back_mut().filter(|last| last.priority < frame.priority) else {
            return frame;
        };
        let lost = std::mem::replace(last, frame);
        self.sort_newest();
        lost
    }

    /// A doorbell tells of frames in the ring.
    pub(crate) fn announce(&mut self, count: u32) {
        self.announced += count;
    }

    /// Transmit descriptors to fetch now.
    pub(crate) fn fetch_transmit(&mut self, config: &NicConfig) -> Option<u32> {
        let room = config.descriptor_prefetch.saturating_sub(self.ready.len() as u32);
        let count = self.announced.min(room);
        if !self.fetching_transmit.is_empty() || count == 0 {
            return None;
        }
        self.fetching_transmit.extend(self.posted.drain(..count as usize));
        self.announced -= count;
        Some(count)
    }

    /// Transmit descriptors are on chip.
    pub(crate) fn fetched_transmit(&mut self) {
        self.ready.append(&mut self.fetching_transmit);
    }

    /// The next frame to read, if there is room for it.
    pub(crate) fn next_read(&mut self, config: &NicConfig) -> Option<Frame> {
        let size = u64::from(self.ready.front()?.size);
        let used = self.transmit_fifo_used + size;
        if used > config.transmit_fifo.get() {
            return None;
        }
        self.transmit_fifo_used = used;
        self.ready.pop_front()
    }

    /// A frame is in the transmit FIFO.
    pub(crate) fn stored(&mut self, frame: Frame) {
        self.transmit_fifo.push_back(frame);
        self.sent_unreported += 1;
    }

    /// Transmit descriptors to write back now.
    pub(crate) fn write_back_transmit(&mut self, config: &NicConfig) -> Option<u32> {
        let waits = self.sent_unreported;
        let due = waits >= config.write_back_batch || self.ready.is_empty();
        (waits > 0 && due).then(|| std::mem::take(&mut self.sent_unreported))
    }

    /// The driver's ring has room again.
    pub(crate) fn reported_transmit(&mut self, count: u32) {
        self.transmit_used -= count;
    }

    /// The frame that the free line sends next.
    pub(crate) fn next_on_line(&mut self) -> Option<Frame> {
        if self.line_busy {
            return None;
        }
        let frame = self.transmit_fifo.pop_front()?;
        self.line_busy = true;
        Some(frame)
    }

    /// The line is free again, and the frame's room with it.
    pub(crate) fn sent(&mut self, bytes: u32) {
        self.line_busy = false;
        self.transmit_fifo_used -= u64::from(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::smartflow::tests::nic;
    use lanewise_units::Span;

    fn frame(size: u32) -> Frame {
        Frame { flow: 0, size, priority: 0, arrived: Time::ZERO, seen: Time::ZERO }
    }

    #[test]
    fn a_full_fifo_loses_frames_and_space_comes_back() {
        let config = NicConfig { receive_fifo: Bytes::new(1000), ..nic(0) };
        let mut port = Port::new(&config);
        assert_eq!(port.take(&config, frame(600)), Taken::Stored);
        assert_eq!(port.take(&config, frame(600)), Taken::Lost);
        assert_eq!(port.next_write(), None, "no descriptor is on chip yet");
        let count = port.fetch(&config).expect("the ring is full");
        port.fetched(count);
        assert_eq!(port.next_write(), Some(frame(600)));
        port.written(600);
        assert_eq!(port.take(&config, frame(600)), Taken::Stored);
    }

    #[test]
    fn the_driver_sees_a_frame_once_its_descriptor_is_written_back() {
        let config = nic(0);
        let mut port = Port::new(&config);
        let count = port.fetch(&config).expect("the ring is full");
        assert_eq!(count, config.descriptor_prefetch);
        assert_eq!(port.fetch(&config), None, "one fetch at a time");
        port.fetched(count);
        port.take(&config, frame(64));
        port.next_write();
        assert!(!port.wants_interrupt());
        let reported = port.write_back(&config).expect("nothing follows");
        assert!(port.wants_interrupt());
        assert_eq!(port.receive(), None);
        let now = Time::ZERO + Span::from_us(3);
        port.reported(reported, now);
        assert_eq!(port.receive(), Some(Frame { seen: now, ..frame(64) }));
        assert!(!port.wants_interrupt());
    }

    #[test]
    fn a_transmit_ring_has_so_many_places() {
        let config = NicConfig { transmit_ring: 2, ..nic(0) };
        let mut port = Port::new(&config);
        assert!(port.post(&config, frame(64)) && port.post(&config, frame(64)));
        assert!(!port.post(&config, frame(64)));
        assert_eq!(port.fetch_transmit(&config), None, "the doorbell has not arrived");
        port.announce(2);
        assert_eq!(port.fetch_transmit(&config), Some(2));
        port.fetched_transmit();
        let read = port.next_read(&config).expect("room in the FIFO");
        port.stored(read);
        assert_eq!(port.write_back_transmit(&NicConfig { write_back_batch: 4, ..config.clone() }), None);
        assert_eq!(port.write_back_transmit(&config), Some(1));
        port.reported_transmit(1);
        assert!(port.post(&config, frame(64)));
    }

    #[test]
    fn a_higher_priority_goes_first_and_pushes_out_a_lower_one() {
        let config = NicConfig { transmit_ring: 2, ..nic(0) };
        let of = |priority| Frame { priority, ..frame(64) };
        let mut port = Port::new(&config);
        for priority in [0, 3] {
            assert!(port.post(&config, of(priority)));
            port.sort_newest();
        }
        assert!(!port.post(&config, of(7)));
        assert_eq!(port.push_out(of(7)), of(0));
        assert_eq!(port.push_out(of(3)), of(3), "an equal one is not pushed out");
        port.announce(2);
        port.fetch_transmit(&config);
        port.fetched_transmit();
        assert_eq!([port.next_read(&config), port.next_read(&config)], [Some(of(7)), Some(of(3))]);
    }

    #[test]
    fn what_is_being_fetched_keeps_its_turn_and_its_place() {
        let config = NicConfig { transmit_ring: 2, ..nic(0) };
        let of = |priority| Frame { priority, ..frame(64) };
        let mut port = Port::new(&config);
        for priority in [0, 1] {
            assert!(port.post(&config, of(priority)));
        }
        port.announce(2);
        assert_eq!(port.fetch_transmit(&config), Some(2));
        assert_eq!(port.push_out(of(7)), of(7), "the adapter reads both");
        port.fetched_transmit();
        assert_eq!([port.next_read(&config), port.next_read(&config)], [Some(of(0)), Some(of(1))]);

        let mut port = Port::new(&NicConfig { transmit_ring: 3, ..config.clone() });
        assert!(port.post(&config, of(0)));
        port.announce(1);
        port.fetch_transmit(&config);
        assert!(port.post(&config, of(7)));
        port.sort_newest();
        port.fetched_transmit();
        port.announce(1);
        port.fetch_transmit(&config);
        port.fetched_transmit();
        assert_eq!([port.next_read(&config), port.next_read(&config)], [Some(of(0)), Some(of(7))]);
    }
}
