//! Keeps the last so many facts about wires, of those that are asked for.

use crate::{Fact, Observer, OnWire, What, WireFact};
use lanewise_units::Time;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// Which facts a recorder keeps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Selection {
    /// From then on, by when a thing starts.
    pub from: Time,
    /// Before then.
    pub until: Time,
    /// Of these transmitting ports, of all without a list. Errors that a receiver notices are those of its own port.
    pub ports: Option<Vec<u32>>,
    /// Of these kinds.
    pub kinds: TraceKinds,
}

impl Selection {
    /// All there is.
    pub fn everything() -> Self {
        Self { from: Time::ZERO, until: Time::NEVER, ports: None, kinds: TraceKinds::all() }
    }

    fn takes(&self, entry: &Entry) -> bool {
        self.from <= entry.at
            && entry.at < self.until
            && self.kinds.contain(entry.kind)
            && self.ports.as_ref().is_none_or(|ports| ports.contains(&entry.port))
    }
}

/// Kinds of facts that can be asked for apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TraceKind {
    /// TLPs, whatever they are sent for.
    Tlp,
    /// DLLPs, those in flits included.
    Dllp,
    /// SKP ordered sets.
    OrderedSet,
    /// Flits.
    Flit,
    /// Ports that are held up, and no longer.
    Wait,
    /// What arrived damaged or twice, and replays.
    Error,
}

impl TraceKind {
    /// Every kind.
    pub const ALL: [Self; 6] = [Self::Tlp, Self::Dllp, Self::OrderedSet, Self::Flit, Self::Wait, Self::Error];

    /// Name on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tlp => "tlp",
            Self::Dllp => "dllp",
            Self::OrderedSet => "skp",
            Self::Flit => "flit",
            Self::Wait => "wait",
            Self::Error => "error",
        }
    }
}

/// A set of kinds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TraceKinds(u8);

impl TraceKinds {
    /// Every kind.
    pub fn all() -> Self {
        TraceKind::ALL.into_iter().collect()
    }

    /// Whether it is among them.
    pub const fn contain(self, kind: TraceKind) -> bool {
        self.0 >> kind as u8 & 1 == 1
    }
}

impl FromIterator<TraceKind> for TraceKinds {
    fn from_iter<I: IntoIterator<Item = TraceKind>>(kinds: I) -> Self {
        Self(kinds.into_iter().fold(0, |set, kind| set | 1 << kind as u8))
    }
}

/// One fact that was kept.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// When: a thing starts, a port begins or ceases to be held up, an error is noticed.
    pub at: Time,
    /// The port it is about: the transmitter, or of a receiver's error its own.
    pub port: u32,
    /// Which kind.
    pub kind: TraceKind,
    /// What.
    pub what: EntryOf,
}

/// What was kept.
#[derive(Clone, Copy, Debug)]
pub enum EntryOf {
    /// A thing on a wire, or a port that is held up.
    Wire(WireFact),
    /// An error of a link, or what is done about it.
    Error(Fact),
}

impl Entry {
    fn of_wire(fact: &WireFact) -> Self {
        let (at, port, kind) = match *fact {
            WireFact::OnWire(OnWire { start, direction, what, .. }) => (start, direction, kind_of(&what)),
            WireFact::Blocked { port, since, .. } => (since, port, TraceKind::Wait),
            WireFact::Unblocked { port, until, .. } => (until, port, TraceKind::Wait),
        };
        Self { at, port, kind, what: EntryOf::Wire(*fact) }
    }

    fn of_fact(now: Time, fact: &Fact) -> Option<Self> {
        let port = match *fact {
            Fact::BadTlp { port, .. }
            | Fact::BadDllp { port }
            | Fact::Duplicate { port, .. }
            | Fact::Nullified { port }
            | Fact::ReplayStarted { port, .. }
            | Fact::ReplayNumRollover { port } => port,
            _ => return None,
        };
        Some(Self { at: now, port, kind: TraceKind::Error, what: EntryOf::Error(*fact) })
    }
}

const fn kind_of(what: &What) -> TraceKind {
    match what {
        What::Tlp(_) | What::Duplicate { .. } => TraceKind::Tlp,
        What::Dllp(_) | What::DllpInFlit(_) | What::AnswerInFlit(_) => TraceKind::Dllp,
        What::OrderedSets { .. } => TraceKind::OrderedSet,
        What::Flit { .. } => TraceKind::Flit,
    }
}

