//! The listing of a trace, as an analyzer prints it.

use super::{Trace, TraceRow};
use std::fmt::Write;

impl Trace {
    /// One line for each row, with units in the heading. Credits are those left after a TLP, or the limit that a DLLP says; `inf`
    /// is for those without a limit. IDs leave out segment 0.
    pub fn text(&self) -> String {
        let widest = self.rows.iter().map(|row| row.link.len()).max().unwrap_or(0).max("link".len());
        let mut text = format!(
            "{:>14}  {:>10}  {:widest$}  {:4}  {:>4}  {:22}  {:12}  {:>7}  {:>4}  {:>14}  {:>4}  {:>9}  note\n",
            "ns",
            "ns on wire",
            "link",
            "way",
            "seq",
            "what",
            "requester",
            "ID",
            "tag",
            "address",
            "B",
            "credits"
        );
        self.rows.iter().for_each(|row| row.line(&mut text, widest));
        if self.seen > self.rows.len() as u64 {
            let (kept, seen) = (self.rows.len(), self.seen);
            writeln!(text, "the last {kept} of {seen}").expect("a string takes all");
        }
        text
    }
}

impl TraceRow {
    fn line(&self, text: &mut String, widest: usize) {
        let or_dash = |value: Option<u16>| value.map_or("–".to_owned(), |value| value.to_string());
        let way = if self.direction == "upstream" { "up" } else { "down" };
        let on_wire = match self.span_ticks {
            0 => "–".to_owned(),
            ticks => format!("{:.3}", lanewise_units::Span::from_ticks(ticks).as_ns()),
        };
        let line = format!(
            "{:>14.3}  {on_wire:>10}  {:widest$}  {way:4}  {:>4}  {:22}  {:12}  {:>7}  {:>4}  {:>14}  {:>4}  {:>9}  {}",
            self.at_ns,
            self.link,
            or_dash(self.sequence),
            self.what,
            self.requester.as_deref().unwrap_or("–"),
            self.requester_id.as_deref().map_or("–", |id| id.strip_prefix("0000:").unwrap_or(id)),
            or_dash(self.tag),
            self.address.as_deref().unwrap_or("–"),
            or_dash(self.length_bytes),
            self.credits(),
            self.note,
        );
        writeln!(text, "{}", line.trim_end()).expect("a string takes all");
    }

    /// Header and data credits.
    fn credits(&self) -> String {
        let or_infinite = |value: Option<u16>| value.map_or("inf".to_owned(), |value| value.to_string());
        match self.channel {
            None => "–".to_owned(),
            Some(_) => format!("{}/{}", or_infinite(self.header_credits), or_infinite(self.data_credits)),
        }
    }
}
