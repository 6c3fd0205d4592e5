//! Forms in which a trace of any length is written: the listing of an analyzer, and one JSON object for each row.

use super::TraceRow;
use super::stream::{TraceEnd, TraceForm, TraceFrame};
use super::text::Widths;

/// The listing: as [`Trace::text`](super::Trace::text) has it, with columns as wide as the first batch of rows needs them.
#[derive(Default)]
pub struct Listing {
    widths: Option<Widths>,
}

impl TraceForm for Listing {
    fn begin(&mut self, _: &TraceFrame, _: &mut Vec<u8>) {}

    fn rows(&mut self, rows: &[TraceRow], out: &mut Vec<u8>) {
        let mut text = String::new();
        let widths = self.widths.get_or_insert_with(|| {
            let widths = Widths::of(rows);
            widths.heading(&mut text);
            widths
        });
        rows.iter().for_each(|row| row.lines(&mut text, widths));
        out.extend_from_slice(text.as_bytes());
    }

    fn end(&mut self, _: &TraceEnd, out: &mut Vec<u8>) {
        if self.widths.is_none() {
            self.rows(&[], out);
        }
    }
}

/// One JSON object for each row and line, with the keys of [`TraceRow`].
#[derive(Default)]
pub struct JsonLines;

impl TraceForm for JsonLines {
    fn begin(&mut self, _: &TraceFrame, _: &mut Vec<u8>) {}

    fn rows(&mut self, rows: &[TraceRow], out: &mut Vec<u8>) {
        for row in rows {
            serde_json::to_writer(&mut *out, row).expect("a row is numbers and texts");
            out.push(b'\n');
        }
    }

    fn end(&mut self, _: &TraceEnd, _: &mut Vec<u8>) {}
}
