//! What came of a call to an object of a link, told to the observers as facts of a port.

use crate::link::{Effect, Effects, TlpSpans};
use crate::port::PortId;
use lanewise_observe::{Fact, Observers, OnWire, What, WireFact};
use lanewise_units::Time;

/// The observers, for one port.
pub(crate) struct Books<'o> {
    pub(crate) port: PortId,
    pub(crate) observers: &'o mut Observers,
}

impl Effects for Books<'_> {
    #[inline(always)]
    fn push(&mut self, at: Time, effect: Effect) {
        let port = self.port.0;
        let fact = match effect {
            Effect::TlpSent { sequence, spans: TlpSpans { payload, header, framing } } => {
                Fact::TlpSent { port, sequence: sequence.get(), payload, header, framing }
            }
            Effect::Spent { on, span } => Fact::Spent { port, on, span },
            Effect::OrderedSets { start, span, count, every } => {
                if self.observers.are_heard() {
                    let what = What::OrderedSets { count, every };
                    self.observers
                        .tell_rarely(at, &WireFact::OnWire(OnWire { direction: port, start, span, what }));
                }
                return;
            }
            Effect::DllpSent => Fact::DllpSent { port },
            Effect::BufferFilled { class, bytes, sequence } => {
                Fact::BufferFilled { port, class, bytes, sequence: sequence.get() }
            }
            Effect::BufferFreed { class, bytes } => Fact::BufferFreed { port, class, bytes },
            Effect::BadTlp { sequence } => Fact::BadTlp { port, sequence: sequence.get() },
            Effect::Duplicate { sequence } => Fact::Duplicate { port, sequence: sequence.get() },
            Effect::Nullified => Fact::Nullified { port },
            Effect::NakSent => Fact::NakSent { port },
        };
        self.observers.observe(at, fact);
    }
}
