//! One drive: fetching, media, the buffer, and what writes cost.

use super::*;
use lanewise_fabric::Book;
use lanewise_units::{Rate, Span, SpanSum};

pub(crate) fn config() -> SsdConfig {
    SsdConfig {
        name: "ssd".into(),
        device: DeviceId(0),
        host: 0,
        capacity: Bytes::new(1 << 40),
        fetch_batch: 4,
        command_time: Span::from_ns(500),
        sector_time: Span::ZERO,
        command_latency: Span::from_ns(800),
        read_rate: Rate::from_bytes_per_second(5_000_000_000),
        write_rate: Rate::from_bytes_per_second(4_000_000_000),
        random_write_rate: Rate::from_bytes_per_second(4_000_000_000),
        dma_unit: Bytes::from_kib(4),
        dies: 4,
        piece: Bytes::from_kib(16),
        read_time: Span::from_us(60),
        hit_time: Span::from_us(5),
        write_time: Span::from_us(3),
        buffer: Bytes::from_kib(64),
        preconditioned: false,
        read_ahead: Bytes::from_kib(1024),
        streams: 256,
        new_streams: 32,
        interrupt_completions: 1,
        interrupt_delay: Span::ZERO,
    }
}

fn ssd() -> Ssd {
    let queue = |index| DmaQueueId { device: DeviceId(0), index };
    Ssd::new(config(), [queue(0), queue(1), queue(2)])
}

#[test]
fn a_page_list_is_read_from_the_third_page_on() {
    assert_eq!([4, 8, 12, 128].map(|kib| page_list(Bytes::from_kib(kib))), [0, 0, 2, 31]);
}

#[test]
fn a_list_of_one_page_has_no_entry_that_leads_on() {
    assert_eq!(first_page(31), (31, Bytes::new(248)));
    assert_eq!(first_page(512), (512, Bytes::from_kib(4)));
    assert_eq!(first_page(513), (511, Bytes::from_kib(4)));
}

#[test]
fn processors_are_busy_with_each_sector_of_a_page() {
    let queue = |index| DmaQueueId { device: DeviceId(0), index };
    let config = SsdConfig { sector_time: Span::from_ns(60), ..config() };
    let mut ssd = Ssd::new(config, [queue(0), queue(1), queue(2)]);
    let times = [1, 512, 4_096, 131_072, 512].map(|size| ssd.process(Time::ZERO, Bytes::new(size)));
    assert_eq!(times[0], Time::ZERO + Span::from_ns(800), "alone it takes its latency");
    let between = times.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>();
    assert_eq!(
        between,
        [500, 500, 920, 920].map(Span::from_ns),
        "none, none and seven further sectors; of more than a page, no more"
    );
}

#[test]
fn scattered_reads_wait_for_their_die_and_sequential_ones_hit() {
    let mut ssd = ssd();
    let mut times = Vec::new();
    let unit = 16 * 1024;
    ssd.read_media(1 << 30, unit, Time::ZERO, |_, at| times.push(at));
    ssd.read_media((1 << 30) + 8 * unit, unit, Time::ZERO, |_, at| times.push(at));
    ssd.read_media((1 << 32) + unit, unit, Time::ZERO, |_, at| times.push(at));
    ssd.read_media((1 << 30) + unit, unit, Time::ZERO, |_, at| times.push(at));
    let us = |us| Time::ZERO + Span::from_us(us);
    assert_eq!(times, [us(60), us(120), us(60), us(5)], "same die, same die, another die, read ahead");
}

#[test]
fn pieces_wait_for_room_in_the_buffer() {
    let mut ssd = ssd();
    ssd.read_media(0, 6 * 16 * 1024, Time::ZERO, |_, _| {});
    for slot in 0..6 {
        ssd.media_ready(slot, 16 * 1024, Time::ZERO);
    }
    for unit in 0..16 {
        assert!(ssd.start_crossing(Time::ZERO).is_some());
        assert_eq!(ssd.take_crossed(), (unit / 4, 4096));
    }
    assert_eq!(ssd.start_crossing(Time::ZERO), None, "64 KiB are full");
    ssd.data_sent(4096);
    assert!(ssd.start_crossing(Time::ZERO).is_some());
}

