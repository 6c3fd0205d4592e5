//! Flits that arrive damaged, and the retry that follows.
//!
//! **68 B flits** are sent again by the link layer (CXL 3.1 §4.2.8). A receiver that finds a bad CRC drops that flit and all behind it,
//! and has the other direction ask for it (RETRY.Req); the sender answers (RETRY.Ack) and sends everything again from there. Both are
//! sequences of six flits and go before all others, but not into a run of all-data flits. Left out: damage to these sequences
//! themselves, and the retraining after many of them in vain.
//!
//! **256 B flits** are sent again by the physical layer, as those of PCI Express are (PCIe Base 6.0 §4.2.3.4). Error correction comes
//! first; what it leaves is a damaged flit, which is dropped with all behind it. The next flit of the other direction has a Nak, and
//! is one without messages where nothing waits. Everything goes again from the flit that the Nak names. Acknowledgements ride in
//! flits that go anyway, idle ones too, so nothing is sent for them, and the sender keeps as many flits as it needs. Left out:
//! selective Naks, the timer of replays, and the retraining after many of them in vain.

use super::{Direction, Kind, Sent};
use crate::config::FaultConfig;
use lanewise_cxl::retry::RETRY_SEQUENCE;
use lanewise_cxl::{FlitFormat, Way};
use lanewise_engine::random::RandomStream;
use lanewise_pcie::encoding::LinkMode;
use lanewise_pcie::fec::flit_error_rate;

/// Which flits arrive damaged.
#[derive(Debug)]
pub(super) struct Damage {
    stream: RandomStream,
    probability: f64,
    /// Flits until the next one.
    until: u64,
}

impl Damage {
    /// None for a direction without errors.
    pub(super) fn new(
        faults: &FaultConfig,
        mode: LinkMode,
        format: FlitFormat,
        way: Way,
        name: &str,
        seed: u64,
    ) -> Option<Self> {
        if faults.bit_error_rate <= 0.0 {
            return None;
        }
        let probability = of_a_flit(faults.bit_error_rate, mode, format);
        let mut stream = RandomStream::new(seed, name, &format!("CXL bit errors {}", way.name()));
        let until = stream.geometric(probability);
        Some(Self { stream, probability, until })
    }

    /// Bits are wrong with another probability from now on. A bit does not remember how many were right before it, so the next
    /// damaged flit is drawn anew.
    pub(super) fn take_bit_error_rate(&mut self, rate: f64, mode: LinkMode, format: FlitFormat) {
        let probability = of_a_flit(rate, mode, format);
        if probability != self.probability {
            self.probability = probability;
            self.until = self.stream.geometric(probability);
        }
    }

    /// Whether the next flit is damaged.
    pub(super) fn should_inject(&mut self) -> bool {
        if self.until > 0 {
            self.until -= 1;
            return false;
        }
        self.until = self.stream.geometric(self.probability);
        true
    }
}

/// How probable it is that a flit arrives damaged: one with a wrong bit, or in Flit Mode one beyond repair by error correction.
fn of_a_flit(bit_error_rate: f64, mode: LinkMode, format: FlitFormat) -> f64 {
    if mode.flit {
        return flit_error_rate(mode, bit_error_rate);
    }
    let bits = format.bytes().get() as f64 * 8.0;
    -f64::exp_m1(bits * f64::ln_1p(-bit_error_rate))
}

impl Direction {
    /// A retry sequence that is due, and how many flits it takes.
    pub(super) fn retry_control(&mut self) -> Option<(Sent, u32)> {
        let is_amid = self.packer.is_all_data_next() && !self.retry.is_replaying();
        if is_amid || !self.format.has_link_layer_retry() {
            return None;
        }
        let kind = if std::mem::take(&mut self.owes_retry_ack) {
            Kind::RetryAck
        } else {
            Kind::RetryRequest { expected: self.retry_request.take()? }
        };
        Some((
            Sent { kind, sequence: 0, credits: [0; 2], acks: 0, nak: None, is_damaged: false },
            RETRY_SEQUENCE,
        ))
    }

    /// A retry sequence is there. `back`: the other direction.
    pub(super) fn receive_control(&mut self, sent: Sent, back: &mut Self) {
        match sent.kind {
            Kind::RetryRequest { expected } => {
                back.replay_from(expected);
                back.owes_retry_ack = true;
            }
            Kind::RetryAck => self.receiver.waits_for_retry = false,
            Kind::Kept(_) => unreachable!("flits with messages are received elsewhere"),
        }
    }

    /// Whether the next flit has a Nak: of 256 B, where the receiver at this end waits for a flit.
    pub(in crate::cxl) fn has_nak(&self) -> bool {
        self.retry_request.is_some() && !self.format.has_link_layer_retry()
    }

    /// The Nak of a flit that goes out now.
    pub(super) fn take_nak(&mut self) -> Option<u64> {
        if self.has_nak() { self.retry_request.take() } else { None }
    }

    /// Everything from this flit on is to be sent again.
    fn replay_from(&mut self, expected: u64) {
        // What has arrived, and is not acknowledged yet.
        let first = self.retry.oldest().map_or(expected, |oldest| oldest.sequence);
        self.retry.replay((expected - first) as usize);
    }

    /// Whether a flit is of no use: damaged, or behind one that was. Of 256 B flits, a Nak in it counts unless it is damaged itself.
    pub(super) fn is_dropped(&mut self, sent: &Sent, back: &mut Self) -> bool {
        if self.format.has_link_layer_retry() {
            self.drops_68(sent, back)
        } else {
            self.drops_256(sent, back)
        }
    }

    fn drops_256(&mut self, sent: &Sent, back: &mut Self) -> bool {
        match sent.nak {
            // A Nak that is lost is said again by the next flit.
            Some(_) if sent.is_damaged => self.retry_request = self.retry_request.or(sent.nak),
            Some(expected) => back.replay_from(expected),
            None => {}
        }
        let is_next = sent.sequence == self.receiver.expected;
        if is_next && sent.is_damaged {
            back.retry_request = Some(self.receiver.expected);
        }
        let is_dropped = !is_next || sent.is_damaged;
        if !is_dropped && self.has_errors() {
            self.retry.acknowledge(1);
        }
        is_dropped
    }

    fn drops_68(&mut self, sent: &Sent, back: &mut Self) -> bool {
        if self.receiver.waits_for_retry {
            return true;
        }
        if sent.is_damaged {
            self.receiver.waits_for_retry = true;
            back.retry_request = Some(self.receiver.expected);
            return true;
        }
        assert_eq!(
            sent.sequence, self.receiver.expected,
            "flits arrive in the order in which they were sent"
        );
        false
    }
}
