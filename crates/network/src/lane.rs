//! One direction of a port as a server that is busy with one frame at a time.
//!
//! The caller decides whose frame goes next and asks only while the lane is free; a frame's end is arithmetic.

use crate::WireKind;
use lanewise_units::{Bytes, Time};

/// One direction of a wire.
#[derive(Clone, Debug)]
pub struct Lane {
    wire: WireKind,
    free_at: Time,
    /// Acknowledgements of the other direction's frames that have to go out before the next frame.
    owed: Bytes,
}

impl Lane {
    /// A lane with nothing on it.
    pub const fn new(wire: WireKind) -> Self {
        Self { wire, free_at: Time::ZERO, owed: Bytes::ZERO }
    }

    /// Whether a frame could start now.
    #[inline]
    pub fn is_free(&self, now: Time) -> bool {
        self.free_at <= now
    }

    /// Sends a frame with so much payload now; returns when its last byte is at the other end.
    ///
    /// # Panics
    /// When the lane is not free.
    #[inline]
    pub fn send(&mut self, now: Time, payload: Bytes) -> Time {
        assert!(
            self.is_free(now),
            "a frame starts at {now:?} on a lane that is busy until {:?}",
            self.free_at
        );
        let span = self.wire.frame_span(payload) + self.wire.byte_span(self.owed);
        self.owed = Bytes::ZERO;
        self.free_at = now + span;
        self.free_at
    }

    /// Acknowledges a frame of the other direction. Costs a busy lane time before its next frame, an idle one none.
    #[inline]
    pub fn acknowledge(&mut self, now: Time) {
        if !self.is_free(now) {
            self.owed += self.wire.acknowledgement();
        }
    }
}

/// Both directions of a port; they do not wait for each other.
#[derive(Clone, Debug)]
pub struct Port {
    /// What is at both ends.
    pub wire: WireKind,
    /// From the drives to the adapter.
    pub inbound: Lane,
    /// From the adapter to the drives.
    pub outbound: Lane,
}

impl Port {
    /// A port with nothing on its wire.
    pub const fn new(wire: WireKind) -> Self {
        Self { wire, inbound: Lane::new(wire), outbound: Lane::new(wire) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saturate(frames: u64, acknowledged: bool) -> Time {
        let mut lane = Lane::new(WireKind::Sas3g);
        let mut now = Time::ZERO;
        for _ in 0..frames {
            let end = lane.send(now, Bytes::new(1024));
            if acknowledged {
                lane.acknowledge(now);
            }
            now = end;
        }
        now
    }

    #[test]
    fn frames_back_to_back_reach_the_ceiling() {
        let end = saturate(1000, false);
        assert_eq!(end - Time::ZERO, WireKind::Sas3g.frame_span(Bytes::new(1024)) * 1000);
    }

    #[test]
    fn acknowledging_the_other_direction_takes_two_words_a_frame() {
        let plain = (saturate(1000, false) - Time::ZERO).ticks() as f64;
        let acknowledging = (saturate(1000, true) - Time::ZERO).ticks() as f64;
        let extra = acknowledging / plain - 1.0;
        assert!((extra - 8.0 / 1060.0).abs() < 2e-5, "8 B beside 1,060 B: {extra}");
    }

    #[test]
    fn directions_are_independent() {
        let mut port = Port::new(WireKind::FibreChannel4g);
        let inbound = port.inbound.send(Time::ZERO, Bytes::new(2048));
        assert_eq!(port.outbound.send(Time::ZERO, Bytes::new(2048)), inbound);
        assert!(!port.inbound.is_free(Time::ZERO));
    }

    #[test]
    #[should_panic(expected = "busy until")]
    fn one_frame_at_a_time() {
        let mut lane = Lane::new(WireKind::Sas3g);
        lane.send(Time::ZERO, Bytes::new(1024));
        lane.send(Time::ZERO, Bytes::new(1024));
    }
}
