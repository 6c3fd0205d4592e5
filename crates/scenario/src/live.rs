//! What may change of a scenario while it runs, and what it is then.
//!
//! A machine that runs does not grow. What was worked out when it was built stays as it was, even where a new run with the new
//! value would be built otherwise: a host whose memory becomes slower keeps its tracking entries, for example.

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::parameter::{Layer, Origin, ResolvedParameter};
use crate::problem::Problem;
use crate::scenario::{Scenario, Source, load};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A parameter that may change while a run goes on.
struct Live {
    /// Its path behind the name of its component; behind `workload.NAME` for one of a workload.
    key: &'static str,
    /// What has it, for the reference.
    of: &'static str,
    /// From when on the new value holds.
    from: &'static str,
    /// What there has to be at the start; empty where nothing has.
    needs: &'static str,
}

macro_rules! live {
    ($($of:literal: { $($key:literal $from:literal $needs:literal;)+ })+) => {
        &[$($(Live { key: $key, of: $of, from: $from, needs: $needs },)+)+]
    };
}

/// Every parameter that may change, by what has it.
const LIVE: &[Live] = live! {
    "host": {
        "memory_latency" "reads that begin from then on" "";
        "memory_latency_jitter" "reads that begin from then on" "";
        "memory_bandwidth" "accesses from then on; what is booked stays" "";
        "read_bandwidth" "reads that begin from then on; what is booked stays" "";
        "write_bandwidth" "writes that arrive from then on; what is booked stays" "";
        "write_overhead" "writes that arrive from then on" "";
        "write_latency" "writes that arrive from then on" "";
        "core_latency" "loads and stores that begin from then on" "";
        "peer.latency" "packets between root ports that arrive from then on" "";
        "peer.rate" "packets between root ports that arrive from then on" "a rate at the start";
        "stack.read_bandwidth" "reads that begin from then on; what is booked stays" "a rate at the start";
        "stack.write_bandwidth" "writes that arrive from then on; what is booked stays" "a rate at the start";
        "llc.latency" "reads that begin from then on" "a last-level cache";
        "llc.read_bandwidth" "reads that begin from then on; what is booked stays" "a last-level cache with a rate at the start";
    }
    "switch": {
        "latency" "packets that are sent to the switch from then on" "";
    }
    "endpoint": {
        "mmio_read_latency" "loads that arrive from then on" "";
        "memory_read_latency" "reads of its memory that arrive from then on" "";
        "memory_read_rate" "reads of its memory that arrive from then on" "a rate at the start";
        "request_interval" "requests from the next but one on" "";
        "write_drain" "writes that arrive from then on; what is booked stays" "";
        "read_interval" "requests from the next but one on" "a pace, path or tag hold of the device at the start";
        "write_interval" "requests from the next but one on" "a pace, path or tag hold of the device at the start";
        "path_rate" "data that enter the path from then on" "a rate at the start";
        "path_latency" "data that enter the path from then on" "a pace, path or tag hold of the device at the start";
    }
    "endpoint with `nvme`": {
        "nvme.command_time" "commands that are fetched from then on" "a job on the drive";
        "nvme.sector_time" "commands that are fetched from then on" "a job on the drive";
        "nvme.command_latency" "commands that are fetched from then on" "a job on the drive";
        "nvme.read_rate" "units that enter the data path from then on" "a job on the drive";
        "nvme.write_rate" "pieces that begin to drain from then on" "a job on the drive";
        "nvme.random_write_rate" "pieces that begin to drain from then on" "a job on the drive";
        "nvme.read_time" "pieces that are asked of the dies from then on" "a job on the drive";
        "nvme.hit_time" "pieces that are found read ahead from then on" "a job on the drive";
        "nvme.write_time" "writes whose last byte arrives from then on" "a job on the drive";
    }
    "storage": {
        "read_rate" "the next frame between media and buffer" "workers on the drive";
        "write_rate" "the next frame between media and buffer" "workers on the drive";
        "read_overhead" "the next command" "workers on the drive";
        "write_overhead" "the next command" "workers on the drive";
        "turnaround" "the next command" "workers on the drive";
        "positioning" "the next command" "workers on the drive";
    }
    "link": {
        "link.bit_error_rate_upstream" "the next TLP or DLLP, or flit" "bit errors from the start, however rare, and not none now";
        "link.bit_error_rate_downstream" "the next TLP or DLLP, or flit" "bit errors from the start, however rare, and not none now";
    }
    "workload `dma`": {
        "size" "the next operation" "";
        "outstanding" "at once where there are more, as operations end where there are fewer" "";
        "stride" "the next operation" "";
        "span" "the next operation" "";
    }
    "workload `fio`": {
        "bs" "the next I/O" "blocks no larger than the largest at the start, for which the buffers are";
        "bs_write" "the next I/O" "blocks no larger than the largest at the start, for which the buffers are";
        "rwmixread" "the next I/O" "a mix from the start that has both ways, and keeps both";
        "iodepth" "at once where there are more, as I/Os end where there are fewer" "an asynchronous engine";
        "rate" "the next I/O" "a rate at the start";
        "rate_iops" "the next I/O" "a rate at the start";
        "thinktime" "the next pause" "pauses from the start";
        "thinktime_blocks" "the next pause" "pauses from the start";
    }
};

