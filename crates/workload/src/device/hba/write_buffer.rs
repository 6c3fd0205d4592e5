//! A drive's buffer for write data: whose data is in it, and whose is asked for next.
//!
//! Room is taken when data is asked for and given back when the media has it, so that what is asked for always fits.

use lanewise_units::Bytes;
use std::collections::VecDeque;

/// A write on its way through the buffer.
#[derive(Clone, Copy, Debug)]
struct Write {
    slot: u32,
    size: u64,
    granted: u64,
    received: u64,
}

/// The buffer.
#[derive(Clone, Debug)]
pub(crate) struct WriteBuffer {
    room: u64,
    /// Most data that is asked for at a time.
    burst: u64,
    /// Writes in order of arrival, until the media has all of them.
    writes: VecDeque<Write>,
    /// Granted or received, and not on the media yet.
    used: u64,
    /// Received, and not on the media yet.
    held: u64,
    /// Slots and bytes of XFER_RDYs that are not sent yet.
    requests: VecDeque<(u32, u64)>,
}

impl WriteBuffer {
    /// # Panics
    /// When a burst does not fit.
    pub(crate) fn new(room: Bytes, burst: Bytes) -> Self {
        assert!(burst <= room, "a write burst fits in the buffer");
        Self {
            room: room.get(),
            burst: burst.get(),
            writes: VecDeque::new(),
            used: 0,
            held: 0,
            requests: VecDeque::new(),
        }
    }

    /// Bytes received, and not on the media yet. Room that is kept for what was asked for holds nothing.
    pub(crate) fn held(&self) -> u64 {
        self.held
    }

    /// A write of so many bytes is in the drive's queue.
    pub(crate) fn accept(&mut self, slot: u32, size: u64) {
        self.writes.push_back(Write { slot, size, granted: 0, received: 0 });
        self.ask();
    }

    /// Data came in; returns whether all of its write is here.
    pub(crate) fn receive(&mut self, slot: u32, bytes: u64) -> bool {
        // A slot may be in here twice: answered from the cache and not on the media yet, and in use again.
        let mut writes = self.writes.iter_mut();
        let write = writes.find(|write| write.slot == slot && write.received < write.size);
        let write = write.expect("data of a write in progress");
        write.received += bytes;
        self.held += bytes;
        assert!(write.received <= write.granted, "more data than the drive asked for");
        let is_whole = write.received == write.size;
        self.ask();
        is_whole
    }

    /// Bytes of the oldest write that are or were here.
    pub(crate) fn received_of_first(&self) -> u64 {
        self.writes[0].received
    }

    /// The media has so many bytes of the oldest write.
    pub(crate) fn release(&mut self, bytes: u64) {
        self.used -= bytes;
        self.held -= bytes;
        self.ask();
    }

    /// The media has all of the oldest write.
    pub(crate) fn finish_first(&mut self) {
        self.writes.pop_front();
    }

    /// Slot and bytes of the XFER_RDY that is to be sent next.
    #[inline]
    pub(crate) fn peek_request(&self) -> Option<(u32, u64)> {
        self.requests.front().copied()
    }

    /// It is sent.
    pub(crate) fn take_request(&mut self) -> Option<(u32, u64)> {
        self.requests.pop_front()
    }

    /// Asks for the next burst of the first write that lacks data, when there is room and none is under way.
    fn ask(&mut self) {
        let Some(write) = self.writes.iter_mut().find(|write| write.received < write.size) else { return };
        let burst = self.burst.min(write.size - write.granted);
        let under_way = write.granted > write.received;
        if under_way || burst == 0 || self.used + burst > self.room {
            return;
        }
        write.granted += burst;
        self.used += burst;
        self.requests.push_back((write.slot, burst));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_asked_for_when_the_last_is_here_and_there_is_room() {
        let mut buffer = WriteBuffer::new(Bytes::new(300), Bytes::new(200));
        buffer.accept(7, 500);
        assert_eq!(buffer.take_request(), Some((7, 200)));
        assert_eq!(buffer.held(), 0, "what is asked for is not here");
        assert!(!buffer.receive(7, 200));
        assert_eq!(buffer.peek_request(), None, "100 bytes of room are not a burst");
        buffer.release(100);
        assert_eq!(buffer.held(), 100);
        assert_eq!(buffer.take_request(), Some((7, 200)));
        buffer.accept(8, 100);
        assert_eq!(buffer.peek_request(), None, "one burst at a time");
    }

    #[test]
    fn a_write_is_whole_when_all_its_bytes_are_here() {
        let mut buffer = WriteBuffer::new(Bytes::new(300), Bytes::new(300));
        buffer.accept(7, 300);
        assert!(!buffer.receive(7, 100));
        assert!(buffer.receive(7, 200));
        assert_eq!(buffer.received_of_first(), 300);
    }
}
