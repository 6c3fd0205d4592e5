//! A drive on a wire that takes no time.

use super::*;

const FRAME: u64 = 1024;

/// 102.4 MB/s: a frame of 1,024 B every 10 us, either way.
fn config() -> DriveConfig {
    DriveConfig {
        capacity: Bytes::new(73_000_000_000),
        read_rate: Rate::from_bytes_per_second(102_400_000),
        write_rate: Rate::from_bytes_per_second(102_400_000),
        read_overhead: Span::from_us(100),
        write_overhead: Span::from_us(200),
        overhead_variation: Span::ZERO,
        turnaround: Span::from_us(1000),
        positioning: Span::from_us(5000),
        positioning_variation: Span::ZERO,
        buffer: Bytes::from_kib(64),
        read_ahead: Bytes::ZERO,
        write_burst: Bytes::from_kib(8),
        write_cache: false,
        streams: 4,
        cache_window: Bytes::ZERO,
    }
}

/// A drive on a wire that takes no time; remembers when each command ended.
struct Rig {
    drive: Drive,
    now: Time,
    due: Option<Time>,
    ended: Vec<(u32, u64)>,
    data: u64,
}

impl Rig {
    fn new(config: DriveConfig) -> Self {
        let drive = Drive::new(config, Bytes::new(FRAME), RandomStream::new(1, "disk0", "drive"));
        Self { drive, now: Time::ZERO, due: None, ended: Vec::new(), data: 0 }
    }

    fn us(&self) -> u64 {
        (self.now - Time::ZERO).div_floor(Span::from_us(1))
    }

    fn merge(&mut self, due: Option<Time>) {
        assert!(self.due.is_none() || due.is_none(), "one timer at a time");
        self.due = self.due.or(due);
    }

    fn accept(&mut self, slot: u32, write: bool, offset: u64, size: u64) {
        let due = self.drive.accept(self.now, Command { slot, write, offset, size });
        self.merge(due);
        self.exchange();
    }

    /// Sends every frame that is ready, and the data that is asked for.
    fn exchange(&mut self) {
        while let Some(frame) = self.drive.peek_frame() {
            let due = self.drive.take_frame(self.now);
            self.merge(due);
            match frame {
                DriveFrame::Data { bytes, .. } => self.data += bytes,
                DriveFrame::Response { slot } => self.ended.push((slot, self.us())),
                DriveFrame::TransferReady { slot, bytes } => {
                    for _ in 0..bytes / FRAME {
                        let due = self.drive.receive(self.now, slot, FRAME);
                        self.merge(due);
                    }
                }
            }
        }
    }

    fn run(&mut self) -> Vec<(u32, u64)> {
        while let Some(due) = self.due.take() {
            self.now = due;
            let next = self.drive.media_due(self.now);
            self.merge(next);
            self.exchange();
        }
        std::mem::take(&mut self.ended)
    }
}

#[test]
fn a_read_costs_positioning_overhead_and_its_bytes() {
    let mut rig = Rig::new(config());
    rig.accept(0, false, 1 << 30, 100 * FRAME);
    assert_eq!(rig.run(), [(0, 5000 + 100 + 1000)]);
    assert_eq!(rig.data, 100 * FRAME);
}

#[test]
fn a_sequential_read_is_not_positioned() {
    let mut rig = Rig::new(config());
    rig.accept(0, false, 0, 100 * FRAME);
    rig.accept(1, false, 100 * FRAME, 100 * FRAME);
    assert_eq!(rig.run(), [(0, 6100), (1, 6100 + 1100)]);
}

#[test]
fn a_change_of_direction_costs_the_turnaround() {
    let mut rig = Rig::new(config());
    rig.accept(0, false, 0, 100 * FRAME);
    rig.accept(1, true, 100 * FRAME, 10 * FRAME);
    rig.accept(2, true, 110 * FRAME, 10 * FRAME);
    rig.accept(3, false, 120 * FRAME, 10 * FRAME);
    let ends: Vec<u64> = rig.run().iter().map(|end| end.1).collect();
    assert_eq!(ends, [6100, 6100 + 1300, 7400 + 300, 7700 + 1200]);
}

#[test]
fn a_cached_write_is_answered_before_the_media_has_it() {
    let mut rig = Rig::new(DriveConfig { write_cache: true, ..config() });
    rig.accept(0, true, 0, 8 * FRAME);
    rig.accept(1, true, 8 * FRAME, 8 * FRAME);
    assert_eq!(rig.run(), [(0, 0), (1, 0)]);
    assert_eq!(rig.us(), 5000 + 2 * (200 + 80), "the media took its time all the same");
}

#[test]
fn a_full_buffer_holds_back_cached_writes() {
    let mut rig = Rig::new(DriveConfig { write_cache: true, ..config() });
    rig.accept(0, true, 0, 200 * FRAME);
    // 64 KiB fit; the last burst is asked for when the media has 200 - 64 frames.
    assert_eq!(rig.run(), [(0, 5200 + 10 * (200 - 64))]);
}

#[test]
fn the_wire_holds_back_the_media_when_the_buffer_is_full() {
    let mut drive = Rig::new(config()).drive;
    let mut due = drive.accept(Time::ZERO, Command { slot: 0, write: false, offset: 0, size: 100 * FRAME });
    let mut moved = 0;
    while let Some(at) = due {
        due = drive.media_due(at);
        moved += 1;
    }
    assert_eq!(moved, 1 + 64, "preparation and a buffer of 64 frames");
    let sent = Time::ZERO + Span::from_ms(50);
    assert_eq!(drive.take_frame(sent), Some(sent + Span::from_us(10)), "room for one more");
}

#[test]
fn reading_ahead_hides_the_pause_between_two_reads() {
    let mut rig = Rig::new(DriveConfig { read_ahead: Bytes::from_kib(32), ..config() });
    rig.accept(0, false, 0, 100 * FRAME);
    rig.run();
    rig.now += Span::from_us(250);
    rig.accept(1, false, 100 * FRAME, 100 * FRAME);
    // 25 frames were read in the meantime.
    assert_eq!(rig.run(), [(1, 6100 + 250 + 100 + 750)]);
}

#[test]
fn another_reader_of_the_same_place_is_served_from_the_cache() {
    let mut rig = Rig::new(DriveConfig { cache_window: Bytes::from_kib(512), ..config() });
    rig.accept(0, false, 0, 60 * FRAME);
    rig.accept(1, false, 0, 60 * FRAME);
    assert_eq!(rig.run(), [(0, 5700), (1, 5700 + 100)]);
    assert_eq!(rig.data, 120 * FRAME);
}

#[test]
fn random_variation_stays_within_its_bounds_and_is_the_same_every_time() {
    let varied = DriveConfig { positioning_variation: Span::from_us(4000), streams: 1, ..config() };
    let ends = |config: DriveConfig| {
        let mut rig = Rig::new(config);
        for slot in 0..50 {
            rig.accept(slot, false, u64::from(slot) << 30, FRAME);
        }
        rig.run()
    };
    let first = ends(varied.clone());
    assert_eq!(first, ends(varied));
    let gaps: Vec<u64> = first.windows(2).map(|pair| pair[1].1 - pair[0].1).collect();
    assert!(gaps.iter().all(|gap| (5109..=9111).contains(gap)), "{gaps:?}");
    assert!(gaps.iter().any(|gap| *gap > 8000) && gaps.iter().any(|gap| *gap < 6200), "{gaps:?}");
}
