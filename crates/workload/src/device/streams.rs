//! Where a drive's recent commands ended: tells sequential commands and cache hits from the rest.

use lanewise_units::Bytes;

/// How a command lies to those before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// All of it was read or written just before, and is still in the cache.
    Cached,
    /// It goes on where one of the last ended.
    Sequential,
    /// It does neither.
    Elsewhere,
}

/// A stream: where its last command ended, and whether one has gone on there.
#[derive(Clone, Copy, Debug)]
struct Stream {
    end: u64,
    goes_on: bool,
}

/// The ends of a number of streams, the least recently opened one replaced first.
#[derive(Clone, Debug)]
pub(crate) struct Streams {
    streams: Vec<Stream>,
    next_replaced: usize,
    window: u64,
    /// Streams that were opened and that nothing has gone on with.
    begun: usize,
    /// The last command replaced such a one.
    replaced_begun: bool,
}

impl Streams {
    /// Room for so many streams, at least one, and the data behind each end that is still cached.
    pub(crate) fn new(streams: u32, window: Bytes) -> Self {
        let none = Stream { end: u64::MAX, goes_on: false };
        let streams = vec![none; streams.max(1) as usize];
        Self { streams, next_replaced: 0, window: window.get(), begun: 0, replaced_begun: false }
    }

    /// Places a command and moves its stream's end.
    pub(crate) fn place(&mut self, offset: u64, size: u64, write: bool) -> Place {
        let end = offset + size;
        let window = self.window;
        let near = |stream: &&mut Stream| stream.end >= offset && stream.end <= offset.saturating_add(window);
        let Some(stream) = self.streams.iter_mut().find(near) else {
            let replaced = &mut self.streams[self.next_replaced];
            self.replaced_begun = replaced.end != u64::MAX && !replaced.goes_on;
            self.begun += usize::from(!self.replaced_begun);
            *replaced = Stream { end, goes_on: false };
            self.next_replaced = (self.next_replaced + 1) % self.streams.len();
            return Place::Elsewhere;
        };
        if !std::mem::replace(&mut stream.goes_on, true) {
            self.begun -= 1;
        }
        if end > stream.end {
            stream.end = end;
        } else if !write {
            return Place::Cached;
        }
        Place::Sequential
    }

    /// Whether a command that was placed elsewhere may begin a stream: no more than so many have begun and not gone on, and it took
    /// the place of none of those.
    pub(crate) fn may_begin(&self, most: usize) -> bool {
        self.begun <= most && !self.replaced_begun
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interleaved_streams_stay_sequential_while_there_is_room_for_them() {
        let places = |streams| {
            let mut ends = Streams::new(streams, Bytes::ZERO);
            let mut places = Vec::new();
            for step in 0..3 {
                for base in [0, 1 << 30] {
                    places.push(ends.place(base + step * 100, 100, false));
                }
            }
            places
        };
        let (elsewhere, sequential) = (Place::Elsewhere, Place::Sequential);
        assert_eq!(places(2), [elsewhere, elsewhere, sequential, sequential, sequential, sequential]);
        assert_eq!(places(1), [elsewhere; 6]);
    }

    #[test]
    fn a_trailing_reader_hits_the_window_and_a_trailing_writer_does_not() {
        let mut ends = Streams::new(4, Bytes::new(250));
        assert_eq!(ends.place(0, 100, false), Place::Elsewhere);
        assert_eq!(ends.place(100, 100, false), Place::Sequential);
        assert_eq!(ends.place(200, 100, false), Place::Sequential);
        assert_eq!(ends.place(100, 100, false), Place::Cached);
        assert_eq!(ends.place(100, 100, true), Place::Sequential);
        assert_eq!(ends.place(0, 10, false), Place::Elsewhere, "300 B back is out of the window");
    }

    #[test]
    fn a_command_begins_a_stream_until_too_many_have_not_gone_on() {
        let begins = |streams, offsets: &[u64]| {
            let mut ends = Streams::new(streams, Bytes::ZERO);
            let of = |offset: &u64| ends.place(*offset, 100, true) != Place::Elsewhere || ends.may_begin(2);
            offsets.iter().map(of).collect::<Vec<_>>()
        };
        let far = 1 << 30;
        assert_eq!(begins(4, &[0, far, 2 * far, 3 * far]), [true, true, false, false]);
        assert_eq!(begins(4, &[0, far, 100, 2 * far, 3 * far]), [true, true, true, true, false]);
        // Two streams where there is room for one, and streams one after another.
        assert_eq!(begins(1, &[0, far, 100, far + 100]), [true, false, false, false]);
        assert_eq!(begins(1, &[0, 100, far, far + 100]), [true; 4]);
    }

    #[test]
    fn a_gap_ends_the_stream() {
        let mut ends = Streams::new(4, Bytes::ZERO);
        ends.place(0, 100, true);
        assert_eq!(ends.place(128, 100, true), Place::Elsewhere);
    }
}
