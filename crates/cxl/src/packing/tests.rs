//! Flits against the specification's rules, and against bytes counted by hand.

use super::*;
use crate::ceiling::{busier, wire_bytes};
use proptest::prelude::*;

/// A sender with so much of each class waiting; numbers of plain messages are even.
struct Sender {
    packer: Packer,
    plain: VecDeque<(u32, u64)>,
    data: VecDeque<(u32, u64)>,
    next: u32,
}

impl Sender {
    fn new(format: FlitFormat, way: Way) -> Self {
        Self {
            packer: Packer::new(format, way, true),
            plain: VecDeque::new(),
            data: VecDeque::new(),
            next: 0,
        }
    }

    fn add(&mut self, with_data: bool) {
        let queue = if with_data { &mut self.data } else { &mut self.plain };
        let message = self.next * 2 + u32::from(with_data);
        queue.push_back((message, self.next.into()));
        self.next += 1;
    }

    fn pack(&mut self) -> Option<Flit> {
        self.pack_with(u32::MAX, u32::MAX)
    }

    fn pack_with(&mut self, mut plain_credits: u32, mut data_credits: u32) -> Option<Flit> {
        let (plain_credits, data_credits) = (&mut plain_credits, &mut data_credits);
        self.packer
            .pack(Offer { plain: &mut self.plain, data: &mut self.data, plain_credits, data_credits }, true)
    }
}

fn shown(flit: &Flit, packer: &Packer) -> String {
    let word = |(place, slot): (usize, &Slot)| match slot {
        Slot::Empty => "-",
        Slot::Data => "D",
        Slot::Headers { format, .. } => packer.format.formats(place, packer.way)[usize::from(*format)].name,
    };
    let slots = &flit.slots[..packer.format.slots()];
    slots.iter().enumerate().map(word).collect::<Vec<_>>().join(" ")
}

fn flits(sender: &mut Sender, count: usize) -> Vec<String> {
    let packed: Vec<Flit> = (0..count).filter_map(|_| sender.pack()).collect();
    packed.iter().map(|flit| shown(flit, &sender.packer)).collect()
}

/// Four writes are five flits: headers in the first slots, three chunks behind them, and a flit of data when four are left.
#[test]
fn writes_take_five_slots_each() {
    let mut sender = Sender::new(FlitFormat::Bytes68, Way::M2s);
    (0..8).for_each(|_| sender.add(true));
    let once = ["H4 D D D", "H4 D D D", "H4 D D D", "H4 D D D", "D D D D"];
    assert_eq!(flits(&mut sender, 20), [once, once].concat());
}

/// Two headers in one slot: eight lines are nine flits, 72 B of slots each.
#[test]
fn read_data_take_four_slots_and_a_half() {
    let mut sender = Sender::new(FlitFormat::Bytes68, Way::S2m);
    (0..8).for_each(|_| sender.add(true));
    let expected = [
        "H5 D D D", "D D D D", "H5 D D D", "D D D D", "H5 D D D", "D D D D", "H5 D D D", "D D D D", "D D D D",
    ];
    assert_eq!(flits(&mut sender, 20), expected);
}

#[test]
fn a_flit_has_two_requests_and_no_more() {
    let mut sender = Sender::new(FlitFormat::Bytes68, Way::M2s);
    (0..3).for_each(|_| sender.add(false));
    assert_eq!(flits(&mut sender, 20), ["H5 G4 - -", "H5 - - -"]);
    // A write fills what requests may not.
    (0..3).for_each(|_| sender.add(false));
    sender.add(true);
    assert_eq!(flits(&mut sender, 20), ["H5 G4 G5 D", "H5 D D D"]);
}

/// A response without data shares the slot of a header.
#[test]
fn responses_share_slots() {
    let mut sender = Sender::new(FlitFormat::Bytes68, Way::S2m);
    [false, true].into_iter().for_each(|with_data| sender.add(with_data));
    assert_eq!(flits(&mut sender, 20), ["H3 D D D", "- D - -"]);
    (0..3).for_each(|_| sender.add(false));
    assert_eq!(flits(&mut sender, 20), ["H4 - - -", "H3 - - -"]);
}

#[test]
fn nothing_goes_without_credits() {
    let mut sender = Sender::new(FlitFormat::Bytes68, Way::S2m);
    sender.add(true);
    sender.add(false);
    assert_eq!(sender.pack_with(0, 0), None);
    let flit = sender.pack_with(1, 0).expect("a response has credit");
    assert_eq!((flit.ends(), shown(&flit, &sender.packer)), (&[2][..], "H3 - - -".to_owned()));
    assert!(!sender.packer.is_amid_data());
}

