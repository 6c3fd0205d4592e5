//! The listing of a trace, as an analyzer prints it: 100 columns where names are short.

use super::rows::{TraceRow, TraceWait};
use super::transaction::{Station, Transaction};
use super::{Trace, TraceAround};
use lanewise_units::{Span, order};
use std::fmt::Write;

/// Writing into a string does not fail.
const TAKES_ALL: &str = "a string takes all";

/// Widths of the columns whose entries are names.
pub(super) struct Widths {
    link: usize,
    requester: usize,
    address: usize,
}

impl Widths {
    pub(super) fn of(rows: &[TraceRow]) -> Self {
        let widest = |of: fn(&TraceRow) -> usize, least: usize| rows.iter().map(of).fold(least, usize::max);
        Self {
            link: widest(|row| row.link.len(), "link".len()),
            requester: widest(|row| row.requester.as_ref().map_or(0, String::len), "from".len()),
            address: widest(|row| row.address.as_ref().map_or(0, String::len), "address".len()),
        }
    }

    pub(super) fn heading(&self, text: &mut String) {
        writeln!(
            text,
            "{:>11} {:>7}  {:link$}  {:4} {:>4}  {:12} {:from$} {:>7} {:>4} {:>address$} {:>4} {:>9}",
            "ns",
            "on wire",
            "link",
            "way",
            "seq",
            "what",
            "from",
            "ID",
            "tag",
            "address",
            "B",
            "credits",
            link = self.link,
            from = self.requester,
            address = self.address,
        )
        .expect(TAKES_ALL);
    }
}

impl Trace {
    /// One line for each row, with units in the heading, and one more for a TLP that waited. Credits are those left after a TLP, or
    /// the limit that a DLLP says; `inf` is for those without a limit. IDs leave out segment 0. Of a transaction its stations, which add up.
    pub fn text(&self) -> String {
        if let Some(transaction) = &self.transaction {
            return transaction.text();
        }
        let mut text = String::new();
        if let Some(around) = &self.around {
            around.line(&mut text);
            if around.at_ns.is_none() {
                return text;
            }
        }
        let widths = Widths::of(&self.rows);
        widths.heading(&mut text);
        self.rows.iter().for_each(|row| row.lines(&mut text, &widths));
        if self.around.is_none() && self.seen > self.rows.len() as u64 {
            let (kept, seen) = (self.rows.len(), self.seen);
            writeln!(text, "the last {kept} of {seen}").expect(TAKES_ALL);
        }
        if !self.is_whole {
            writeln!(text, "interrupted: nothing after {:.3} ns is listed", self.until_ns).expect(TAKES_ALL);
        }
        text
    }
}

impl TraceAround {
    fn line(&self, text: &mut String) {
        let Self { what, at_ns, looked_until_ns, .. } = self;
        match at_ns {
            Some(at) => writeln!(text, "{what} at {at:.3} ns"),
            None if *what == "request" => {
                writeln!(text, "fewer requests than that are complete by {looked_until_ns:.3} ns")
            }
            None => writeln!(text, "no {what} in the run up to {looked_until_ns:.3} ns"),
        }
        .expect(TAKES_ALL);
    }
}

impl TraceRow {
    pub(super) fn lines(&self, text: &mut String, widths: &Widths) {
        let or_dash = |value: Option<u16>| value.map_or("–".to_owned(), |value| value.to_string());
        let way = if self.direction == "upstream" { "up" } else { "down" };
        let on_wire = match self.span_ticks {
            0 => "–".to_owned(),
            ticks => format!("{:.3}", ns(ticks)),
        };
        let begin =
            format!("{:>11.3} {on_wire:>7}  {:link$}  {way:4} ", self.at_ns, self.link, link = widths.link);
        let line = match self.kind {
            "tlp" | "dllp" => format!(
                "{begin}{:>4}  {:12} {:from$} {:>7} {:>4} {:>address$} {:>4} {:>9}  {}",
                or_dash(self.sequence),
                self.what,
                self.requester.as_deref().unwrap_or("–"),
                self.requester_id.as_deref().map_or("–", |id| id.strip_prefix("0000:").unwrap_or(id)),
                or_dash(self.tag),
                self.address.as_deref().unwrap_or("–"),
                or_dash(self.length_bytes),
                self.credits(),
                self.note,
                from = widths.requester,
                address = widths.address,
            ),
            "blocked" | "queued" => format!("{begin} {}", self.sentence()),
            _ => format!("{begin}{:>4}  {}", or_dash(self.sequence), self.sentence()),
        };
        writeln!(text, "{}", line.trim_end()).expect(TAKES_ALL);
        if self.kind == "tlp" && !self.waits.is_empty() {
            let sum = self.waits.iter().map(|wait| wait.ticks).sum();
            let behind = match self.queue_depth {
                None | Some(0) => String::new(),
                Some(depth) => format!(", {depth} behind it"),
            };
            let begin = format!("{:26}waited {:.3} ns{behind}: ", "", ns(sum));
            parts_of(text, &begin, 28, &self.waits);
        }
    }

