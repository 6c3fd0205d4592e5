//! The verbs: what a request means, and what answers it.

use crate::answer::{mistakes, stamped, wrong_request};
use lanewise_scenario::{Catalog, Scenario, Source, SourceFile, catalog};
use lanewise_sim::{Diagnostics, Ends, Session, SteadyPackets, SteadyWrites, carried, rungs};
use lanewise_units::Bytes;
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// The most that `run.memory_limit` may be here: 1 GiB.
///
/// WebAssembly's memory ends at 4 GiB, and pages get less; the limit counts what is under way and not results. Assumed.
pub const MEMORY_LIMIT: Bytes = Bytes::from_kib(1 << 20);

/// A scenario and how to take it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Request {
    /// Text of the scenario.
    scenario: String,
    /// What messages call it.
    #[serde(default = "unnamed")]
    path: String,
    /// Pairs of a path, as `explain` prints it, and a value.
    #[serde(default)]
    overrides: Vec<(String, String)>,
    /// Parts besides those of the catalog, or in their place: name, and text as in a file of the catalog.
    #[serde(default)]
    parts: BTreeMap<String, String>,
}

fn unnamed() -> String {
    "<text>".to_owned()
}

/// Resolves a scenario, runs it, and answers with what `lanewise run --json` prints.
pub fn run(request: &str) -> String {
    let request = match Request::read(request) {
        Ok(request) => request,
        Err(answer) => return answer,
    };
    let scenario = match request.bounded() {
        Ok(scenario) => scenario,
        Err(diagnostics) => return mistakes(&diagnostics),
    };
    match lanewise_sim::run(&scenario, &mut |_| ControlFlow::Continue(())) {
        Ok(results) => stamped(&results),
        Err(problem) => wrong_request(&problem.to_string()),
    }
}

/// Resolves a scenario and answers with what `lanewise explain --json` prints.
pub fn explain(request: &str) -> String {
    match Request::read(request).map(|request| request.load(&[])) {
        Ok(Ok(scenario)) => stamped(&scenario.into_explanation()),
        Ok(Err(diagnostics)) => mistakes(&diagnostics),
        Err(answer) => answer,
    }
}

/// Resolves a scenario and answers with its mistakes (`errors`, each with line and column, and all of them as text in `report`)
/// and with what it states in vain (`remarks`). Mistakes are what was asked for, so the answer has no status.
pub fn check(request: &str) -> String {
    let (diagnostics, remarks) = match Request::read(request).map(|request| request.load(&[])) {
        Ok(Ok(scenario)) => (None, scenario.remarks),
        Ok(Err(diagnostics)) => (Some(diagnostics), Vec::new()),
        Err(answer) => return answer,
    };
    let records = diagnostics.as_ref().map_or(Vec::new(), Diagnostics::records);
    let report = diagnostics.map_or(String::new(), |diagnostics| diagnostics.to_string());
    stamped(&json!({ "errors": records, "report": report, "remarks": remarks }))
}

/// The catalog, as `lanewise parts --json` prints it.
pub fn parts() -> String {
    match catalog().parts() {
        Ok(parts) => stamped(&parts),
        Err(diagnostics) => mistakes(&diagnostics),
    }
}

/// The JSON Schema of scenario files, as it is: without a format.
pub fn scenario_schema() -> String {
    lanewise_scenario::schema().to_string()
}

/// The scenario of a benchmark of `lanewise bench`, for a host that has a clock: the request is its name.
pub fn benchmark(name: &str) -> String {
    match lanewise_sim::bench::scenario_text(name) {
        Some(scenario) => stamped(&json!({ "name": name, "scenario": scenario })),
        None => wrong_request(&format!(
            "no benchmark `{name}`; there are {}",
            lanewise_sim::bench::NAMES.join(", ")
        )),
    }
}

/// The rungs of a link that sends writes back to back, as they are: without a format. The request says which link.
pub fn ladder(request: &str) -> String {
    let link: SteadyWrites = match serde_json::from_str(request) {
        Ok(link) => link,
        Err(error) => return wrong_request(&format!("the request is not understood: {error}")),
    };
    match rungs(&link) {
        Ok(found) => json!(found).to_string(),
        Err(odd) => wrong_request(&odd.to_string()),
    }
}

