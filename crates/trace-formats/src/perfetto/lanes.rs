//! The tracks of one direction, described when something is on them.

use super::credits::{Credits, class_name};
use super::packets::{Packets, Track};
use lanewise_observe::{HeldUp, TraceKind};
use lanewise_pcie::tlp::FlowClass;
use lanewise_sim::TraceDirection;
use lanewise_units::Few;
use std::collections::BTreeMap;

/// A direction of a link.
pub(super) struct Lane {
    track: Track,
    /// Those of [`Kind`], and of TLPs that wait, by rank.
    tracks: BTreeMap<usize, Track>,
    credits: Few<(u8, FlowClass, bool), Credits>,
    /// Those of what is held up, by number.
    held: BTreeMap<usize, Track>,
    /// Of what is held up now, on which track that is.
    open: Vec<(HeldUp, usize)>,
}

/// What a track of its own is for.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Tlps,
    Dllps,
    OrderedSets,
    Flits,
    Errors,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Tlps => "TLPs",
            Self::Dllps => "DLLPs",
            Self::OrderedSets => "ordered sets",
            Self::Flits => "flits",
            Self::Errors => "errors",
        }
    }

    /// Of a row; none of what is no event on a wire.
    pub(super) fn of(kind: &str) -> Option<Self> {
        let kinds = [
            (TraceKind::Tlp, Self::Tlps),
            (TraceKind::Dllp, Self::Dllps),
            (TraceKind::OrderedSet, Self::OrderedSets),
            (TraceKind::Flit, Self::Flits),
            (TraceKind::Error, Self::Errors),
        ];
        kinds.into_iter().find(|(of, _)| of.name() == kind).map(|(_, is)| is)
    }
}

/// Where counters and the tracks of what is held up stand below a direction: behind those of [`Kind`].
const RANK_OF_HELD: usize = 10;
const RANK_OF_CREDITS: usize = 10_000;
const RANK_OF_WAITING: usize = 20_000;

impl Lane {
    pub(super) fn new(track: Track) -> Self {
        Self {
            track,
            tracks: BTreeMap::new(),
            credits: Few::default(),
            held: BTreeMap::new(),
            open: Vec::new(),
        }
    }

    pub(super) fn track(&mut self, packets: &mut Packets, kind: Kind) -> Track {
        let rank = kind as usize;
        *self.tracks.entry(rank).or_insert_with(|| packets.track(Some(self.track), kind.name(), rank))
    }

    /// Header or data credits of a class and channel.
    pub(super) fn credits(
        &mut self,
        packets: &mut Packets,
        direction: &TraceDirection,
        (channel, class, of_data): (u8, FlowClass, bool),
    ) -> &mut Credits {
        let key = (channel, class, of_data);
        self.credits.or_insert_with(key, || {
            let what = if of_data { "data" } else { "header" };
            let name = format!("{} {what} credits left, VC{channel}", class_name(class));
            let rank = RANK_OF_CREDITS + 6 * usize::from(channel) + 2 * class.index() + usize::from(of_data);
            let unit = if of_data { "credits of 16 B" } else { "credits" };
            let track = packets.counter(self.track, &name, rank, unit);
            let made = if of_data { Credits::data } else { Credits::headers };
            made(track, direction.scale[class.index()])
        })
    }

    /// Whether a counter of them was described.
    pub(super) fn has_credits(&self, key: (u8, FlowClass, bool)) -> bool {
        self.credits.has(key)
    }

    pub(super) fn all_credits(&mut self) -> impl Iterator<Item = &mut Credits> {
        self.credits.values_mut()
    }

    /// TLPs of a class that wait for the port.
    pub(super) fn waiting(&mut self, packets: &mut Packets, class: FlowClass) -> Track {
        let rank = RANK_OF_WAITING + class.index();
        *self.tracks.entry(rank).or_insert_with(|| {
            packets.counter(self.track, &format!("{} TLPs that wait", class_name(class)), rank, "TLPs")
        })
    }

    /// A class, a read or everything is held up from now on: the track for that. Several reads have several, the first that is free.
    pub(super) fn is_held(&mut self, packets: &mut Packets, whom: HeldUp) -> Track {
        let first = first_number(whom);
        let is_free = |number: &usize| self.open.iter().all(|(_, taken)| taken != number);
        let number = (first..).find(is_free).expect("there are more numbers than reads");
        self.open.push((whom, number));
        if let Some(track) = self.held.get(&number) {
            return *track;
        }
        let name = match whom {
            HeldUp::Everything => "held up: everything".to_owned(),
            HeldUp::Class { channel, class } => format!("held up: {}, VC{channel}", class_name(class)),
            HeldUp::Read(_) => format!("reads within the host, {}", number - first + 1),
        };
        let track = packets.track(Some(self.track), &name, RANK_OF_HELD + number);
        self.held.insert(number, track);
        track
    }

    /// It is held up no longer: the track, if it was there.
    pub(super) fn goes_on(&mut self, whom: HeldUp) -> Option<Track> {
        let place = self.open.iter().position(|(held, _)| *held == whom)?;
        let (_, number) = self.open.swap_remove(place);
        self.held.get(&number).copied()
    }

    /// Tracks of what is still held up.
    pub(super) fn still_held(&mut self) -> Vec<Track> {
        let open = std::mem::take(&mut self.open);
        open.into_iter().filter_map(|(_, number)| self.held.get(&number).copied()).collect()
    }
}

/// Classes and channels have numbers of their own; reads have those behind.
fn first_number(whom: HeldUp) -> usize {
    match whom {
        HeldUp::Everything => 0,
        HeldUp::Class { channel, class } => 1 + 3 * usize::from(channel) + class.index(),
        HeldUp::Read(_) => 100,
    }
}
