//! Traces as other people's tools read them: [`Perfetto`], as a form for [`lanewise_sim::write_trace`].
//!
//! A form holds no rows, so a trace may be as long as the disk has room. What the formats hold is told in
//! `docs/reference/trace-formats.md`.

mod directions;
mod perfetto;

pub use perfetto::Perfetto;