/// What the wire behind a network adapter carries of packets of one size, as it is: without a format. The request says which packets.
pub fn wire(request: &str) -> String {
    let packets: SteadyPackets = match serde_json::from_str(request) {
        Ok(packets) => packets,
        Err(error) => return wrong_request(&format!("the request is not understood: {error}")),
    };
    match carried(&packets) {
        Ok(found) => json!(found).to_string(),
        Err(odd) => wrong_request(&odd.to_string()),
    }
}

/// Version of the simulator.
pub fn version() -> String {
    stamped(&json!({ "lanewise_version": env!("CARGO_PKG_VERSION") }))
}

fn limited() -> (String, String) {
    ("run.memory_limit".to_owned(), MEMORY_LIMIT.to_string())
}

impl Request {
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        serde_json::from_str(text)
            .map_err(|error| wrong_request(&format!("the request is not understood: {error}")))
    }

    fn catalog(&self) -> Catalog {
        let mut all = catalog();
        for (name, text) in &self.parts {
            all.add(name, SourceFile::new(format!("{name}.toml"), text.as_str()));
        }
        all
    }

    fn load(&self, further: &[(String, String)]) -> Result<Scenario, Diagnostics> {
        lanewise_sim::load(&self.source(), &[self.overrides.as_slice(), further].concat())
    }

    /// A session on it, with no more memory than there may be.
    pub(crate) fn session(&self, ends: Ends) -> Result<Session<'static>, Diagnostics> {
        let mut overrides = self.overrides.clone();
        if self.load(&[])?.run.memory_limit > MEMORY_LIMIT {
            overrides.push(limited());
        }
        Session::load(self.source(), &overrides, ends)
    }

    fn source(&self) -> Source {
        Source::from_text(self.path.as_str(), self.scenario.as_str()).with_catalog(self.catalog())
    }

    /// The scenario with no more memory than there may be; what does not fit is refused as with a limit of its own.
    pub(crate) fn bounded(&self) -> Result<Scenario, Diagnostics> {
        let mut scenario = self.load(&[])?;
        if scenario.run.memory_limit > MEMORY_LIMIT {
            scenario.run.memory_limit = MEMORY_LIMIT;
            if !scenario.fits_memory() {
                return self.load(&[limited()]);
            }
        }
        Ok(scenario)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::{RIG, read};
    use serde_json::Value;

    fn answer(verb: fn(&str) -> String, request: &Value) -> Value {
        read(&verb(&request.to_string()))
    }

    #[test]
    fn a_run_answers_with_results_under_their_format() {
        let answer = answer(run, &json!({ "scenario": RIG, "path": "rig.toml" }));
        assert_eq!((&answer["format"], &answer["scenario_path"]), (&json!(1), &json!("rig.toml")));
        assert!(answer["flows"][0]["goodput_gb_per_s"].as_f64().unwrap() > 6.5, "{answer}");
        assert!(answer.get("status").is_none());
    }

    #[test]
    fn mistakes_have_places_and_end_a_run_with_status_2() {
        let request = json!({ "scenario": format!("{RIG}sise = \"4 KiB\"\n"), "path": "rig.toml" });
        let checked = answer(check, &request);
        let mistake = &checked["errors"][0];
        assert_eq!(
            (&mistake["code"], &mistake["line"], &mistake["column"]),
            (&json!("unknown-key"), &json!(12), &json!(1))
        );
        assert!(
            checked["report"].as_str().unwrap().contains("rig.toml:12:1") && checked.get("status").is_none()
        );
        let ran = answer(run, &request);
        assert_eq!(
            (&ran["status"], &ran["errors"], &ran["report"]),
            (&json!(2), &checked["errors"], &checked["report"])
        );
    }

    #[test]
    fn a_sound_scenario_has_no_mistakes_and_may_have_remarks() {
        let clean = answer(check, &json!({ "scenario": RIG }));
        assert_eq!(
            (&clean["errors"], &clean["remarks"], &clean["report"]),
            (&json!([]), &json!([]), &json!(""))
        );
        let idle = format!("{RIG}[host.server.memory]\ninterleave = \"512 B\"\n");
        let remarked = answer(check, &json!({ "scenario": idle }));
        assert_eq!(remarked["errors"], json!([]), "{remarked}");
        assert_eq!(remarked["remarks"][0]["path"], json!("server.memory.interleave"));
    }

    #[test]
    fn overrides_and_parts_of_a_request_count() {
        let part = "title = \"A card\"\nkind = \"endpoint\"\n[parameters]\ngeneration = { value = \"gen1\", provenance = \"assumed\", source = \"test\" }\n";
        let scenario = RIG.replace("generation = \"gen3\"", "part = \"mine\"");
        let request =
            json!({ "scenario": scenario, "parts": { "mine": part }, "overrides": [["run.seed", "7"]] });
        let explained = answer(explain, &request);
        let value = |path: &str| {
            let all = explained["parameters"].as_array().unwrap_or_else(|| panic!("{explained}"));
            all.iter().find(|each| each["path"] == path).map(|each| each["value"].clone())
        };
        assert_eq!((value("nic.generation"), value("run.seed")), (Some(json!("gen1")), Some(json!("7"))));
    }

    #[test]
    fn a_request_that_is_none_is_refused() {
        for request in ["", "[]", "{}", "{\"scenario\": 1}", "{\"scenario\": \"\", \"sead\": 1}"] {
            let answer = read(&run(request));
            assert_eq!(
                (&answer["status"], &answer["errors"][0]["code"]),
                (&json!(2), &json!("wrong-input")),
                "{request}"
            );
        }
    }

    #[test]
    fn a_run_gets_no_more_memory_than_there_may_be() {
        let bounded = |text: String| {
            let request: Request = serde_json::from_value(json!({ "scenario": text })).unwrap();
            request.bounded().map(|scenario| scenario.run.memory_limit).map_err(|problems| problems.codes())
        };
        assert_eq!(bounded(RIG.to_owned()), Ok(MEMORY_LIMIT));
        assert_eq!(
            bounded(format!("{RIG}[run]\nmemory_limit = \"64 MiB\"\n")),
            Ok(Bytes::from_kib(64 << 10))
        );
        // 41 times 65,536 operations of 512 B: more than 1 GiB, less than a run may take elsewhere.
        let another = |n: u32| {
            let kind = "kind = \"dma\"\ndevice = \"nic\"\ndirection = \"write\"";
            format!("[[workload]]\n{kind}\nname = \"more{n}\"\noutstanding = 65536\n")
        };
        let many: String = (0..40).map(another).collect();
        assert_eq!(bounded(format!("{RIG}{many}")), Err(vec!["too-much-memory"]));
    }

    #[test]
    fn a_benchmark_is_a_scenario_that_can_be_run() {
        let chain: Value = serde_json::from_str(&benchmark("chain")).unwrap();
        assert_eq!(answer(check, &json!({ "scenario": chain["scenario"] }))["errors"], json!([]));
        assert!(benchmark("chains").contains("there are chain, mixed"));
    }

    #[test]
    fn rungs_of_a_link_are_answered_and_an_odd_link_is_refused() {
        let link =
            json!({ "generation": 3, "lanes": 8, "payload_bytes": 256, "header_dwords": 3, "ecrc": false });
        assert_eq!(answer(ladder, &link)["line_rate_gbit_per_s"], json!(64.0));
        for (key, value) in [("lanes", json!(3)), ("width", json!(8)), ("ecrc", json!("no"))] {
            let mut odd = link.clone();
            odd[key] = value;
            assert_eq!(answer(ladder, &odd)["status"], json!(2), "{odd}");
        }
    }

    #[test]
    fn what_a_wire_carries_is_answered_and_odd_packets_are_refused() {
        let writes = json!({ "kind": "roce_writes", "size_bytes": 64, "mtu_bytes": 4096 });
        assert_eq!(answer(wire, &writes), json!({ "fraction": 64.0 / 162.0 }));
        for (key, value) in [("mtu_bytes", json!(3)), ("lanes", json!(8)), ("kind", json!("token_ring"))] {
            let mut odd = writes.clone();
            odd[key] = value;
            assert_eq!(answer(wire, &odd)["status"], json!(2), "{odd}");
        }
    }

    #[test]
    fn the_catalog_is_listed_and_the_schema_is_one() {
        let listed: Value = serde_json::from_str(&parts()).unwrap();
        assert!(listed["parts"].as_array().unwrap().len() >= 10);
        let schema: Value = serde_json::from_str(&scenario_schema()).unwrap();
        assert!(schema["$schema"].is_string());
    }
}
