//! What goes over the links of a scenario in a window of its run: rows for a page, or a file for other people's tools.
//!
//! A request is that for a run, with the words of `lanewise trace` beside it ([`lanewise_sim::TraceWords`]). With `form`, which is
//! `perfetto` or `jsonl`, the answer is the file that `lanewise trace --format` writes.

use crate::answer::{mistakes, stamped, wrong_request};
use crate::door::Request;
use lanewise_sim::{
    JsonLines, RunProgress, Scenario, TraceEnd, TraceForm, TraceKind, TraceOf, TraceRequest, TraceWords,
};
use lanewise_trace_formats::Perfetto;
use serde::Serialize;
use serde_json::{Map, Value, from_value};
use std::ops::ControlFlow;

/// The most rows in one answer: some 30 MB of JSON. Assumed.
pub const MOST_ROWS: usize = 50_000;

/// The most bytes of a file that is made in memory: 48 MiB, which are 64 MiB in base64. Assumed.
pub const MOST_FILE_BYTES: usize = 48 << 20;

/// Keys of a request that are about the trace.
const WORDS: [&str; 8] = ["start", "span", "links", "kinds", "last", "around", "transaction", "request"];

/// A trace as a file.
#[derive(Serialize)]
struct TraceFile {
    form: String,
    /// Rows that it has.
    rows: u64,
    fingerprint: String,
    /// Its bytes, in base64 (RFC 4648 §4).
    base64: String,
}

/// Lists what `lanewise trace --json` does, the last [`MOST_ROWS`] rows at most; or makes a file of it.
pub fn trace(request: &str) -> String {
    let (request, mut words, form) = match read(request) {
        Ok(read) => read,
        Err(answer) => return answer,
    };
    let scenario = match request.bounded() {
        Ok(scenario) => scenario,
        Err(diagnostics) => return mistakes(&diagnostics),
    };
    if form.as_deref() == Some("perfetto") && words.kinds.is_empty() {
        // As on the command line: its counters need who joins a queue.
        words.kinds = TraceKind::ALL.map(|kind| kind.name().to_owned()).to_vec();
    }
    let asked = match words.of(&scenario) {
        Ok(asked) => asked,
        Err(wrong) => return wrong_request(&wrong.to_string()),
    };
    match form.as_deref() {
        None => match lanewise_sim::trace(&scenario, &asked, &mut |_| ControlFlow::Continue(())) {
            Ok(traced) => stamped(&traced),
            Err(problem) => wrong_request(&problem.to_string()),
        },
        Some("perfetto") => file(&scenario, &asked, "perfetto", &mut Perfetto::default()),
        Some("jsonl") => file(&scenario, &asked, "jsonl", &mut JsonLines),
        Some(other) => wrong_request(&format!("form is {other:?}; allowed is perfetto or jsonl")),
    }
}