/// With many waiting, the way of the wire that is the limit has the bytes of the closed form, and the other no more.
#[test]
fn packing_is_as_dense_as_the_closed_form() {
    for (format, tolerance) in
        [(FlitFormat::Bytes68, 1e-3), (FlitFormat::Bytes256, 1e-3), (FlitFormat::Bytes256LowLatency, 1e-3)]
    {
        for (reads, writes) in [
            (1, 0),
            (0, 1),
            (1, 1),
            (2, 1),
            (3, 1),
            (1, 3),
            (7, 2),
            (4, 1),
            (1, 4),
            (3, 2),
            (2, 3),
            (9, 1),
            (20, 1),
        ] {
            for (index, way) in Way::ALL.into_iter().enumerate() {
                let mut sender = Sender::new(format, way);
                let rounds = 6000;
                for _ in 0..rounds {
                    (0..reads).for_each(|_| sender.add(way == Way::S2m));
                    (0..writes).for_each(|_| sender.add(way == Way::M2s));
                }
                let sent = std::iter::from_fn(|| sender.pack()).count() as f64;
                let expected = wire_bytes(format, f64::from(reads), f64::from(writes));
                let found = sent * format.bytes().get() as f64 / f64::from(rounds);
                let is_limit = busier(format, f64::from(reads), f64::from(writes)) == way;
                let most = expected[0].max(expected[1]);
                let expected = if is_limit { expected[index] } else { most };
                assert!(
                    found < expected * (1.0 + tolerance)
                        && (!is_limit || found > expected * (1.0 - tolerance)),
                    "{format:?} {reads}:{writes} {way:?}: {found} B on the wire, {expected} by the closed form"
                );
            }
        }
    }
}

proptest! {
    /// Whatever comes when: nothing is lost or doubled, no class overtakes itself, and every flit keeps the rules.
    #[test]
    fn every_flit_keeps_the_rules(
        format in prop::sample::select(vec![FlitFormat::Bytes68, FlitFormat::Bytes256, FlitFormat::Bytes256LowLatency]),
        is_up in any::<bool>(),
        arrivals in prop::collection::vec((any::<bool>(), 0usize..3), 1..200),
    ) {
        let way = if is_up { Way::S2m } else { Way::M2s };
        let mut sender = Sender::new(format, way);
        let (mut ended, mut left) = (Vec::new(), 0u32);
        let mut recent: VecDeque<(u32, u32)> = VecDeque::new();
        let check = |flit: &Flit, left: &mut u32, recent: &mut VecDeque<(u32, u32)>| {
            assert_eq!(flit.has_header, format != FlitFormat::Bytes68 || *left < 4);
            for (slot, held) in flit.slots[..format.slots()].iter().enumerate() {
                if slot.is_multiple_of(4) {
                    recent.push_back((0, 0));
                    let kept = if format == FlitFormat::Bytes68 { 1 } else { 2 };
                    while recent.len() > kept { recent.pop_front(); }
                }
                match held {
                    Slot::Data => {
                        assert!(*left > 0 && (slot > 0 || !flit.has_header));
                        *left -= 1;
                    }
                    Slot::Headers { plain, data, .. } => {
                        // Data come first where they may.
                        assert!(*left == 0 || format.place(slot) != Place::General);
                        *left += u32::from(*data) * 4;
                        let last = recent.back_mut().unwrap();
                        *last = (last.0 + u32::from(*plain), last.1 + u32::from(*data));
                        let most = Groups::new(format, way, Headers::default()).most;
                        assert!(recent.iter().map(|group| group.0).sum::<u32>() <= most.plain);
                        assert!(recent.iter().map(|group| group.1).sum::<u32>() <= most.data);
                    }
                    Slot::Empty => assert!(*left == 0 || slot == 0 || format.place(slot) != Place::General),
                }
            }
        };
        for (with_data, packed) in arrivals {
            sender.add(with_data);
            for _ in 0..packed {
                if let Some(flit) = sender.pack() {
                    check(&flit, &mut left, &mut recent);
                    ended.extend_from_slice(flit.ends());
                }
            }
        }
        while let Some(flit) = sender.pack() {
            check(&flit, &mut left, &mut recent);
            ended.extend_from_slice(flit.ends());
        }
        prop_assert_eq!(left, 0);
        for parity in [0, 1] {
            let of_class: Vec<u32> = ended.iter().copied().filter(|message| message % 2 == parity).collect();
            prop_assert!(of_class.is_sorted());
        }
        prop_assert_eq!(ended.len() as u32, sender.next);
    }
}
