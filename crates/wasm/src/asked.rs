//! The verbs by name: for a host that links this crate, and passes on what a page asks for.

use crate::answer::wrong_request;
use crate::session::Sessions;
use crate::{door, traced};

/// The door with its sessions. Each asker has one of its own, and knows nothing of others.
#[derive(Default)]
pub struct Door {
    sessions: Sessions,
}

impl Door {
    /// Answers a request as the exported function `lanewise_VERB` would; `request` is empty for verbs that take none.
    pub fn ask(&mut self, verb: &str, request: &str) -> String {
        match verb {
            "run" => door::run(request),
            "explain" => door::explain(request),
            "check" => door::check(request),
            "trace" => traced::trace(request),
            "benchmark" => door::benchmark(request),
            "ladder" => door::ladder(request),
            "wire" => door::wire(request),
            "parts" => door::parts(),
            "scenario_schema" => door::scenario_schema(),
            "version" => door::version(),
            "session_new" => self.sessions.open(request),
            "session_step" => self.sessions.step(request),
            "session_state" => self.sessions.state(request),
            "session_results" => self.sessions.results(request),
            "session_change" => self.sessions.change(request),
            "session_close" => self.sessions.close(request),
            _ => wrong_request(&format!("there is no verb {verb:?}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::{RIG, read};
    use serde_json::json;

    #[test]
    fn verbs_by_name_are_the_exported_functions() {
        let exported = include_str!("abi.rs").lines().filter_map(|line| {
            let (name, _) = line.split_once("extern \"C\" fn lanewise_")?.1.split_once('(')?;
            (!["alloc", "free", "fault"].contains(&name)).then_some(name)
        });
        let mut exported: Vec<&str> = exported.collect();
        let arms = include_str!("asked.rs").split_once("match verb {").expect("it chooses by name").1;
        let (arms, _) = arms.split_once("_ => wrong_request").expect("other names are refused");
        let named = arms.lines().filter_map(|line| Some(line.trim().strip_prefix('"')?.split_once('"')?.0));
        let mut named: Vec<&str> = named.collect();
        exported.sort_unstable();
        named.sort_unstable();
        assert_eq!(named, exported);
        assert!(exported.contains(&"session_step"), "{exported:?}");
    }

    #[test]
    fn a_verb_is_asked_for_by_name() {
        let mut door = Door::default();
        let request = json!({ "scenario": RIG }).to_string();
        assert_eq!(door.ask("explain", &request), door::explain(&request));
        assert_eq!(read(&door.ask("session_new", &request))["session"], json!(1));
        assert_eq!(read(&door.ask("session_step", r#"{"session": 1, "events": 9}"#))["events"], json!(9));
        assert_eq!(read(&Door::default().ask("session_close", r#"{"session": 1}"#))["closed"], json!(false));
        assert_eq!(
            read(&door.ask("format_disk", ""))["errors"][0]["message"],
            json!("there is no verb \"format_disk\"")
        );
    }
}