/// The file of a trace: of a window all of it, else of what is kept.
fn file(scenario: &Scenario, asked: &TraceRequest, name: &str, form: &mut dyn TraceForm) -> String {
    let mut bytes = Vec::new();
    let mut take = |part: &[u8]| {
        bytes.extend_from_slice(part);
        if bytes.len() > MOST_FILE_BYTES { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let mut on = |_: &RunProgress<'_>| ControlFlow::Continue(());
    let end = if asked.of == TraceOf::Window {
        lanewise_sim::write_trace(scenario, asked, form, &mut take, &mut on)
    } else {
        lanewise_sim::trace(scenario, asked, &mut on).map(|traced| {
            let is_whole = take(&traced.write(form)).is_continue();
            TraceEnd { is_whole, ..traced.end() }
        })
    };
    match end {
        Ok(TraceEnd { is_whole: true, rows, fingerprint, .. }) => {
            stamped(&TraceFile { form: name.to_owned(), rows, fingerprint, base64: base64(&bytes) })
        }
        Ok(_) => wrong_request(&format!(
            "the file has more than {} MiB; ask for less time, fewer links or kinds, or write it with `lanewise trace`",
            MOST_FILE_BYTES >> 20
        )),
        Err(problem) => wrong_request(&problem.to_string()),
    }
}

/// A request in its parts: the scenario, what is asked, the form.
fn read(text: &str) -> Result<(Request, TraceWords, Option<String>), String> {
    let not_understood =
        |error: serde_json::Error| wrong_request(&format!("the request is not understood: {error}"));
    let mut request: Value = serde_json::from_str(text).map_err(not_understood)?;
    let mut words = Map::new();
    let mut form = None;
    if let Some(all) = request.as_object_mut() {
        for name in WORDS {
            words.extend(all.shift_remove(name).map(|value| (name.to_owned(), value)));
        }
        form = all.shift_remove("form");
    }
    let mut words: TraceWords = from_value(words.into()).map_err(not_understood)?;
    words.last = words.last.min(MOST_ROWS);
    let form = form.map(from_value).transpose().map_err(not_understood)?.flatten();
    Ok((Request::read(&request.to_string())?, words, form))
}

/// Base64 with padding (RFC 4648 §4).
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for part in bytes.chunks(3) {
        let of = |at: usize| u32::from(part.get(at).copied().unwrap_or(0));
        let bits = of(0) << 16 | of(1) << 8 | of(2);
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= part.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::{RIG, read};
    use serde_json::json;

    fn traced(more: &Value) -> Value {
        let mut request = json!({ "scenario": RIG, "path": "rig.toml" });
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        read(&trace(&request.to_string()))
    }

    #[test]
    fn rows_of_a_window_come_with_the_directions_of_the_links() {
        let answer = traced(&json!({ "start": "2 us", "span": "500 ns", "kinds": ["tlp"], "last": 3 }));
        assert_eq!(answer["rows"].as_array().unwrap().len(), 3, "{answer}");
        assert!(answer["seen"].as_u64().unwrap() > 3);
        let upstream =
            answer["directions"].as_array().unwrap().iter().find(|each| each["direction"] == "upstream");
        let upstream = upstream.unwrap();
        assert_eq!((&upstream["transmitter"], &upstream["receiver"]), (&json!("nic"), &json!("server")));
        assert_eq!(upstream["mode"], json!("gen3 x8"));
    }

    #[test]
    fn a_request_is_found_again_by_what_its_row_says() {
        let rows = traced(&json!({ "start": "2 us", "span": "500 ns", "kinds": ["tlp"] }));
        for row in rows["rows"].as_array().unwrap() {
            let of = |key: &str| (key.to_owned(), row[key].clone());
            let words = ["requester", "issued_at_ticks", "tag", "address", "length_bytes"].map(of);
            let answer =
                traced(&json!({ "request": Value::Object(words.into_iter().collect()), "span": "1 ms" }));
            let found = &answer["transaction"];
            assert_eq!(found["issued_at_ticks"], row["issued_at_ticks"], "{answer}");
            assert_eq!(found["address"], row["address"]);
            let spans =
                found["stations"].as_array().unwrap().iter().map(|each| each["span_ticks"].as_u64().unwrap());
            assert_eq!(spans.sum::<u64>(), found["latency_ticks"].as_u64().unwrap());
        }
    }

    #[test]
    fn of_two_cards_that_write_to_one_address_at_one_time_it_is_the_one_that_asked() {
        let two = RIG.replace("slot1 = \"gen3 x8\"", "slot1 = \"gen3 x8\", slot2 = \"gen3 x8\"").replace(
            "[[workload]]",
            "[endpoint.other]\nattach = \"server.slot2\"\ngeneration = \"gen1\"\nwidth = \"x1\"\n[[workload]]",
        );
        let two = two + "[[workload]]\nkind = \"dma\"\ndevice = \"other\"\ndirection = \"write\"\n";
        let asked = |more: Value| {
            let mut request = json!({ "scenario": two, "span": "9 us" });
            request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            read(&trace(&request.to_string()))
        };
        let rows = asked(json!({ "kinds": ["tlp"] }));
        let first_of = |name: &str| {
            let rows = rows["rows"].as_array().unwrap_or_else(|| panic!("{rows}"));
            rows.iter().find(|row| row["requester"] == name).unwrap().clone()
        };
        let (nic, other) = (first_of("nic"), first_of("other"));
        assert_eq!(
            (&nic["address"], &nic["issued_at_ticks"]),
            (&other["address"], &other["issued_at_ticks"])
        );
        let latency_of = |row: &Value| {
            let of = |key: &str| (key.to_owned(), row[key].clone());
            let words = ["requester", "issued_at_ticks", "tag", "address", "length_bytes"].map(of);
            let found = asked(json!({ "request": Value::Object(words.into_iter().collect()) }));
            assert_eq!(found["transaction"]["requester"], row["requester"], "{found}");
            found["transaction"]["latency_ticks"].as_u64().unwrap()
        };
        assert!(latency_of(&other) > 2 * latency_of(&nic));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let said = |more| traced(&more)["errors"][0]["message"].as_str().unwrap().to_owned();
        assert!(said(json!({ "start": "2" })).contains("a time with its unit"));
        assert!(said(json!({ "links": ["nik"] })).contains("there are nic"));
        assert!(said(json!({ "kinds": ["tpl"] })).contains("tlp, dllp"));
        assert!(said(json!({ "around": "nothing" })).contains("first-blocked"));
        assert!(said(json!({ "around": "stall", "transaction": "1" })).contains("ask for one"));
        assert!(said(json!({ "form": "pcapng" })).contains("perfetto or jsonl"));
        assert!(said(json!({ "untill": "2 us" })).contains("unknown field"));
    }

    #[test]
    fn a_file_has_the_rows_of_the_window() {
        let window = json!({ "start": "2 us", "span": "500 ns", "kinds": ["tlp"] });
        let rows = traced(&window);
        let mut asked = window;
        asked["form"] = json!("jsonl");
        let file = traced(&asked);
        assert_eq!((&file["rows"], &file["fingerprint"]), (&rows["seen"], &rows["fingerprint"]));
        let first = serde_json::to_string(&rows["rows"][0]).unwrap();
        let begins = base64(&first.as_bytes()[..first.len() / 3 * 3]);
        assert!(file["base64"].as_str().unwrap().starts_with(&begins), "{first}");
    }

    #[test]
    fn base64_is_that_of_the_rfc() {
        // RFC 4648 §10.
        let all = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
        ];
        all.iter().for_each(|(bytes, text)| assert_eq!(base64(bytes.as_bytes()), *text));
    }
}