/// Why what is not in [`LIVE`] stays: words in its path, and the reason.
const FIXED: &[(&[&str], &str)] = &[
    (&["run.", "firmware."], "all of the run so far was made with it"),
    (
        &[
            "generation",
            "width",
            "slots",
            "ports.",
            "flit_mode",
            "lanes",
            "force_",
            "clocking",
            "aspm",
            ".link",
        ],
        "link training agreed on it, and a link trains again only when nothing is under way on it",
    ),
    (
        &["credits", "buffer", "scale", "mps", "mrrs", "queue"],
        "buffers were built and announced for it, and packets are in them",
    ),
    (
        &[
            "tags", "tag_", "trackers", "entries", "ways", "walkers", "banks", "channels", "dies", "streams",
            "cores", "iommu",
        ],
        "it is the size of a table that is in use",
    ),
    (&["workload."], "the workload began with it, and what it has under way was made for it"),
    (&[""], "the machine was built with it"),
];

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
    let asked =
        |parameter: &ResolvedParameter| matches!(parameter.origin, Origin::Written(Layer::Override, _));
    let mut fixed = differing
        .iter()
        .filter(|(index, changed)| asked(&wanted.parameters[*index]) && live(&changed.path).is_none());
    if let Some((index, changed)) = fixed.next() {
        let Origin::Written(_, place) = wanted.parameters[*index].origin else {
            unreachable!("it was asked")
        };
        let problem = Problem::FixedInARun {
            path: changed.path.clone(),
            found: changed.after.clone(),
            reason: why_fixed(&changed.path).to_owned(),
        };
        let diagnostic = Diagnostic::at(place, problem).maybe_hint(what_may_change(&changed.path, now));
        return Err(wanted.refuse(diagnostic));
    }
    let values: Vec<ChangedValue> = differing
        .iter()
        .filter(|(_, changed)| live(&changed.path).is_some())
        .map(|(_, changed)| changed.clone())
        .collect();
    let Some(one) = values.first() else { return Ok(Changed { scenario: now.clone(), values }) };
    wanted.fabric = now.fabric.with_live_settings_of(&wanted.fabric);
    let began = now.workloads.iter().zip(&first.workloads);
    let workloads = began.zip(&wanted.workloads);
    wanted.workloads = workloads.map(|((now, first), wanted)| now.retuned(&**wanted, &**first)).collect();
    if is_as(&wanted, now) {
        let needs = live(&one.path).map_or("", |live| live.needs);
        let reason = match needs {
            "" => "nothing in this run uses it".to_owned(),
            needs => format!("that needs {needs}"),
        };
        let (path, found) = (one.path.clone(), one.after.clone());
        let place = differing.iter().find_map(|(index, _)| match wanted.parameters[*index].origin {
            Origin::Written(Layer::Override, place) => Some(place),
            _ => None,
        });
        let problem = Problem::FixedInARun { path, found, reason };
        let diagnostic = match place {
            Some(place) => Diagnostic::at(place, problem),
            None => Diagnostic::global(problem),
        };
        return Err(wanted.refuse(diagnostic.hint("write it into the scenario, and run that")));
    }
    // What was worked out from it at the start stays.
    let stays = differing.iter().filter(|(_, changed)| live(&changed.path).is_none());
    let before = by_path(now);
    for (index, changed) in stays {
        if let Some(parameter) = before.get(changed.path.as_str()) {
            wanted.parameters[*index].value.clone_from(&parameter.value);
        }
    }
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

/// A path behind the name of its component or workload.
fn key_of(path: &str) -> (&str, bool) {
    match path.strip_prefix("workload.") {
        Some(rest) => (rest.split_once('.').map_or("", |(_, key)| key), true),
        None => (path.split_once('.').map_or("", |(_, key)| key), false),
    }
}

fn live(path: &str) -> Option<&'static Live> {
    let (key, of_workload) = key_of(path);
    LIVE.iter().find(|live| live.key == key && live.of.starts_with("workload") == of_workload)
}

fn why_fixed(path: &str) -> &'static str {
    let found = FIXED.iter().find(|(words, _)| words.iter().any(|word| path.contains(word)));
    found.map_or("the machine was built with it", |(_, reason)| reason)
}

/// Parameters beside one that may change instead.
fn what_may_change(path: &str, scenario: &Scenario) -> Option<String> {
    let (key, _) = key_of(path);
    let owner = &path[..path.len() - key.len()];
    let beside = scenario.parameters.iter().map(|parameter| parameter.path.as_str());
    let may: Vec<&str> = beside.filter(|path| path.starts_with(owner) && live(path).is_some()).collect();
    match may.len() {
        0 => Some("write it into the scenario, and run that".to_owned()),
        _ => Some(format!(
            "write it into the scenario, and run that; here these may change: {}",
            may.join(", ")
        )),
    }
}

/// The reference page: what may change while a run goes on, what may not, and why.
pub fn live_markdown() -> String {
    let mut page = String::from(
        "# What may change while a run goes on\n\n\
         `lanewise.Session.change(path, value)` takes the paths of [scenarios](scenario.md), as `--set` does. Of these, a run that goes on \
         can change the ones below. The new value is checked as in a file, and holds as the table says.\n\n\
         | of | path behind its name | the new value holds for | needs |\n|---|---|---|---|\n",
    );
    for Live { key, of, from, needs } in LIVE {
        writeln!(page, "| {of} | `{key}` | {from} | {needs} |").expect("text can grow");
    }
    page.push_str(
        "\nEverything else is refused as [`fixed-in-a-run`](problems.md), with what may change beside it:\n\n\
         | paths with | stay because |\n|---|---|\n",
    );
    for (words, reason) in FIXED {
        let words: Vec<String> =
            words.iter().filter(|word| !word.is_empty()).map(|word| format!("`{word}`")).collect();
        let words = if words.is_empty() { "anything else".to_owned() } else { words.join(", ") };
        writeln!(page, "| {words} | {reason} |").expect("text can grow");
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
