//! Jobs of a file of their own take the place of the scenario's, and mistakes in them are shown where they are written.

use lanewise_scenario::{Diagnostics, JobFile, JobOption, Scenario, Source, WrittenJob, load};

const RIG: &str = "[host.server]\nslots = { slot1 = \"gen4 x4\" }\n[endpoint.ssd]\nattach = \"server.slot1\"\n\
                   generation = \"gen4\"\nwidth = \"x4\"\nnvme.capacity = \"1 TB\"\n";
const WORKLOADS: &str = "[[workload]]\nkind = \"fio\"\nname = \"own\"\nfilename = [\"ssd\"]\nrw = \"read\"\n\
                         [[workload]]\nkind = \"dma\"\nname = \"beside\"\ndevice = \"ssd\"\ndirection = \"write\"\n";
const JOBS: &str = "[seq read]\nrw=read\nbs=128k\n";

/// The job of the text above, with more options: key, value, line.
fn with_jobs(rig: &str, options: &[(&str, &str, usize)]) -> Result<Scenario, Diagnostics> {
    let all = [("filename", "[\"ssd\"]", 1), ("rw", "read", 2)].iter().chain(options);
    let options = all.map(|(key, value, line)| JobOption {
        key: (*key).to_owned(),
        value: (*value).to_owned(),
        line: *line,
    });
    let job = WrittenJob { name: "seq_read".to_owned(), line: 1, options: options.collect() };
    let (path, text) = ("jobs.fio".to_owned(), JOBS.to_owned());
    let jobs = JobFile { kind: "fio".to_owned(), path, text, jobs: vec![job] };
    load(&Source::from_text("rig.toml", rig).with_jobs(Some(jobs)), &[])
}

fn values(scenario: &Scenario, key: &str) -> Vec<(String, String)> {
    let end = format!(".{key}");
    let found = scenario.explain().parameters.into_iter().filter(|each| each.path.ends_with(&end));
    found.map(|each| (each.path, each.place.into_owned())).collect()
}

#[test]
fn jobs_replace_those_of_the_scenario_and_leave_other_workloads() {
    for rig in [RIG.to_owned(), format!("{RIG}{WORKLOADS}")] {
        let scenario = with_jobs(&rig, &[("bs", "131072 B", 3)]).unwrap();
        let job = ("workload.seq_read.bs".to_owned(), "jobs.fio:3".to_owned());
        assert_eq!(values(&scenario, "bs"), [job]);
        let others = scenario.explain().parameters.iter().any(|each| each.path == "workload.beside.device");
        assert_eq!(others, rig.contains("beside"));
    }
}

#[test]
fn a_mistake_is_shown_in_the_line_that_was_written() {
    let problems = with_jobs(RIG, &[("bs", "1 B", 3)]).unwrap_err();
    let text = problems.to_string();
    assert_eq!(problems.codes(), ["out-of-range"]);
    assert!(text.contains("jobs.fio:3") && text.contains("bs=128k"), "{text}");
}

#[test]
fn a_line_that_the_text_does_not_have_is_the_nearest_one() {
    for line in [0, 99, usize::MAX] {
        let problems = with_jobs(RIG, &[("nonsense", "1", line)]).unwrap_err();
        assert!(problems.to_string().contains("jobs.fio:"), "{line}");
    }
}

#[test]
fn a_rate_is_of_bytes_or_of_ios() {
    let problems = with_jobs(RIG, &[("rate", "10 MB/s", 2), ("rate_iops", "100", 3)]).unwrap_err();
    assert_eq!(problems.codes(), ["unknown-choice"]);
}
