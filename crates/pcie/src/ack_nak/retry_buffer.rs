//! Copies of what was sent and not yet acknowledged, in order. PCIe Base §3.6.2.1.

use super::{Sequence, SequenceSpace};
use lanewise_units::{Bytes, Generation};

/// What starting a replay leads to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ReplayOutcome {
    /// Send everything unacknowledged again.
    Replay,
    /// REPLAY_NUM rolled over: retrain the link through Recovery first, report the correctable error, then
    /// replay.
    RolloverRetrain,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Entry<T> {
    item: T,
    /// Bytes sent since the link came up, with these.
    sent: u64,
}

/// The retry buffer of one transmitter: TLPs, or flits in Flit Mode, from sending to acknowledgement.
///
/// `T` names the packet (a slab index, say). Nothing is allocated before the first packet; afterwards the
/// storage grows to the most that was ever unacknowledged and stays.
#[derive(Clone, Debug)]
pub struct RetryBuffer<T: Copy> {
    /// A power of two of them: those held are `len` from `oldest` on, in a circle.
    entries: Box<[Entry<T>]>,
    /// Bytes sent since the link came up, and those of them that were acknowledged.
    sent: u64,
    acknowledged: u64,
    oldest: u32,
    len: u32,
    capacity: u32,
    next: Sequence,
    /// Index of the next entry to send again, while replaying.
    replay: Option<u16>,
    replays_without_progress: u8,
    rollover_at: u8,
    space: SequenceSpace,
}

impl<T: Copy> RetryBuffer<T> {
    /// A buffer for `capacity` bytes of TLPs outside Flit Mode. REPLAY_NUM rolls over on the fourth replay.
    pub fn new(capacity: Bytes) -> Self {
        Self::in_space(capacity, SequenceSpace::NonFlit, 4)
    }

    /// A buffer for `capacity` bytes of flits.
    ///
    /// FLIT_REPLAY_NUM rolls over on the eighth replay at 64 GT/s and up, on the fourth below.
    /// Source: PCIe Base §4.2.3.4.2.1.7.
    pub fn for_flits(capacity: Bytes, generation: Generation) -> Self {
        let rollover_at = if generation.number() >= 6 { 8 } else { 4 };
        Self::in_space(capacity, SequenceSpace::Flit, rollover_at)
    }

    fn in_space(capacity: Bytes, space: SequenceSpace, rollover_at: u8) -> Self {
        let most = u32::MAX as u64;
        Self {
            entries: Box::default(),
            sent: 0,
            acknowledged: 0,
            oldest: 0,
            len: 0,
            capacity: if capacity.get() > most { u32::MAX } else { capacity.get() as u32 },
            next: space.first(),
            replay: None,
            replays_without_progress: 0,
            rollover_at,
            space,
        }
    }

    /// Whether a new packet of so many bytes may be sent: there is room, and the window of unacknowledged
    /// sequence numbers is open. A packet larger than the whole buffer never fits.
    #[inline]
    pub fn fits(&self, bytes: Bytes) -> bool {
        self.unacknowledged_bytes() + bytes <= self.capacity() && !self.window_is_full()
    }

    /// Whether the sequence window, not the room, stops the transmitter.
    ///
    /// (NEXT_TRANSMIT_SEQ − ACKD_SEQ) mod 4096 ≥ 2048. Source: PCIe Base §3.6.2.1.
    #[inline]
    pub fn window_is_full(&self) -> bool {
        self.len >= u32::from(self.space.window())
    }

    /// Keeps a copy of a packet sent for the first time and gives it the next sequence number.
    ///
    /// # Panics
    /// While replaying: new packets wait until a replay is done. In debug builds, when it does not [fit](Self::fits).
    #[inline(always)]
    pub fn push(&mut self, item: T, bytes: Bytes) -> Sequence {
        debug_assert!(self.fits(bytes), "a packet was sent without room in the retry buffer");
        assert!(self.replay.is_none(), "a new packet overtook a replay");
        let sequence = self.next;
        self.sent += bytes.get();
        let entry = Entry { item, sent: self.sent };
        if self.unacknowledged() == self.entries.len() {
            self.grow(entry);
        }
        let place = self.place(self.len);
        self.entries[place] = entry;
        self.len += 1;
        self.next = self.space.next(sequence);
        sequence
    }

    /// Where the entry is that is so many behind the oldest.
    #[inline(always)]
    fn place(&self, behind: u32) -> usize {
        self.oldest.wrapping_add(behind) as usize & self.entries.len().wrapping_sub(1)
    }

    /// Those held, oldest first.
    fn held(&self) -> impl Iterator<Item = &Entry<T>> {
        (0..self.len).map(|behind| &self.entries[self.place(behind)])
    }