/// The last so many facts of a selection.
///
/// Who added its [`listener`](Recorder::listener) to the observers reads it through [`Recorder::entries`].
#[derive(Clone)]
pub struct Recorder(Rc<RefCell<Ring>>);

struct Ring {
    selection: Selection,
    entries: VecDeque<Entry>,
    most: usize,
    seen: u64,
}

impl Recorder {
    /// Keeps the last `most` facts of a selection.
    ///
    /// # Panics
    /// When `most` is zero.
    pub fn new(selection: Selection, most: usize) -> Self {
        assert!(most > 0, "a recorder keeps something");
        Self(Rc::new(RefCell::new(Ring { selection, entries: VecDeque::new(), most, seen: 0 })))
    }

    /// What listens for it.
    pub fn listener(&self) -> Box<dyn Observer> {
        Box::new(self.clone())
    }

    /// Facts of the selection, kept or not.
    pub fn seen(&self) -> u64 {
        self.0.borrow().seen
    }

    /// What was kept, by time, then by port; at one time and port in the order in which it was stated.
    pub fn entries(&self) -> Vec<Entry> {
        let mut entries: Vec<Entry> = self.0.borrow().entries.iter().copied().collect();
        entries.sort_by_key(|entry| (entry.at, entry.port));
        entries
    }
}

impl Ring {
    fn keep(&mut self, entry: Entry) {
        if !self.selection.takes(&entry) {
            return;
        }
        if self.entries.len() == self.most {
            self.entries.pop_front();
        }
        self.entries.push_back(entry);
        self.seen += 1;
    }
}

impl Observer for Recorder {
    fn observe(&mut self, now: Time, fact: &Fact) {
        if let Some(entry) = Entry::of_fact(now, fact) {
            self.0.borrow_mut().keep(entry);
        }
    }

    fn observe_wire(&mut self, _now: Time, fact: &WireFact) {
        self.0.borrow_mut().keep(Entry::of_wire(fact));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Observers;
    use lanewise_pcie::ack_nak::Sequence;
    use lanewise_pcie::dllp::Dllp;
    use lanewise_units::Span;

    fn ack(port: u32, at_ns: u64) -> WireFact {
        let start = Time::ZERO + Span::from_ns(at_ns);
        let what = What::Dllp(Dllp::Ack(Sequence::ZERO));
        WireFact::OnWire(OnWire { direction: port, start, span: Span::from_ns(1), what })
    }

    fn heard(selection: Selection, most: usize) -> (Recorder, Observers) {
        let recorder = Recorder::new(selection, most);
        let mut observers = Observers::new(2, 0);
        assert!(!observers.are_heard());
        observers.more.push(recorder.listener());
        assert!(observers.are_heard());
        (recorder, observers)
    }

    #[test]
    fn the_last_are_kept_and_come_in_order_of_time() {
        let (recorder, mut observers) = heard(Selection::everything(), 3);
        [(0, 1), (0, 9), (1, 2), (0, 10), (1, 9)].into_iter().for_each(|(port, at)| {
            observers.tell(Time::ZERO, &ack(port, at));
        });
        let kept: Vec<(u32, f64)> =
            recorder.entries().iter().map(|entry| (entry.port, (entry.at - Time::ZERO).as_ns())).collect();
        assert_eq!(kept, [(1, 2.0), (1, 9.0), (0, 10.0)]);
        assert_eq!(recorder.seen(), 5);
    }

    #[test]
    fn a_selection_is_of_times_ports_and_kinds() {
        let ns = |ns| Time::ZERO + Span::from_ns(ns);
        let all = Selection::everything();
        let kept = |selection: Selection| {
            let (recorder, mut observers) = heard(selection, 9);
            (0..4).for_each(|at| observers.tell(Time::ZERO, &ack((at % 2) as u32, at)));
            observers.held_up(ns(2), 0, crate::Use::BlockedRetryBuffer, ns(2), None);
            observers.held_up(ns(3), 0, crate::Use::BlockedRetryBuffer, ns(3), None);
            observers.let_go(ns(3), 0, ns(3));
            observers.observe(ns(1), Fact::BadTlp { port: 1, sequence: 0 });
            recorder.entries().len()
        };
        assert_eq!(kept(all.clone()), 7, "held up once, let go once");
        assert_eq!(kept(Selection { from: ns(1), until: ns(3), ..all.clone() }), 4);
        assert_eq!(kept(Selection { ports: Some(vec![1]), ..all.clone() }), 3);
        assert_eq!(
            kept(Selection { kinds: [TraceKind::Wait, TraceKind::Error].into_iter().collect(), ..all }),
            3
        );
    }
}
