//! What may change of a scenario while it runs, and what it is then.
//!
//! A machine that runs does not grow. What was worked out when it was built stays as it was, even where a new run with the new
//! value would be built otherwise: a host whose memory becomes slower keeps its tracking entries, for example.

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::parameter::{InARun, Layer, Origin, ParameterTable, ResolvedParameter, Stays, TableSchema};
use crate::parameters::{FirmwareParameters, LinkParameters, RunParameters};
use crate::problem::Problem;
use crate::resolve::WORKLOAD_KINDS;
use crate::scenario::{Scenario, Source, load};
use crate::structure::{ComponentKind, HostSlotParameters, SlotParameters};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A value that is another one from now on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChangedValue {
    /// Dotted path.
    pub path: String,
    /// As it was.
    pub before: String,
    /// As it is.
    pub after: String,
}

/// A scenario with values that were changed while it runs.
#[derive(Clone, Debug)]
pub struct Changed {
    /// What it is from now on.
    pub scenario: Scenario,
    /// What is different; nothing when the value was that already.
    pub values: Vec<ChangedValue>,
}

/// What a scenario that runs becomes when `path` becomes `value`. `overrides` are those that it began with and all that have been
/// made since; `first` is the scenario as it began, `now` as it is.
///
/// # Errors
/// Problems of the path and the value as [`load`] has them, and `fixed-in-a-run` when it may not change while a run goes on.
pub fn change(
    source: &Source,
    overrides: &[(String, String)],
    (first, now): (&Scenario, &Scenario),
    (path, value): (&str, &str),
) -> Result<Changed, Diagnostics> {
    let mut overrides = overrides.to_vec();
    overrides.push((path.to_owned(), value.to_owned()));
    let mut wanted = load(source, &overrides)?;
    let differing: Vec<(usize, ChangedValue)> = differing(now, &wanted);
    let fixed = differing.iter().find_map(|(index, changed)| match &wanted.parameters[*index] {
        ResolvedParameter {
            origin: Origin::Written(Layer::Override, place),
            in_a_run: InARun::Stays(why),
            ..
        } => Some((changed, *place, why.reason())),
        _ => None,
    });
    if let Some((changed, place, reason)) = fixed {
        let problem = Problem::FixedInARun {
            path: changed.path.clone(),
            found: changed.after.clone(),
            reason: reason.to_owned(),
        };
        let diagnostic = Diagnostic::at(place, problem).hint(what_may_change(&changed.path, now));
        return Err(wanted.refuse(diagnostic));
    }
    let (live, stay): (Vec<_>, Vec<_>) =
        differing.into_iter().partition(|(index, _)| is_live(&wanted.parameters[*index]));
    let Some((index, one)) = live.first() else {
        return Ok(Changed { scenario: now.clone(), values: Vec::new() });
    };
    wanted.fabric = now.fabric.with_live_settings_of(&wanted.fabric);
    let began = now.workloads.iter().zip(&first.workloads);
    let workloads = began.zip(&wanted.workloads);
    wanted.workloads = workloads.map(|((now, first), wanted)| now.retuned(&**wanted, &**first)).collect();
    if is_as(&wanted, now) {
        let ResolvedParameter { origin, in_a_run, .. } = &wanted.parameters[*index];
        let reason = match in_a_run {
            InARun::Live { needs: Some(needs), .. } => format!("that needs {needs}"),
            InARun::Live { needs: None, .. } | InARun::Stays(_) => "nothing in this run uses it".to_owned(),
        };
        let (path, found) = (one.path.clone(), one.after.clone());
        let problem = Problem::FixedInARun { path, found, reason };
        let diagnostic = match origin {
            Origin::Written(Layer::Override, place) => Diagnostic::at(*place, problem),
            _ => Diagnostic::global(problem),
        };
        return Err(wanted.refuse(diagnostic.hint("write it into the scenario, and run that")));
    }
    // What was worked out from it at the start stays.
    let before = by_path(now);
    for (index, changed) in stay {
        if let Some(parameter) = before.get(changed.path.as_str()) {
            wanted.parameters[index].value.clone_from(&parameter.value);
        }
    }
    let values = live.into_iter().map(|(_, changed)| changed).collect();
    Ok(Changed { scenario: wanted, values })
}

/// Why no value may change any more: the run is over.
pub fn over(now: &Scenario, path: &str, value: &str) -> Diagnostics {
    let (path, found) = (path.to_owned(), value.to_owned());
    let problem = Problem::FixedInARun { path, found, reason: "the run is over".to_owned() };
    now.refuse(Diagnostic::global(problem).hint("begin another session"))
}

/// Parameters that are different, by their numbers in `wanted`.
fn differing(now: &Scenario, wanted: &Scenario) -> Vec<(usize, ChangedValue)> {
    let before = by_path(now);
    let value = |(index, after): (usize, &ResolvedParameter)| {
        let before = before.get(after.path.as_str()).map_or("none", |before| before.value.as_str());
        let (path, before, after) = (after.path.clone(), before.to_owned(), after.value.clone());
        (before != after).then_some((index, ChangedValue { path, before, after }))
    };
    wanted.parameters.iter().enumerate().filter_map(value).collect()
}

