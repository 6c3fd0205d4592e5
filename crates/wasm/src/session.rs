//! Sessions: runs that stop, are looked into, changed, and go on. A host names one by its number.

use crate::answer::{mistakes, stamped, wrong_request};
use crate::door::Request;
use lanewise_sim::{Ends, Session, Status, span_from_text};
use lanewise_units::{Few, Time};
use serde::Deserialize;
use serde_json::{Value, json};

/// The sessions of a host.
#[derive(Default)]
pub struct Sessions {
    open: Few<u32, Session<'static>>,
    opened: u32,
}

/// Which session.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Which {
    session: u32,
}

/// How far a session is to go: for so long, for so many events at most, or to its end.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    session: u32,
    span: Option<String>,
    events: Option<u64>,
}

/// What is to change from now on.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    session: u32,
    path: String,
    value: String,
}

impl Sessions {
    /// Puts the scenario of a request at rest at its start, and answers with the number of the session. With `ends_when_narrow` it ends
    /// when its results are narrow enough, as a run does; without, at its limits.
    pub fn open(&mut self, request: &str) -> String {
        let (request, ends) = match narrow(request) {
            Ok(read) => read,
            Err(answer) => return answer,
        };
        match request.session(ends) {
            Ok(session) => {
                self.opened += 1;
                self.open.insert(self.opened, session);
                stamped(&json!({ "session": self.opened }))
            }
            Err(diagnostics) => mistakes(&diagnostics),
        }
    }

    /// Goes on, and answers with how far it came, and whether it is over.
    pub fn step(&mut self, request: &str) -> String {
        self.asked(
            request,
            |step: &Step| step.session,
            |session, step| {
                let span = match step.span.as_deref().map(|text| span_from_text(text).ok_or(text)) {
                    Some(Err(text)) => {
                        return wrong_request(&format!(
                            "`span` is {text:?}; it is a time with its unit, such as \"250 us\""
                        ));
                    }
                    Some(Ok(span)) => Some(span),
                    None => None,
                };
                let now = session.now();
                let until = span.map_or(Time::NEVER, |span| now + span.min(Time::NEVER - now));
                let status = session.advance(until, step.events.unwrap_or(u64::MAX));
                stamped(&json!({
                    "over": status == Status::Over,
                    "now_s": (session.now() - Time::ZERO).as_seconds(),
                    "events": session.events(),
                    "end_reason": session.end_reason().map(lanewise_sim::EndReason::name),
                    "fingerprint": format!("{:016x}", session.fingerprint()),
                }))
            },
        )
    }

    /// What is there now, and what has happened since the last call.
    pub fn state(&mut self, request: &str) -> String {
        self.asked(request, |which: &Which| which.session, |session, _| stamped(&session.state()))
    }

    /// Results so far, as those of a run.
    pub fn results(&mut self, request: &str) -> String {
        self.asked(request, |which: &Which| which.session, |session, _| stamped(&session.results()))
    }

    /// Changes a parameter from now on, and answers with what became another value.
    pub fn change(&mut self, request: &str) -> String {
        self.asked(
            request,
            |change: &Change| change.session,
            |session, change| match session.change(&change.path, &change.value) {
                Ok(changed) => stamped(&json!({ "changed": changed })),
                Err(diagnostics) => mistakes(&diagnostics),
            },
        )
    }

    /// Forgets a session.
    pub fn close(&mut self, request: &str) -> String {
        let closed: Option<u32> = serde_json::from_str(request).ok().map(|which: Which| which.session);
        let known = closed.and_then(|session| self.open.remove(session)).is_some();
        stamped(&json!({ "closed": known }))
    }

    fn asked<T: serde::de::DeserializeOwned>(
        &mut self,
        request: &str,
        which: impl Fn(&T) -> u32,
        answer: impl FnOnce(&mut Session<'static>, T) -> String,
    ) -> String {
        let request: T = match serde_json::from_str(request) {
            Ok(request) => request,
            Err(error) => return wrong_request(&format!("the request is not understood: {error}")),
        };
        match self.open.get_mut(which(&request)) {
            Some(session) => answer(session, request),
            None => wrong_request(&format!("there is no session {}", which(&request))),
        }
    }
}

/// A request for a session: that for a run, and when it ends.
fn narrow(text: &str) -> Result<(Request, Ends), String> {
    let mut request: Value = serde_json::from_str(text).unwrap_or_default();
    let given = request.as_object_mut().and_then(|request| request.remove("ends_when_narrow"));
    let ends = match given {
        None | Some(Value::Bool(false)) => Ends::AtItsLimits,
        Some(Value::Bool(true)) => Ends::WhenNarrow,
        Some(other) => {
            return Err(wrong_request(&format!("`ends_when_narrow` is {other}, not true or false")));
        }
    };
    Ok((Request::read(&request.to_string())?, ends))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::{RIG, read};

    #[test]
    fn a_session_has_a_number_until_it_is_closed() {
        let mut sessions = Sessions::default();
        let opened: Vec<Value> =
            (0..2).map(|_| read(&sessions.open(&json!({ "scenario": RIG }).to_string()))).collect();
        assert_eq!((&opened[0]["session"], &opened[1]["session"]), (&json!(1), &json!(2)));
        let stepped = read(&sessions.step(r#"{"session": 2, "span": "20 us"}"#));
        assert_eq!((&stepped["over"], &stepped["now_s"]), (&json!(false), &json!(2e-5)));
        assert_eq!(read(&sessions.state(r#"{"session": 1}"#))["events"], json!(0));
        assert_eq!(read(&sessions.close(r#"{"session": 1}"#))["closed"], json!(true));
        assert_eq!(
            read(&sessions.state(r#"{"session": 1}"#))["errors"][0]["message"],
            json!("there is no session 1")
        );
    }

    #[test]
    fn what_is_wrong_with_a_request_is_said() {
        let mut sessions = Sessions::default();
        assert_eq!(read(&sessions.open(r#"{"scenario": "[host"}"#))["status"], json!(2));
        sessions.open(&json!({ "scenario": RIG }).to_string());
        let said = |answer: String| read(&answer)["errors"][0]["message"].as_str().unwrap().to_owned();
        assert!(said(sessions.step(r#"{"session": 1, "span": "5"}"#)).contains("a time with its unit"));
        assert!(said(sessions.step(r#"{"session": 1, "until": "5 us"}"#)).contains("unknown field"));
        assert!(
            said(sessions.change(r#"{"session": 1, "path": "nic.mps", "value": "128 B"}"#))
                .contains("nic.mps")
        );
    }
}
