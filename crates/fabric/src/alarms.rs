//! When ports look at their wires: at a later time that is an event, at this very time they are ready.

use crate::event::{Event, PackedEvent};
use crate::fabric::Fabric;
use crate::port::{Port, PortId};
use crate::ready::Ready;
use lanewise_engine::Engine;
use lanewise_units::Time;

/// What wakes a port that its caller has looked up: the part of a fabric that this needs.
pub(crate) struct Alarms<'f> {
    pub(crate) engine: &'f mut Engine<PackedEvent>,
    pub(crate) ready: &'f mut Ready,
}

impl Alarms<'_> {
    /// Makes sure that `port`, which is `id`, looks at its wire at `at`, or as soon after as the wire is free.
    #[inline(always)]
    pub(crate) fn wake(&mut self, port: &mut Port, id: PortId, at: Time) {
        let at = port.transmitter.decides_at(at.max(self.engine.now()));
        self.wake_then(port, id, at);
    }

    /// The same at a time at which it can decide, not before now.
    #[inline(always)]
    pub(crate) fn wake_then(&mut self, port: &mut Port, id: PortId, at: Time) {
        let now = self.engine.now();
        if at < port.wake_at {
            let needs_event = port.wake_earlier(at, now);
            if at == now {
                self.ready.add(id);
            } else if needs_event {
                self.engine.schedule(at, Event::Wake(id).pack());
            }
        }
    }

    /// A packet that may leave through `port` from `at` on has come to the head of its queue.
    #[inline(always)]
    pub(crate) fn offer(&mut self, port: &mut Port, id: PortId, at: Time) {
        port.blocked_until = Time::ZERO;
        self.wake(port, id, at);
    }
}

impl Fabric {
    /// Makes sure that `id` looks at its wire at `at`, or as soon after as the wire is free.
    #[inline(always)]
    pub(crate) fn wake(&mut self, id: PortId, at: Time) {
        let port = &mut self.ports[id.index()];
        Alarms { engine: &mut self.engine, ready: &mut self.ready }.wake(port, id, at);
    }

    /// A packet that may leave through `id` from `at` on has come to the head of its queue.
    #[inline(always)]
    pub(crate) fn offer(&mut self, id: PortId, at: Time) {
        let port = &mut self.ports[id.index()];
        Alarms { engine: &mut self.engine, ready: &mut self.ready }.offer(port, id, at);
    }
}
