//! What is asked of a trace, in the words of a caller: names of links and kinds, times with their unit.

use super::{TraceOf, TraceRequest, TraceRow, around_name, link_names};
use lanewise_observe::{Around, TraceKind};
use lanewise_scenario::{Scenario, span_from_text};
use lanewise_units::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What is asked of a trace.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TraceWords {
    /// From then on, after the start of the run: a time with its unit.
    pub start: String,
    /// For so long; around something, from so long before: a time with its unit.
    pub span: String,
    /// Names of links; all when empty.
    pub links: Vec<String>,
    /// `tlp`, `dllp`, `skp`, `flit`, `blocked`, `queued` and `error`; all but `queued` when empty.
    pub kinds: Vec<String>,
    /// The last so many rows are kept.
    pub last: usize,
    /// `worst-latency`, `stall`, `replay` or `first-blocked`.
    pub around: Option<String>,
    /// `worst-latency`, or a number from 1 on: the request that is complete after so many less one.
    pub transaction: Option<String>,
    /// One request, by what the row of a TLP of it says, looked for from its issue on, for `span`.
    pub request: Option<TracedRequest>,
}

/// What the row of a TLP says of the request that it is of.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TracedRequest {
    /// Device that asked.
    pub requester: String,
    /// When it was issued; ticks of 2⁻¹⁰ ps.
    pub issued_at_ticks: u64,
    /// Number of its tag among its requester's; none for a posted request.
    pub tag: Option<u16>,
    /// Address of the first byte of the TLP, hexadecimal.
    pub address: String,
    /// Bytes that the TLP carries or asks for.
    pub length_bytes: u16,
}

/// What is wrong with the words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WrongWords {
    /// A value that does not mean anything.
    Value {
        /// Of what.
        name: &'static str,
        /// The value.
        found: String,
        /// What would.
        allowed: String,
    },
    /// A name that nothing has, or two views at once: the sentence about it.
    Other(String),
}

impl fmt::Display for WrongWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value { name, found, allowed } => write!(f, "{name} is {found:?}; allowed is {allowed}"),
            Self::Other(sentence) => f.write_str(sentence),
        }
    }
}

impl Default for TraceWords {
    fn default() -> Self {
        Self {
            start: "0 ns".to_owned(),
            span: "5 us".to_owned(),
            links: Vec::new(),
            kinds: Vec::new(),
            last: 100_000,
            around: None,
            transaction: None,
            request: None,
        }
    }
}

impl TraceWords {
    /// What is meant, of a scenario.
    ///
    /// # Errors
    /// A time without a unit; a link, a kind or a view that is none; two views.
    pub fn of(&self, scenario: &Scenario) -> Result<TraceRequest, WrongWords> {
        let of = self.view(scenario)?;
        let from = match of {
            TraceOf::Request { issued_at, .. } => issued_at,
            _ => time("start", &self.start)?,
        };
        Ok(TraceRequest {
            from,
            span: time("span", &self.span)?,
            links: self.known_links(scenario)?,
            kinds: self.kinds.iter().map(|name| kind(name)).collect::<Result<_, _>>()?,
            most: self.last.max(1),
            of,
        })
    }

    fn view(&self, scenario: &Scenario) -> Result<TraceOf, WrongWords> {
        match (&self.around, &self.transaction, &self.request) {
            (None, None, None) => Ok(TraceOf::Window),
            (Some(name), None, None) => {
                let all = [Around::WorstLatency, Around::Stall, Around::Replay, Around::FirstBlocked];
                let found = all.into_iter().find(|around| around_name(*around) == name);
                let names = all.map(around_name).join(", ");
                found.map(TraceOf::Around).ok_or_else(|| wrong("around", name, format!("one of {names}")))
            }
            (None, Some(word), None) if word == "worst-latency" => {
                Ok(TraceOf::Transaction(Around::WorstLatency))
            }
            (None, Some(number), None) => match number.parse() {
                Ok(number) if number > 0 => Ok(TraceOf::Transaction(Around::Request(number))),
                _ => Err(wrong("transaction", number, "a number from 1 on, or worst-latency".to_owned())),
            },
            (None, None, Some(words)) => words.of(scenario),
            _ => Err(WrongWords::Other("around and transaction are two views: ask for one".to_owned())),
        }
    }

    fn known_links(&self, scenario: &Scenario) -> Result<Vec<String>, WrongWords> {
        let known = link_names(scenario);
        match self.links.iter().find(|link| !known.contains(&link.as_str())) {
            None => Ok(self.links.clone()),
            Some(unknown) => Err(WrongWords::Other(format!(
                "no link is called '{unknown}'; there are {}",
                known.join(", ")
            ))),
        }
    }
}

impl TraceRow {
    /// The request that it is a TLP of.
    pub fn request(&self) -> Option<TracedRequest> {
        (self.kind == "tlp").then_some(())?;
        Some(TracedRequest {
            requester: self.requester.clone()?,
            issued_at_ticks: self.issued_at_ticks?,
            tag: self.tag,
            address: self.address.clone()?,
            length_bytes: self.length_bytes?,
        })
    }
}

impl TracedRequest {
    fn of(&self, scenario: &Scenario) -> Result<TraceOf, WrongWords> {
        let address = self.address.strip_prefix("0x").unwrap_or(&self.address);
        let address = u64::from_str_radix(address, 16)
            .map_err(|_| wrong("address", &self.address, "a hexadecimal number".to_owned()))?;
        let device = scenario.fabric.devices.iter().position(|device| device.name == self.requester);
        Ok(TraceOf::Request {
            device: device.unwrap_or(usize::MAX),
            issued_at: Span::from_ticks(self.issued_at_ticks),
            tag: self.tag,
            address,
            length: self.length_bytes,
        })
    }
}

fn wrong(name: &'static str, found: &str, allowed: String) -> WrongWords {
    WrongWords::Value { name, found: found.to_owned(), allowed }
}

fn time(name: &'static str, text: &str) -> Result<Span, WrongWords> {
    span_from_text(text).ok_or_else(|| wrong(name, text, "a time with its unit, such as '250 us'".to_owned()))
}

fn kind(name: &str) -> Result<TraceKind, WrongWords> {
    let found = TraceKind::ALL.into_iter().find(|kind| kind.name() == name);
    found.ok_or_else(|| {
        let names = TraceKind::ALL.map(TraceKind::name).join(", ");
        WrongWords::Other(format!("no kind is called '{name}'; there are {names}"))
    })
}
