//! The buffer of a switch's ingress, and what it says to the transmitter at the other end of its wire.

use lanewise_units::Bytes;

/// How a buffer keeps its transmitter from sending what does not fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlowControl {
    /// The transmitter has credits for the whole buffer, and gets back what has left.
    Credits,
    /// The transmitter sends until it is paused.
    Pause {
        /// Held, above which the transmitter is paused. What is above it is headroom: for what comes until the pause is heeded.
        xoff: Bytes,
        /// Held, at and below which it may go on.
        xon: Bytes,
    },
}

/// What a buffer says to the transmitter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// Nothing.
    Nothing,
    /// So many bytes are free again.
    Credits(Bytes),
    /// Stop after the packet that is on the wire.
    Pause,
    /// Go on.
    Resume,
}

/// A buffer.
#[derive(Clone, Debug)]
pub struct Ingress {
    capacity: Bytes,
    flow_control: FlowControl,
    held: Bytes,
    most: Bytes,
    paused: bool,
}

impl Ingress {
    /// An empty buffer.
    ///
    /// # Panics
    /// When thresholds do not lie below each other and the capacity.
    pub fn new(capacity: Bytes, flow_control: FlowControl) -> Self {
        if let FlowControl::Pause { xoff, xon } = flow_control {
            assert!(xon <= xoff && xoff < capacity, "{xon} to go on, {xoff} to stop, {capacity} in all");
        }
        Self { capacity, flow_control, held: Bytes::ZERO, most: Bytes::ZERO, paused: false }
    }

    /// Bytes that it holds at most.
    pub const fn capacity(&self) -> Bytes {
        self.capacity
    }

    /// Bytes in it.
    pub const fn held(&self) -> Bytes {
        self.held
    }

    /// The most that was ever in it.
    pub const fn most(&self) -> Bytes {
        self.most
    }

    /// A packet comes in that takes so much space.
    ///
    /// # Panics
    /// When it does not fit: a lossless network loses nothing, so that its thresholds leave headroom for what is under way.
    pub fn take(&mut self, space: Bytes) -> Signal {
        self.held += space;
        self.most = self.most.max(self.held);
        assert!(self.held <= self.capacity, "{} in a buffer of {}", self.held, self.capacity);
        match self.flow_control {
            FlowControl::Pause { xoff, .. } if !self.paused && self.held > xoff => {
                self.paused = true;
                Signal::Pause
            }
            _ => Signal::Nothing,
        }
    }

    /// A packet that took so much space has left.
    ///
    /// # Panics
    /// When less is held.
    pub fn release(&mut self, space: Bytes) -> Signal {
        assert!(space <= self.held, "{space} leave, {} are held", self.held);
        self.held = Bytes::new(self.held.get() - space.get());
        match self.flow_control {
            FlowControl::Credits => Signal::Credits(space),
            FlowControl::Pause { xon, .. } if self.paused && self.held <= xon => {
                self.paused = false;
                Signal::Resume
            }
            FlowControl::Pause { .. } => Signal::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: fn(u64) -> Bytes = Bytes::from_kib;

    #[test]
    fn credits_come_back_one_for_one() {
        let mut buffer = Ingress::new(KIB(8), FlowControl::Credits);
        assert_eq!(buffer.take(KIB(4)), Signal::Nothing);
        assert_eq!(buffer.take(KIB(4)), Signal::Nothing);
        assert_eq!(buffer.release(KIB(4)), Signal::Credits(KIB(4)));
        assert_eq!((buffer.held(), buffer.most()), (KIB(4), KIB(8)));
    }

    #[test]
    fn a_pause_is_said_once_and_taken_back_at_the_lower_threshold() {
        let mut buffer = Ingress::new(KIB(16), FlowControl::Pause { xoff: KIB(8), xon: KIB(4) });
        let said: Vec<Signal> = (0..4).map(|_| buffer.take(KIB(4))).collect();
        assert_eq!(said, [Signal::Nothing, Signal::Nothing, Signal::Pause, Signal::Nothing]);
        let said: Vec<Signal> = (0..4).map(|_| buffer.release(KIB(4))).collect();
        assert_eq!(said, [Signal::Nothing, Signal::Nothing, Signal::Resume, Signal::Nothing]);
    }

    #[test]
    #[should_panic(expected = "in a buffer of")]
    fn nothing_is_lost_in_silence() {
        let mut buffer = Ingress::new(KIB(16), FlowControl::Pause { xoff: KIB(8), xon: KIB(4) });
        (0..5).for_each(|_| {
            buffer.take(KIB(4));
        });
    }
}
