//! Facts that were recorded become entries: what TLPs waited for and how deep queues were is worked out here.

use crate::packed::{Record, Told};
use crate::recorder::{Entry, EntryOf};
use crate::selection::TraceKind;
use crate::waits::Waits;
use crate::{Cause, Joined, WireFact};
use lanewise_units::{Span, Time};
use std::ops::RangeInclusive;

/// Reads what was recorded of ports, each in the order in which it was stated.
pub(crate) struct Reader {
    /// Numbers of facts that become entries; the others only led up to them.
    asked: RangeInclusive<u64>,
    waits: Waits,
    /// Reused.
    joined: Vec<Joined>,
}

impl Reader {
    /// Makes entries of facts with these numbers.
    pub(crate) fn of(asked: RangeInclusive<u64>) -> Self {
        Self { asked, waits: Waits::default(), joined: Vec::new() }
    }

    /// Takes in one record: with a number that is asked for, it becomes an entry, at once or when the depth of a queue is known.
    pub(crate) fn take_in(
        &mut self,
        port: u32,
        number: u64,
        Record { now, told, .. }: Record,
        entries: &mut Vec<Entry>,
    ) {
        match told {
            Told::Wire(fact) => {
                if self.asked.contains(&number) && !matches!(fact, WireFact::Queued(_)) {
                    entries.push(self.entry(now, &fact));
                }
                self.waits.observe(now, &fact, number, &mut self.joined);
            }
            Told::Left(left) => self.waits.leave(port, now, &left, &mut self.joined),
            Told::Carried(piece) => self.waits.carry(port, now, piece),
            Told::Error(fact) => {
                if self.asked.contains(&number) {
                    let (what, kind) = (EntryOf::Error(fact), TraceKind::Error);
                    entries.push(Entry { at: now, port, kind, what, waited: Vec::new(), depth: None });
                }
            }
        }
        self.put_joined(entries);
    }

    /// Nothing more is stated: how deep the queues are of those that wait.
    pub(crate) fn rest(&mut self, entries: &mut Vec<Entry>) {
        self.waits.rest(&mut self.joined);
        self.put_joined(entries);
    }

    fn entry(&self, now: Time, fact: &WireFact) -> Entry {
        let (at, port, kind) = TraceKind::of_wire(fact);
        let what = EntryOf::Wire(*fact);
        let Some(tlp) = what.first_transmission() else {
            return Entry { at, port, kind, what, waited: Vec::new(), depth: None };
        };
        let parts = Cause::ALL.into_iter().zip(self.waits.of(port, tlp, (now, at)));
        let waited = parts.filter(|(_, ticks)| *ticks > 0);
        let waited = waited.map(|(cause, ticks)| (cause, Span::from_ticks(ticks))).collect();
        let depth = Some(self.waits.behind(port, tlp.cost.class(), at));
        Entry { at, port, kind, what, waited, depth }
    }

    fn put_joined(&mut self, entries: &mut Vec<Entry>) {
        for Joined { queued, number, depth } in self.joined.drain(..) {
            if self.asked.contains(&number) {
                let (at, port, kind) = (queued.tlp.ready_at, queued.port, TraceKind::Queued);
                let (what, depth) = (EntryOf::Wire(WireFact::Queued(queued)), Some(depth));
                entries.push(Entry { at, port, kind, what, waited: Vec::new(), depth });
            }
        }
    }
}