fn by_path(scenario: &Scenario) -> BTreeMap<&str, &ResolvedParameter> {
    let mut found = BTreeMap::new();
    found.extend(scenario.parameters.iter().map(|parameter| (parameter.path.as_str(), parameter)));
    found
}

/// Whether two scenarios of the same machine have the same settings.
fn is_as(one: &Scenario, other: &Scenario) -> bool {
    one.fabric == other.fabric && one.workloads == other.workloads
}

fn is_live(parameter: &ResolvedParameter) -> bool {
    matches!(parameter.in_a_run, InARun::Live { .. })
}

/// Parameters of the same component or workload that may change instead.
fn what_may_change(path: &str, scenario: &Scenario) -> String {
    let component = path.strip_prefix("workload.").unwrap_or(path);
    let key = component.split_once('.').map_or("", |(_, key)| key);
    let owner = &path[..path.len() - key.len()];
    let beside = scenario.parameters.iter().filter(|parameter| parameter.path.starts_with(owner));
    let (mut freely, mut in_need) = (Vec::new(), Vec::new());
    for one in beside {
        match one.in_a_run {
            InARun::Live { needs: None, .. } => freely.push(one.path.as_str()),
            InARun::Live { needs: Some(_), .. } => in_need.push(one.path.as_str()),
            InARun::Stays(_) => {}
        }
    }
    let mut hint = "write it into the scenario, and run that".to_owned();
    if !freely.is_empty() {
        write!(hint, "; here these may change: {}", freely.join(", ")).expect("text can grow");
    }
    if !in_need.is_empty() {
        let in_need = in_need.join(", ");
        write!(hint, "; and these where the run began with what they need: {in_need}")
            .expect("text can grow");
    }
    hint
}

/// Every table of parameters, with what has it and what its paths begin with behind its name.
fn tables() -> Vec<(String, &'static str, &'static TableSchema)> {
    let mut all = vec![
        ("`run`".to_owned(), "", &RunParameters::SCHEMA),
        ("`firmware`".to_owned(), "", &FirmwareParameters::SCHEMA),
    ];
    all.extend(ComponentKind::ALL.map(|kind| (format!("`{}`", kind.word()), "", kind.schema())));
    all.push(("slot of a host".to_owned(), "", &HostSlotParameters::SCHEMA));
    all.push(("port of a switch".to_owned(), "", &SlotParameters::SCHEMA));
    all.push(("link".to_owned(), "link.", &LinkParameters::SCHEMA));
    all.extend(WORKLOAD_KINDS.iter().map(|kind| (format!("workload `{}`", kind.word), "", kind.table)));
    all
}

/// Calls with the path and the fate of every parameter of a table.
fn each(prefix: &str, table: &'static TableSchema, found: &mut impl FnMut(String, InARun)) {
    for field in table.fields {
        found(format!("{prefix}{}", field.key), field.in_a_run(table));
    }
    table.flattened.iter().for_each(|inner| each(prefix, inner, found));
    table.groups.iter().for_each(|(key, group)| each(&format!("{prefix}{key}."), group, found));
}

/// The reference page: what may change while a run goes on, what may not, and why.
pub fn live_markdown() -> String {
    let mut page = String::from(
        "# What may change while a run goes on\n\n\
         `lanewise.Session.change(path, value)` takes the paths of [scenarios](scenario.md), as `--set` does. Of these, a run that goes on \
         can change the ones below. The new value is checked as in a file, and holds as the table says.\n\n\
         | of | path behind its name | the new value holds for | needs |\n|---|---|---|---|\n",
    );
    let mut stay: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (of, prefix, table) in tables() {
        each(prefix, table, &mut |path, in_a_run| match in_a_run {
            InARun::Live { from, needs } => {
                let needs = needs.unwrap_or_default();
                writeln!(page, "| {of} | `{path}` | {from} | {needs} |").expect("text can grow");
            }
            InARun::Stays(why) => {
                let paths = stay.entry(why.reason()).or_default();
                let path = format!("`{path}`");
                if !paths.contains(&path) {
                    paths.push(path);
                }
            }
        });
    }
    page.push_str(
        "\nEverything else is refused as [`fixed-in-a-run`](problems.md), with what may change beside it:\n\n\
         | path behind the name | stays because |\n|---|---|\n",
    );
    for why in Stays::ALL {
        let paths = match why {
            Stays::Run => "any of `run` and `firmware`".to_owned(),
            Stays::Workload => "any other of a workload".to_owned(),
            Stays::Built => "any other of a component".to_owned(),
            Stays::Training | Stays::Buffers | Stays::Table => stay[why.reason()].join(", "),
        };
        writeln!(page, "| {paths} | {} |", why.reason()).expect("text can grow");
    }
    page.push_str(
        "\nA machine that runs does not grow. What Lanewise worked out from a value when the run began stays as it was: a host whose \
         `memory_latency` changes keeps its tracking entries, though a new run would have more or fewer.\n\n\
         A value that it has already changes nothing. Any other change is in the results, under `changes`, with its time, and the \
         `fingerprint` covers it: it is that of the packets plus a hash of the time, path and value of each change. So the same \
         scenario, seed, version and changes give the same fingerprint, and a run without changes has the one it always had. After a \
         change the confidence interval is begun anew, and `phases` says what each flow moved before and after it.\n",
    );
    page
}
