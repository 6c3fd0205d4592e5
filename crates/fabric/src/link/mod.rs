//! One direction of a link, as objects without a clock: state and rules of the data link layer and of flow control.
//!
//! Nothing here knows the engine, the packets of the fabric, its devices, or what is observed. A method is told the time, changes
//! the object and returns what came of it, or gives it to a sink for [`Effect`]s; when an object must act next, and why, it says as
//! a [`Timer`]. The fabric drives these objects: it hands them TLPs and DLLPs, routes, arbitrates, and looks at them in time.
//!
//! | file | holds |
//! |---|---|
//! | `transmitter.rs` | the transmitter: its wire in time, credits, the retry buffer |
//! | `receiver.rs` | the receiver: what arrives, what is owed to the transmitter for it (`owed.rs`), buffers by channel (`channels.rs`) |
//! | `initialisation.rs` | InitFCs, and credits of virtual channels beyond VC0 |
//! | `sleep.rs` | since when a transmitter is silent, from when on it sleeps, when it is awake |
//! | `flits.rs` | what both have in Flit Mode instead: flits with sequence numbers, kept and sent again |
//! | `buffer.rs` | its buffer of one class: credits, what drains, when an UpdateFC is due |
//! | `in_flight.rs` | a TLP on its way, and in which state it arrives |
//! | `timer.rs`, `effect.rs` | why a direction acts; what came of it |
//! | `dllp_set.rs` | DLLPs that a transmitter waits for |

pub(crate) mod buffer;
mod dllp_set;
mod effect;
mod flits;
mod in_flight;
mod initialisation;
mod receiver;
mod sleep;
mod timer;
mod transmitter;

pub(crate) use dllp_set::DllpSet;
pub(crate) use effect::{Effect, Effects};
pub(crate) use flits::{ArrivingFlit, FlitParts, Flits, Packed, SentFlit};
pub(crate) use in_flight::{Fate, InFlight, Space};
pub(crate) use initialisation::{ChannelCredits, InitFlowControl, LinkState};
pub(crate) use receiver::{Outcome, Receiver, ReceiverPolicy};
pub(crate) use sleep::{EntryTimes, Exit, Silence, Sleep};
pub(crate) use timer::Timer;
pub(crate) use transmitter::{Departure, Hold, TlpSpans, Transmitter};