#[test]
fn the_first_unit_of_a_piece_goes_at_once_and_the_rest_at_the_rate() {
    let mut ssd = ssd();
    ssd.read_media(0, 16 * 1024, Time::ZERO, |_, _| {});
    let out = Time::ZERO + Span::from_us(60);
    ssd.media_ready(0, 16 * 1024, out);
    let unit = Rate::from_bytes_per_second(5_000_000_000).span_ceil(Bytes::from_kib(4));
    for number in 0..4 {
        assert_eq!(ssd.start_crossing(out), Some(out + unit * number));
        assert_eq!(ssd.start_crossing(out), None, "one at a time");
        ssd.take_crossed();
    }
    let read: Vec<ResourceReading> = ssd.resources(Time::ZERO + Span::from_us(100)).collect();
    let book = |busy: Span, served| Book { busy: busy.into(), waited: SpanSum::ZERO, served };
    assert_eq!((read[0].book, read[0].places), (book(Span::from_us(60), 1), 4), "dies");
    assert_eq!(read[2].book, book(unit * 4, 4), "data path: a unit that follows has not waited");
}

#[test]
fn scattered_writes_drain_at_their_own_rate() {
    let config = SsdConfig { random_write_rate: Rate::from_bytes_per_second(500_000_000), ..config() };
    let queue = |index| DmaQueueId { device: DeviceId(0), index };
    let mut ssd = Ssd::new(config, [queue(0), queue(1), queue(2)]);
    let scattered = (0..100_u64).map(|place| ssd.is_sequential_write(place << 30, 4096));
    assert_eq!(scattered.filter(|sequential| !sequential).count(), 68, "the first 32 might have gone on");
    assert!(ssd.is_sequential_write((99 << 30) + 4096, 4096));
    let first = ssd.drain(Time::ZERO, 4000, false);
    assert_eq!(first, Time::ZERO + Span::from_us(8));
    assert_eq!(ssd.write_rates(), "500 MB/s for scattered writes");
    assert_eq!(ssd.drain(Time::ZERO, 4000, true), first + Span::from_us(1));
    assert_eq!(ssd.write_rates(), "4 GB/s, 500 MB/s for scattered writes", "a ninth of the time");
    ssd.drain(Time::ZERO, 4_000_000, true);
    assert_eq!(ssd.write_rates(), "4 GB/s");
}

#[test]
fn as_many_streams_begin_as_the_drive_allows() {
    let begin = |new_streams| {
        let queue = |index| DmaQueueId { device: DeviceId(0), index };
        let queues = [queue(0), queue(1), queue(2)];
        let mut ssd = Ssd::new(SsdConfig { new_streams, ..config() }, queues);
        (0..100_u64).filter(|place| ssd.is_sequential_write(place << 30, 4096)).count()
    };
    assert_eq!([0, 4, 32].map(begin), [0, 4, 32]);
}

/// Eight jobs write one after another: the first write of each costs what the others do, and the buffer was full of the like.
#[test]
fn the_first_write_of_a_stream_is_sequential() {
    let queue = |index| DmaQueueId { device: DeviceId(0), index };
    let mut ssd = Ssd::new(config(), [queue(0), queue(1), queue(2)]);
    for step in 0..3 {
        assert!(
            (0..8_u64).all(|job| ssd.is_sequential_write((job << 30) + step * 4096, 4096)),
            "step {step}"
        );
    }
}

/// What was written before the run fills the buffer only when it is known what is written.
#[test]
fn a_drive_that_has_seen_beginnings_alone_does_not_know_what_filled_its_buffer() {
    let queue = |index| DmaQueueId { device: DeviceId(0), index };
    let preconditioned = SsdConfig { preconditioned: true, ..config() };
    let mut ssd = Ssd::new(preconditioned, [queue(0), queue(1), queue(2)]);
    assert!(ssd.is_sequential_write(0, 4096));
    assert!((0..200).all(|_| ssd.earlier_writes().is_none()));
    assert!(ssd.is_sequential_write(4096, 4096));
    assert!(ssd.earlier_writes().is_some());
}
