//! Exact quantities. Nothing here knows PCI Express protocol; everything above is written in these words.
//!
//! - [`Time`] is a point and [`Span`] a difference, both whole ticks of 2⁻¹⁰ ps (ADR 1).
//! - [`Bytes`] ÷ [`Rate`] is a [`Span`]; [`SymbolTimes`] become [`Bytes`] only through a [`Width`].
//! - [`order`] sorts what is sorted rarely, and makes trees of what is listed; [`Few`] is a map of few entries.
//! - [`Generation`] and [`Width`] name what a lane runs at and how many there are.
//!
//! Floats appear only in the `as_…` readers, for a number a person is about to see.

mod bytes;
mod few;
mod lanes;
pub mod order;
mod rate;
mod time;
pub mod wide;

pub use bytes::Bytes;
pub use few::Few;
pub use lanes::{Generation, SymbolTimes, Width};
pub use rate::Rate;
pub use time::{Span, SpanSum, TICKS_PER_NS, TICKS_PER_SECOND, Time};
