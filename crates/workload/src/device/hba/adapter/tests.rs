//! An adapter's command, buffers and wires.

use super::*;
use lanewise_units::SpanSum;

pub(crate) fn config() -> HbaConfig {
    HbaConfig {
        name: "hba0".into(),
        device: DeviceId(0),
        wire: WireKind::Sas3g,
        ports: 1,
        doorbell: Bytes::new(4),
        command: Bytes::new(128),
        scatter_gather_inline: 4,
        scatter_gather_entry: Bytes::new(16),
        status: Bytes::new(8),
        command_time: Span::from_us(2),
        read_buffer: Bytes::new(4096),
        write_buffer: Bytes::new(4096),
        read_request: Bytes::new(2048),
        internal_read_bandwidth: Some(Rate::from_bytes_per_second(1_000_000_000)),
        internal_write_bandwidth: None,
        internal_bandwidth: Some(Rate::from_bytes_per_second(500_000_000)),
        interrupt_completions: 2,
        interrupt_delay: Span::from_us(10),
    }
}

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

#[test]
fn long_transfers_have_longer_commands() {
    let config = config();
    assert_eq!(config.command_bytes(Bytes::new(512)), Bytes::new(128));
    assert_eq!(config.command_bytes(Bytes::from_kib(310)), Bytes::new(128 + (78 - 4) * 16));
}

#[test]
fn the_slower_of_the_two_internal_limits_counts() {
    let mut hba = Hba::new(config(), vec![vec![0]]);
    assert_eq!(hba.cross_inbound(at(0), 1000), at(2));
    assert_eq!(hba.cross_outbound(at(0), 1000), at(4), "both directions share");
}

#[test]
fn write_data_is_fetched_in_turn_while_there_is_room() {
    let mut hba = Hba::new(config(), vec![vec![0]]);
    hba.grant(7, 0, 5000);
    hba.grant(8, 0, 2048);
    assert_eq!(hba.next_fetch(at(0)), Some((7, 2048)));
    assert_eq!(hba.next_fetch(at(0)), Some((8, 2048)));
    assert_eq!(hba.next_fetch(at(0)), None, "4 KiB are all there is");

    hba.queue_outbound(0, HostFrame::Data { slot: 7, bytes: 2048 });
    let first = hba.start_outbound(0, at(0)).expect("the wire is free");
    assert_eq!(hba.start_outbound(0, at(1)), None, "the wire is busy");
    assert_eq!(hba.take_departed(0, first), HostFrame::Data { slot: 7, bytes: 1024 });
    assert_eq!(hba.next_fetch(first), None, "1 KiB is not enough");
    let second = hba.start_outbound(0, first).expect("the other half");
    hba.take_departed(0, second);
    assert_eq!(hba.next_fetch(second), Some((7, 2048)));
    let buffer =
        hba.resources(second).find(|each| each.name.ends_with(".write_buffer")).expect("it was used");
    assert_eq!((buffer.places, buffer.book.served), (4096, 3));
    assert_eq!(
        buffer.book.waited,
        (second - at(0)).into(),
        "the next piece waited until both frames had left"
    );
    let (early, late) = (first - at(0), second - first);
    assert_eq!(buffer.book.busy, SpanSum::from(early) * 4096 + SpanSum::from(late) * 3072);
}
