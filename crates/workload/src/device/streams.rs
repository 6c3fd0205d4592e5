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

/// The ends of a number of streams, the least recently opened one replaced first.
#[derive(Clone, Debug)]
pub(crate) struct Streams {
    ends: Vec<u64>,
    next_replaced: usize,
    window: u64,
}

impl Streams {
    /// Room for so many streams, at least one, and the data behind each end that is still cached.
    pub(crate) fn new(streams: u32, window: Bytes) -> Self {
        Self { ends: vec![u64::MAX; streams.max(1) as usize], next_replaced: 0, window: window.get() }
    }

    /// Places a command and moves its stream's end.
    pub(crate) fn place(&mut self, offset: u64, size: u64, write: bool) -> Place {
        let end = offset + size;
        let window = self.window;
        let near = |&&mut stream: &&mut u64| stream >= offset && stream <= offset.saturating_add(window);
        let Some(stream) = self.ends.iter_mut().find(near) else {
            self.ends[self.next_replaced] = end;
            self.next_replaced = (self.next_replaced + 1) % self.ends.len();
            return Place::Elsewhere;
        };
        if end > *stream {
            *stream = end;
        } else if !write {
            return Place::Cached;
        }
        Place::Sequential
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
    fn a_gap_ends_the_stream() {
        let mut ends = Streams::new(4, Bytes::ZERO);
        ends.place(0, 100, true);
        assert_eq!(ends.place(128, 100, true), Place::Elsewhere);
    }
}