    /// What happened, of what is no packet.
    fn sentence(&self) -> String {
        let mut sentence = self.what.clone();
        if self.kind == "blocked" && !self.waits.is_empty() {
            let after = self.waits.iter().map(|wait| wait.ticks).sum();
            write!(sentence, " after {:.3} ns", ns(after)).expect(TAKES_ALL);
        }
        if !self.note.is_empty() {
            write!(sentence, "; {}", self.note).expect(TAKES_ALL);
        }
        if let Some(requester) = &self.requester {
            let which = match (self.tag, &self.address) {
                (Some(tag), _) => format!(", tag {tag}"),
                (None, Some(address)) => format!(", {address}"),
                (None, None) => String::new(),
            };
            write!(sentence, " of {requester}{which}").expect(TAKES_ALL);
        }
        match self.queue_depth {
            None => sentence,
            Some(depth) => format!("{sentence}; {depth} in the queue"),
        }
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

impl Transaction {
    fn text(&self) -> String {
        let Self { what, requester, flow, length_bytes, address, issued_at_ns, latency_ns, .. } = self;
        if what.is_empty() {
            return format!(
                "a request of {requester} ({flow}): {latency_ns:.3} ns, complete at {:.3} ns; none of its TLPs is among \
                 the rows that are kept: a larger --last keeps more\n",
                issued_at_ns + latency_ns
            );
        }
        let tag = self.tag.map_or(String::new(), |tag| format!(" tag {tag},"));
        let answers = match self.completions {
            0 => String::new(),
            1 => ", 1 completion".to_owned(),
            more => format!(", {more} completions"),
        };
        let mut text = format!(
            "{what} of {requester},{tag} {length_bytes} B at {address}{answers} ({flow}): {latency_ns:.3} ns\n\
             {:>12} {:>10}  {:5}  where\n",
            "ns", "for ns", "what"
        );
        self.stations.iter().for_each(|station| station.lines(&mut text));
        writeln!(text, "{:>12.3} {latency_ns:>10.3}  in all", issued_at_ns + latency_ns).expect(TAKES_ALL);
        text
    }
}

impl Station {
    fn lines(&self, text: &mut String) {
        let Self { place, what, .. } = self;
        let sentence = match self.stage {
            "issue" => format!("{place}: issued, before it may leave"),
            "queue" => format!("{place}: could leave, waits"),
            "link" => format!("link {place}, until it is checked"),
            "forward" => {
                format!(
                    "link {place}, then {}, until it could leave",
                    self.then.as_deref().unwrap_or_default()
                )
            }
            "entry" => format!("{place}: waits within"),
            "device" => format!("{place}: at work"),
            "use" => format!("{place}: until the data can be used"),
            _ => "not recorded; a larger --last keeps more".to_owned(),
        };
        let (at, span) = (ns(self.at_ticks), ns(self.span_ticks));
        writeln!(text, "{at:>12.3} {span:>10.3}  {what:5}  {sentence}").expect(TAKES_ALL);
        if !self.waits.is_empty() {
            parts_of(text, &" ".repeat(32), 32, &self.waits);
        }
    }
}

fn ns(ticks: u64) -> f64 {
    Span::from_ticks(ticks).as_ns()
}

/// "208.000 credits (PH), 104.000 wire", the longest first, behind `begin`; lines of no more than 100 columns, the others indented.
fn parts_of(text: &mut String, begin: &str, indent: usize, waits: &[TraceWait]) {
    let mut waits: Vec<&TraceWait> = waits.iter().collect();
    order::sort_by_key(&mut waits, |wait| std::cmp::Reverse(wait.ticks));
    let mut line = begin.to_owned();
    for (place, wait) in waits.iter().enumerate() {
        let comma = if place + 1 < waits.len() { "," } else { "" };
        let part = format!("{:.3} {}{comma}", ns(wait.ticks), wait.words);
        if line.chars().count() + part.chars().count() > COLUMNS && place > 0 {
            writeln!(text, "{}", line.trim_end()).expect(TAKES_ALL);
            line = " ".repeat(indent);
        }
        write!(line, "{part} ").expect(TAKES_ALL);
    }
    writeln!(text, "{}", line.trim_end()).expect(TAKES_ALL);
}

/// What a terminal has at least.
const COLUMNS: usize = 100;
