//! The discrete-event engine. It knows time and events, and nothing of what an event means.
//!
//! - [`Engine`] owns the pending events, the clock and the count of events handled.
//! - [`queue`] holds the interchangeable event queues; [`DefaultQueue`] is the fastest (ADR 3).
//!
//! One engine runs on one thread. The caller pulls an event, acts on it, and schedules what follows, so that its
//! own `match` is compiled together with the queue and no callback stands between them.

mod engine;
pub mod queue;
pub mod random;

pub use engine::Engine;
pub use queue::{DefaultQueue, Event, EventQueue};