    /// Makes room for twice as many; `filler` stands where none is.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, filler: Entry<T>) {
        let most = (2 * self.entries.len()).max(4);
        let mut entries = Vec::with_capacity(most);
        entries.extend(self.held().copied());
        entries.resize(most, filler);
        (self.entries, self.oldest) = (entries.into_boxed_slice(), 0);
    }

    /// Purges everything up to and including `sequence`; for an Ack and for a Nak alike.
    ///
    /// Returns how many were purged: none for a stale or repeated number. Any progress resets REPLAY_NUM.
    #[inline]
    pub fn acknowledge(&mut self, sequence: Sequence) -> usize {
        let count = u32::from(self.space.distance(self.acknowledged(), sequence));
        if count == 0 || count > self.len {
            return 0;
        }
        self.acknowledged = self.entries[self.place(count - 1)].sent;
        self.len -= count;
        // Starts again at the first slot, which is in the cache, when there is none.
        self.oldest = if self.len == 0 { 0 } else { self.oldest.wrapping_add(count) };
        self.replays_without_progress = 0;
        self.shift_replay(count as u16);
        count as usize
    }

    /// [`Self::acknowledge`], handing every purged packet to `purged` in order.
    #[inline]
    pub fn acknowledge_with(&mut self, sequence: Sequence, mut purged: impl FnMut(T)) -> usize {
        let (oldest, slots) = (self.oldest as usize, self.entries.len());
        let count = self.acknowledge(sequence);
        for behind in 0..count {
            purged(self.entries[(oldest + behind) & (slots - 1)].item);
        }
        count
    }

    /// Moves the replay cursor with the entries; what was acknowledged meanwhile is not sent again.
    #[inline]
    fn shift_replay(&mut self, purged: u16) {
        if let Some(at) = self.replay {
            let at = at.saturating_sub(purged);
            self.replay = (u32::from(at) < self.len).then_some(at);
        }
    }

    /// Starts sending everything unacknowledged again, oldest first; does nothing when there is nothing.
    ///
    /// Also restarts a replay that is under way. Call [`Self::on_replay_started`] to count it.
    pub fn start_replay(&mut self) {
        self.replay = (!self.is_empty()).then_some(0);
    }

    /// Counts a replay: on the fourth in a row without progress (eighth for Gen6 flits) the link must
    /// retrain.
    pub fn on_replay_started(&mut self) -> ReplayOutcome {
        self.replays_without_progress += 1;
        if self.replays_without_progress < self.rollover_at {
            return ReplayOutcome::Replay;
        }
        self.replays_without_progress = 0;
        ReplayOutcome::RolloverRetrain
    }

    /// The next packet to send again, or `None` when the replay is done.
    #[inline]
    pub fn next_replay(&mut self) -> Option<(Sequence, T, Bytes)> {
        let next = self.peek_replay()?;
        let at = self.replay? + 1;
        self.replay = (u32::from(at) < self.len).then_some(at);
        Some(next)
    }

    /// What [`Self::next_replay`] would return.
    #[inline]
    pub fn peek_replay(&self) -> Option<(Sequence, T, Bytes)> {
        let at = self.replay?;
        let entry = self.entries[self.place(u32::from(at))];
        let before = match at {
            0 => self.acknowledged,
            _ => self.entries[self.place(u32::from(at) - 1)].sent,
        };
        let sequence = self.space.advance(self.acknowledged(), at + 1);
        Some((sequence, entry.item, Bytes::new(entry.sent - before)))
    }

    /// Whether packets are left to send again; new ones must wait.
    #[inline]
    pub const fn replaying(&self) -> bool {
        self.replay.is_some()
    }

    /// Whether everything sent was acknowledged.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Packets sent and not acknowledged.
    #[inline]
    pub fn unacknowledged(&self) -> usize {
        self.len as usize
    }

    /// Bytes of packets sent and not acknowledged.
    #[inline]
    pub const fn unacknowledged_bytes(&self) -> Bytes {
        Bytes::new(self.sent - self.acknowledged)
    }

    /// Whether the bytes that are counted are those of the packets held, and there is room for them.
    pub fn adds_up(&self) -> bool {
        let mut upto = self.acknowledged;
        let each_has_some = self.held().all(|entry| std::mem::replace(&mut upto, entry.sent) < entry.sent);
        each_has_some && upto == self.sent && self.unacknowledged_bytes() <= self.capacity()
    }

    /// Bytes the buffer can hold.
    #[inline]
    pub const fn capacity(&self) -> Bytes {
        Bytes::new(self.capacity as u64)
    }

    /// NEXT_TRANSMIT_SEQ: the number the next new packet will get.
    #[inline]
    pub const fn next_sequence(&self) -> Sequence {
        self.next
    }

    /// ACKD_SEQ: the last number acknowledged.
    #[inline]
    pub fn acknowledged(&self) -> Sequence {
        let back = self.space.modulus() - 1 - self.len as u16;
        self.space.advance(self.next, back)
    }

    /// Empties the buffer because the link went down, and starts numbering anew.
    pub fn reset_with(&mut self, mut lost: impl FnMut(T)) {
        self.held().for_each(|entry| lost(entry.item));
        (self.oldest, self.len) = (0, 0);
        (self.sent, self.acknowledged) = (0, 0);
        self.next = self.space.first();
        self.replay = None;
        self.replays_without_progress = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ROOM: Bytes = Bytes::from_kib(64);

    fn filled(count: u32) -> RetryBuffer<u32> {
        let mut buffer = RetryBuffer::new(ROOM);
        for item in 0..count {
            buffer.push(item, Bytes::new(20));
        }
        buffer
    }

    #[test]
    fn a_buffer_of_more_than_four_gib_is_one_of_four() {
        let sizes = [ROOM, Bytes::new(u32::MAX.into()), Bytes::new(1 << 40)];
        let capacity = |size| RetryBuffer::<u8>::new(size).capacity().get();
        assert_eq!(sizes.map(capacity), [ROOM.get(), u32::MAX.into(), u32::MAX.into()]);
    }

    #[test]
    fn an_idle_buffer_owns_no_storage_and_little_memory() {
        let buffer = RetryBuffer::<u32>::new(ROOM);
        assert_eq!(buffer.entries.len(), 0);
        assert!(size_of::<RetryBuffer<u32>>() == 56, "{}", size_of::<RetryBuffer<u32>>());
    }

    #[test]
    fn an_ack_covers_everything_before_it() {
        let mut buffer = filled(5);
        assert_eq!(buffer.acknowledge(Sequence::new(2)), 3);
        assert_eq!((buffer.unacknowledged(), buffer.unacknowledged_bytes()), (2, Bytes::new(40)));
        assert_eq!(buffer.acknowledge(Sequence::new(2)), 0, "repeated");
        assert_eq!(buffer.acknowledge(Sequence::new(1)), 0, "stale");
        assert_eq!(buffer.acknowledge(Sequence::new(7)), 0, "never sent");
        assert_eq!(buffer.acknowledge(Sequence::new(4)), 2);
        assert!(buffer.is_empty());
    }

    #[test]
    fn room_and_window_both_stop_the_transmitter() {
        let mut small = RetryBuffer::new(Bytes::new(50));
        small.push(0, Bytes::new(20));
        assert!(small.fits(Bytes::new(30)) && !small.fits(Bytes::new(31)));
        let full = filled(2047);
        assert!(full.window_is_full() && !full.fits(Bytes::new(20)));
        assert_eq!(full.next_sequence().distance_from(full.acknowledged()), 2048);
    }

    #[test]
    fn a_flit_buffer_stops_at_511() {
        let mut buffer = RetryBuffer::for_flits(Bytes::from_kib(1024), Generation::Gen6);
        for item in 0..511 {
            buffer.push(item, Bytes::new(256));
        }
        assert!(!buffer.fits(Bytes::new(256)));
        assert_eq!(buffer.acknowledge(Sequence::new(511)), 511);
    }

    #[test]
    fn a_replay_sends_the_rest_in_order_and_skips_what_is_acknowledged_meanwhile() {
        let mut buffer = filled(5);
        buffer.acknowledge(Sequence::new(0));
        buffer.start_replay();
        assert_eq!(buffer.next_replay(), Some((Sequence::new(1), 1, Bytes::new(20))));
        buffer.acknowledge(Sequence::new(2));
        assert_eq!(buffer.next_replay().map(|(sequence, ..)| sequence.get()), Some(3));
        assert_eq!(buffer.next_replay().map(|(sequence, ..)| sequence.get()), Some(4));
        assert!(!buffer.replaying() && buffer.next_replay().is_none());
    }

    #[test]
    fn the_fourth_replay_without_progress_retrains() {
        let mut buffer = filled(2);
        let outcomes: Vec<ReplayOutcome> = (0..5).map(|_| buffer.on_replay_started()).collect();
        assert_eq!(outcomes[..3], [ReplayOutcome::Replay; 3]);
        assert_eq!(outcomes[3..], [ReplayOutcome::RolloverRetrain, ReplayOutcome::Replay]);
        buffer.acknowledge(Sequence::new(0));
        let again: Vec<ReplayOutcome> = (0..3).map(|_| buffer.on_replay_started()).collect();
        assert_eq!(again, [ReplayOutcome::Replay; 3]);
    }

    #[test]
    fn gen6_flits_are_replayed_seven_times_before_retraining() {
        let mut buffer = RetryBuffer::<u8>::for_flits(ROOM, Generation::Gen6);
        let rollover = (1..=8).find(|_| buffer.on_replay_started() == ReplayOutcome::RolloverRetrain);
        assert_eq!(rollover, Some(8));
    }

    #[test]
    fn a_link_that_went_down_starts_anew() {
        let mut buffer = filled(3);
        let mut lost = Vec::new();
        buffer.reset_with(|item| lost.push(item));
        assert_eq!(lost, [0, 1, 2]);
        assert_eq!((buffer.next_sequence(), buffer.unacknowledged_bytes()), (Sequence::ZERO, Bytes::ZERO));
    }

    #[test]
    fn bytes_add_up_however_often_the_circle_is_gone_round() {
        let mut buffer = filled(3);
        for item in 3..40 {
            buffer.push(item, Bytes::new(20 + u64::from(item)));
            buffer.acknowledge(Sequence::new(item as u16 - 2));
            assert!(buffer.adds_up());
        }
        buffer.sent += 1;
        assert!(!buffer.adds_up());
    }

    #[test]
    fn a_packet_without_bytes_does_not_add_up() {
        let mut buffer = filled(2);
        buffer.push(2, Bytes::ZERO);
        assert!(!buffer.adds_up());
    }

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Push(u16),
        Acknowledge(u16),
        Nak(u16),
        Replay,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            4 => (20u16..4200).prop_map(Step::Push),
            2 => (0u16..40).prop_map(Step::Acknowledge),
            1 => (0u16..40).prop_map(Step::Nak),
            3 => Just(Step::Replay),
        ];
        prop::collection::vec(step, 1..1500)
    }

    /// The obvious retry buffer: a list of everything ever sent, with two positions in it.
    #[derive(Default)]
    struct Model {
        sent: Vec<u16>,
        acknowledged: usize,
        replay: Option<usize>,
    }

    impl Model {
        fn held(&self) -> u64 {
            self.sent[self.acknowledged..].iter().map(|&bytes| u64::from(bytes)).sum()
        }

        fn acknowledge(&mut self, upto: usize) -> usize {
            let purged = upto.saturating_sub(self.acknowledged);
            self.acknowledged = self.acknowledged.max(upto);
            self.replay = self.replay.map(|at| at.max(self.acknowledged)).filter(|&at| at < self.sent.len());
            purged
        }
    }

    fn numbered(space: SequenceSpace, index: usize) -> Sequence {
        space.advance(space.first(), (index % space.modulus() as usize) as u16)
    }

    proptest! {
        /// Under any pattern of sending, Acks, Naks and replays, in both number spaces, it does what the list
        /// does.
        #[test]
        fn it_behaves_like_an_obvious_list(flit in any::<bool>(), steps in steps()) {
            let (mut buffer, space) = if flit {
                (RetryBuffer::for_flits(ROOM, Generation::Gen6), SequenceSpace::Flit)
            } else {
                (RetryBuffer::new(ROOM), SequenceSpace::NonFlit)
            };
            let mut model = Model::default();
            for step in steps {
                match step {
                    Step::Push(bytes) => {
                        let size = Bytes::new(u64::from(bytes));
                        let room = model.held() + size.get() <= ROOM.get();
                        prop_assert_eq!(buffer.fits(size), room);
                        if room && model.replay.is_none() {
                            let sequence = buffer.push(model.sent.len(), size);
                            prop_assert_eq!(sequence, numbered(space, model.sent.len()));
                            model.sent.push(bytes);
                        }
                    }
                    Step::Acknowledge(ahead) | Step::Nak(ahead) => {
                        let upto = model.sent.len().min(model.acknowledged + usize::from(ahead));
                        let mut freed = Vec::new();
                        let expected: Vec<usize> = (model.acknowledged..upto).collect();
                        let last = numbered(space, upto + space.modulus() as usize - 1);
                        let purged = buffer.acknowledge_with(last, |item| freed.push(item));
                        prop_assert_eq!(purged, model.acknowledge(upto));
                        prop_assert_eq!(freed, expected);
                        if matches!(step, Step::Nak(_)) {
                            buffer.start_replay();
                            model.replay = Some(model.acknowledged).filter(|&at| at < model.sent.len());
                        }
                    }
                    Step::Replay => {
                        let expected = model.replay.map(|at| {
                            (numbered(space, at), at, Bytes::new(u64::from(model.sent[at])))
                        });
                        prop_assert_eq!(buffer.next_replay(), expected);
                        model.replay = model.replay.map(|at| at + 1).filter(|&at| at < model.sent.len());
                    }
                }
                prop_assert_eq!(buffer.replaying(), model.replay.is_some());
                prop_assert_eq!(buffer.unacknowledged(), model.sent.len() - model.acknowledged);
                prop_assert_eq!(buffer.unacknowledged_bytes().get(), model.held());
            }
        }
    }
}
