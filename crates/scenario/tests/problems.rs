//! Every code of the reference is triggered by an input here, with its place, and all problems come at once.

use lanewise_scenario::{FileSystem, Source, SourceFile, all_codes, catalog, change, load};

/// A host and a card, to which a mistake is added.
const RIG: &str = "[host.server]\nslots = { slot1 = \"gen4 x4\", slot2 = \"gen4 x16\" }\n\
                   [endpoint.nic0]\nattach = \"server.slot1\"\ngeneration = \"gen4\"\nwidth = \"x4\"\n";
/// A switch below the host's second slot.
const SWITCH: &str = "[switch.sw0]\nattach = \"server.slot2\"\nports = { port0 = \"gen4 x16\", \"port1..port4\" = \"gen4 x4\" }\n";
/// An adapter with drives.
const STORAGE: &str = "[endpoint.hba0]\nattach = \"server.slot2\"\ngeneration = \"gen1\"\nwidth = \"x8\"\n\
                       adapter = { wire = \"sas-3g\", ports = 8 }\n[storage.disks]\nattach = \"hba0\"\n";
/// An expander and a card below that switch, each with a load.
const SHARED_WIRE: &str = "[host.server.cxl]\nmem = true\n[switch.sw0.cxl]\nlatency = \"70 ns\"\n\
                           [endpoint.cxl0]\nattach = \"sw0.port1\"\ngeneration = \"gen4\"\nwidth = \"x4\"\n\
                           expander = { capacity = \"64 GiB\" }\n\
                           [endpoint.card]\nattach = \"sw0.port2\"\ngeneration = \"gen4\"\nwidth = \"x4\"\n\
                           [[workload]]\nkind = \"pointer-chase\"\nname = \"chase\"\ndevice = \"cxl0\"\n\
                           [[workload]]\nkind = \"dma\"\nname = \"writes\"\ndevice = \"card\"\ndirection = \"write\"\n";

fn codes(text: &str, overrides: &[(&str, &str)]) -> Vec<&'static str> {
    let overrides: Vec<(String, String)> =
        overrides.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned())).collect();
    match load(&Source::from_text("rig.toml", text), &overrides) {
        Ok(_) => Vec::new(),
        Err(problems) => {
            // Drawing must work for every problem, not only for those a person looks at.
            assert!(problems.to_string().contains("error["));
            problems.codes()
        }
    }
}

fn rig_with(addition: &str) -> Vec<&'static str> {
    codes(&format!("{RIG}{addition}"), &[])
}

#[test]
fn the_rigs_to_which_mistakes_are_added_are_good() {
    for addition in ["", SWITCH, STORAGE] {
        assert_eq!(rig_with(addition), [""; 0], "{addition}");
    }
}

/// A mistake for each code that an addition to the rig can trigger.
fn additions() -> Vec<(&'static str, String)> {
    let dma = |rest: &str| {
        format!("[[workload]]\nkind = \"dma\"\ndevice = \"nic0\"\ndirection = \"write\"\n{rest}\n")
    };
    let iometer = |access: &str| {
        format!("{STORAGE}[[workload]]\nkind = \"iometer\"\ntargets = [\"disks\"]\naccess = {access}\n")
    };
    let second = |rest: &str| format!("[endpoint.nic1]\ngeneration = \"gen4\"\nwidth = \"x4\"\n{rest}\n");
    vec![
        ("syntax-error", "a = = 1\n".into()),
        (
            "bad-move",
            "[[workload]]\nkind = \"reassign\"\ndevice = \"nic0\"\nto = \"b\"\nat = \"1 ms\"\n".into(),
        ),
        ("bad-value", "memory_socket = 3\n".into()),
        (
            "bad-partition",
            SWITCH.to_owned()
                + &SWITCH
                    .replace(
                        "sw0]",
                        "sw1]
partition_of = \"nic0\"",
                    )
                    .replace("server.slot2", "sw0.port1"),
        ),
        ("bad-bridge", second("attach = \"server.slot2\"\nntb.to = \"nic0\"")),
        ("too-many-lanes", SWITCH.replace("attach", "lanes = 8\nattach")),
        ("nested-too-deeply", format!("x = {}{}\n", "[".repeat(40), "]".repeat(40))),
        ("unknown-table", "[hots.other]\n".into()),
        ("unknown-key", "latencie = \"1 ns\"\n".into()),
        ("missing-key", "[endpoint.nic1]\nattach = \"server.slot2\"\n".into()),
        ("wrong-type", "relaxed_ordering = \"yes\"\n".into()),
        ("missing-unit", "mmio_read_latency = 100\n".into()),
        ("wrong-unit", "mmio_read_latency = \"150 MB\"\n".into()),
        ("unknown-unit", "mmio_read_latency = \"150 NS\"\n".into()),
        ("not-a-number", "mmio_read_latency = \"soon\"\n".into()),
        ("out-of-range", "mmio_read_latency = \"1 s\"\n".into()),
        ("impossible-width", second("").replace("x4", "x24")),
        ("unknown-generation", second("").replace("gen4", "gen8")),
        ("unknown-choice", "tag_width = \"9 bits\"\n".into()),
        ("bad-name", "[endpoint.\"a b\"]\n".into()),
        ("duplicate-name", "[host.nic0]\n".into()),
        ("unknown-part", "part = \"generic-gen4-x5\"\n".into()),
        ("wrong-part-kind", "part = \"idt-89hpes24n3a\"\n".into()),
        ("unknown-attach-target", second("attach = \"servre.slot2\"")),
        ("unknown-slot", second("attach = \"server.slot9\"")),
        ("slot-occupied", second("attach = \"server.slot1\"")),
        ("no-free-slot", second("attach = \"server.*\"\ncount = 3")),
        (
            "attach-loop",
            "[switch.a]\nattach = \"b.port1\"\nports = { port0 = \"gen4 x4\", port1 = \"gen4 x4\" }\n\
             [switch.b]\nattach = \"a.port1\"\nports = { port0 = \"gen4 x4\", port1 = \"gen4 x4\" }\n"
                .into(),
        ),
        ("tree-too-deep", chain_of_switches(140)),
        ("attached-to-endpoint", second("attach = \"nic0.port0\"")),
        (
            "bad-network-end",
            "[network.cable]\nkind = \"infiniband-edr\"\nends = [\"nic0\", \"nic1\"]\n".into(),
        ),
        ("storage-needs-adapter", "[storage.disks]\nattach = \"nic0\"\n".into()),
        ("too-many-devices", second("attach = \"server.*\"\ncount = 70000")),
        (
            "too-much-memory",
            "[run]\nmemory_limit = \"2 MiB\"\n[[workload]]\nkind = \"dma\"\nname = \"most\"\ndevice = \"nic0\"\n\
             direction = \"read\"\noutstanding = 65536\n"
                .into(),
        ),
        ("too-many-ports", "[host.big]\nslots = { \"slot1..slot5000\" = \"gen4 x4\" }\n".into()),
        ("mps-too-large", "mps = \"4096 B\"\n".into()),
        ("link-cannot-train", "link = { force_width = \"x16\" }\n".into()),
        ("flit-mode-impossible", "link = { flit = true }\n".into()),
        (
            "aspm-impossible",
            "[host.big]\nslots = { slot1 = \"gen6 x4\" }\n[endpoint.fast]\nattach = \"big.slot1\"\n\
             generation = \"gen6\"\nwidth = \"x4\"\nlink = { aspm = \"l1\" }\n"
                .into(),
        ),
        (
            "no-address-space",
            "[host.big]\nslots = { \"slot1..slot20\" = \"gen4 x4\" }\n[endpoint.old]\nattach = \"big.*\"\ncount = 20\n\
             generation = \"gen4\"\nwidth = \"x4\"\nbar = \"32-bit\"\nregister_bar = \"256 MiB\"\n"
                .into(),
        ),
        ("virtual-channels-impossible", "link = { virtual_channels = [[0, 3], [3], []] }\n".into()),
        ("too-many-tags", "tag_width = \"5 bits\"\ntags = 64\n".into()),
        ("too-few-credits", "credits = { posted_data = 8 }\n".into()),
        ("too-many-credits", "flow_control_scale = \"off\"\ncredits = { posted_data = 4000 }\n".into()),
        ("retry-buffer-too-small", "retry_buffer = \"200 B\"\n".into()),
        ("bad-groups", format!("{SWITCH}core = \"hybrid\"\ngroups = [[0, 1], [1]]\n")),
        ("bad-groups", format!("{SWITCH}core = \"hybrid\"\ngroups = [[0]]\n")),
        ("wrong-length", format!("{SWITCH}arbitration = \"weighted-round-robin\"\nweights = [1, 2]\n")),
        ("unknown-device", dma("").replace("nic0", "nic7")),
        (
            "access-percentages",
            iometer("[{ size = \"4 KiB\", percent = 60 }, { size = \"8 KiB\", percent = 30 }]"),
        ),
        (
            "device-count",
            format!(
                "{SWITCH}{}{}",
                second("attach = \"sw0.*\"\ncount = 2"),
                dma("target = \"nic1[*]\"").replace("nic0", "nic1[*]")
            ),
        ),
        (
            "peer-to-peer-blocked",
            format!("{}{}", second("attach = \"server.slot2\""), dma("target = \"nic1\"")),
        ),
        ("no-cxl-mem", second("attach = \"server.slot2\"\nexpander = { capacity = \"64 GiB\" }")),
        (
            "cxl-link-too-slow",
            "[host.server.cxl]\nmem = true\n[endpoint.cxl0]\nattach = \"server.slot2\"\ngeneration = \"gen2\"\nwidth = \"x4\"\n\
             expander = { capacity = \"64 GiB\" }\n"
                .to_owned(),
        ),
        ("cxl-wire-shared", format!("{SWITCH}{SHARED_WIRE}")),
    ]
}

fn chain_of_switches(length: usize) -> String {
    let mut text = String::new();
    for number in 0..length {
        let above = if number == 0 { "server.slot2".to_owned() } else { format!("s{}.port1", number - 1) };
        text.push_str(&format!(
            "[switch.s{number}]\nattach = \"{above}\"\nports = {{ port0 = \"gen4 x4\", port1 = \"gen4 x4\" }}\n"
        ));
    }
    text
}

#[test]
fn every_addition_triggers_its_code() {
    for (code, addition) in additions() {
        let found = rig_with(&addition);
        assert!(found.contains(&code), "{code} is not among {found:?} of\n{addition}");
        assert!(found.len() <= 4, "{code} causes a flood: {found:?}");
    }
}

/// The rig with an adapter that is this part.
fn naming(part: &str) -> String {
    RIG.replace("[endpoint.nic0]\n", &format!("[endpoint.nic0]\npart = \"{part}\"\n"))
}

/// Codes that need something else than an addition to the rig.
fn others() -> Vec<(&'static str, Vec<&'static str>)> {
    struct Nothing;
    impl FileSystem for Nothing {
        fn read(&self, _: &str) -> Result<Vec<u8>, String> {
            Err("no such file".to_owned())
        }
    }
    let with_part = |text: &str| {
        let mut parts = catalog();
        parts.add("mine", SourceFile::new("mine.toml", text));
        let source = Source::from_text("rig.toml", naming("mine")).with_catalog(parts);
        load(&source, &[]).map_or_else(|problems| problems.codes(), |_| Vec::new())
    };
    let unreadable =
        Source::read("rig.toml", &Nothing).map_or_else(|problems| problems.codes(), |_| Vec::new());
    let source = Source::from_text("rig.toml", RIG);
    let sound = load(&source, &[]).expect("it is good");
    let narrower = change(&source, &[], (&sound, &sound), ("nic0.width", "x2"));
    vec![
        ("fixed-in-a-run", narrower.map_or_else(|problems| problems.codes(), |_| Vec::new())),
        ("unreadable-file", unreadable),
        ("file-too-large", codes(&" ".repeat(5 << 20), &[])),
        ("not-a-scenario", codes("<?xml version=\"1.0\"?>\n<system/>\n", &[])),
        ("no-host", codes("title = \"nothing\"\n", &[])),
        ("bad-override", codes(RIG, &[("nic9.mps", "128 B")])),
        ("unreadable-part", codes(&naming("mine.toml"), &[])),
        ("malformed-part", with_part("kind = \"endpoint\"\n")),
        ("missing-provenance", with_part("title = \"Mine\"\nkind = \"endpoint\"\n[parameters]\ntags = 8\n")),
    ]
}

#[test]
fn every_code_of_the_reference_is_triggered() {
    for (code, found) in others() {
        assert!(found.contains(&code), "{code} is not among {found:?}");
    }
    let triggered: Vec<&str> =
        additions().iter().map(|(code, _)| *code).chain(others().iter().map(|(code, _)| *code)).collect();
    for (code, _) in all_codes() {
        assert!(triggered.contains(code), "nothing here triggers {code}");
    }
}

#[test]
fn a_part_in_a_file_is_looked_for_in_the_folder_of_the_scenario() {
    struct Rack;
    impl FileSystem for Rack {
        fn read(&self, path: &str) -> Result<Vec<u8>, String> {
            let own = "title = 'Mine'\nkind = 'endpoint'\n[parameters]\n\
                tags = { value = 48, provenance = 'calibrated', source = 'a fit', fitted_on = ['mine.csv 1'] }\n";
            match path {
                "rigs/mine.toml" | "/parts/mine.toml" => Ok(own.into()),
                "rigs/broken.toml" => {
                    Ok("title = 'Mine'\nkind = 'endpoint'\n[parameters]\ntags = 48\n".into())
                }
                _ => Err(format!("nothing at {path}")),
            }
        }
    }
    let loaded =
        |path: &str, part: &str| load(&Source::from_text(path, naming(part)).with_part_files(&Rack), &[]);
    for part in ["mine.toml", "./mine.toml", "/parts/mine.toml"] {
        let scenario = loaded("rigs/rig.toml", part).unwrap_or_else(|found| panic!("{part}: {found}"));
        let explained = scenario.into_explanation();
        let tags = explained.parameters.iter().find(|each| each.path == "nic0.tags").expect("it has tags");
        let place = if part.starts_with('/') { "/parts/mine.toml:4" } else { "rigs/mine.toml:4" };
        assert_eq!(
            (tags.value.as_str(), tags.provenance.as_str(), &*tags.place),
            ("48", "calibrated", place)
        );
        assert_eq!(tags.fitted_on, ["mine.csv 1"]);
    }
    for (path, part, code) in [
        ("rigs/rig.toml", "other.toml", "unreadable-part"),
        ("rig.toml", "mine.toml", "unreadable-part"),
        ("<text>", "/parts/mine.toml", "unreadable-part"),
        ("rigs/rig.toml", "broken.toml", "missing-provenance"),
        ("rigs/rig.toml", "mine", "unknown-part"),
    ] {
        assert_eq!(loaded(path, part).unwrap_err().codes(), [code], "{path} {part}");
    }
}

/// A file of another kind is one mistake, not one for each of its lines; a scenario with a line that is no TOML is told of that line.
#[test]
fn a_file_that_is_no_scenario_is_one_mistake() {
    let codes = |text: &str| load(&Source::from_text("rig.toml", text), &[]).unwrap_err().codes();
    for text in [
        "# A page\n\nSome words about it.\n\nMore words.\n",
        "# A page\n\n```toml\n[host.server]\nslots\n```\n",
        "#!/bin/sh\nset -e\nfor each in *; do\n  echo $each\ndone\n",
        "# OSU MPI Bandwidth Test\n1   0.02\n2   10.59\n",
        "[Unit]\nDescription=A service of the system\n[Install]\nWantedBy=multi-user.target\n",
        "title = \"Mine\"\nkind = \"endpoint\"\n[parameters]\ntags = 48\n",
        "name = \"mine\"\nversion = 3\n[colours]\nsky = \"blue\"\n",
        "[package]\nname = \"a\"\n[dependencies]\n[lints]\n",
    ] {
        assert_eq!(codes(text), ["not-a-scenario"], "{text}");
    }
    for text in ["[host.server]\nslots\nwords of it\nmore\n", "title = \"open\n", "name = \"a\"\n[package]\n"]
    {
        assert!(!codes(text).contains(&"not-a-scenario"), "{text}");
    }
}

#[test]
fn ten_mistakes_are_ten_diagnostics_with_lines_and_hints() {
    let text = "titel = \"x\"\n\
                [run]\nseed = \"one\"\ntime_limit = 5\n\
                [host.server]\nmemory_latency = \"150 MB\"\nslots = { slot1 = \"gen4 x3\", slot2 = \"gen9 x4\" }\n\
                [switch.sw0]\npart = \"idt-89hpes24n3\"\nattach = \"server.slot7\"\nlatencie = \"1 ns\"\n\
                [endpoint.nic0]\ngeneration = \"gen4\"\nwidth = \"x4\"\nattach = \"sw1.port1\"\n";
    let problems = load(&Source::from_text("rig.toml", text), &[]).unwrap_err();
    let lines: Vec<(Option<usize>, &str)> =
        problems.records().iter().map(|record| (record.line, record.code)).collect();
    let expected = [
        (1, "unknown-table"),
        (3, "wrong-type"),
        (4, "missing-unit"),
        (6, "wrong-unit"),
        (7, "impossible-width"),
        (7, "unknown-generation"),
        (9, "unknown-part"),
        (10, "unknown-slot"),
        (11, "unknown-key"),
        (15, "unknown-attach-target"),
    ];
    for (line, code) in expected {
        assert!(lines.contains(&(Some(line), code)), "{code} in line {line} is missing:\n{problems}");
    }
    let hints: Vec<String> = problems.records().into_iter().filter_map(|record| record.hint).collect();
    for hint in ["did you mean `title`?", "did you mean `idt-89hpes24n3a`?", "did you mean `latency`?"] {
        assert!(hints.iter().any(|found| found == hint), "{hint} is not among {hints:?}");
    }
}

/// The message and the hint of the only problem of a text.
fn only_problem(text: &str) -> (String, String) {
    let problems = load(&Source::from_text("rig.toml", text), &[]).unwrap_err();
    let records = problems.records();
    assert_eq!(records.len(), 1, "{problems}");
    (records[0].message.clone(), records[0].hint.clone().unwrap_or_default())
}

#[test]
fn a_number_out_of_range_hears_the_range_of_its_parameter() {
    for (line, range) in [
        ("mmio_read_latency = \"-5 ns\"", "between 0 ns and 1 ms"),
        ("write_drain = \"99999999999999999999 GB/s\"", "between 1 MB/s and 10 TB/s"),
        ("write_drain = \"1e400 GB/s\"", "between 1 MB/s and 10 TB/s"),
        ("tags = -3", "between 1 and 15360"),
    ] {
        let (message, _) = only_problem(&format!("{RIG}{line}\n"));
        assert!(message.contains(range), "{message}");
    }
}

/// What lies within a range, and is none of what is allowed, hears the rule itself.
#[test]
fn a_number_that_breaks_a_rule_hears_the_rule() {
    const DRIVE: &str = "[endpoint.ssd]\npart = \"generic-nvme-gen4-x4\"\nattach = \"server.slot2\"\n\
                         [[workload]]\nkind = \"fio\"\nname = \"job\"\nfilename = [\"ssd\"]\nrw = \"randread\"\n";
    let host = |keys: &str| format!("{RIG}[host.server.iommu]\nenabled = true\n{keys}\n");
    let (run, drive) =
        (|keys: &str| format!("{RIG}[run]\n{keys}\n"), |bs: &str| format!("{RIG}{DRIVE}bs = {bs}\n"));
    let socket = |socket: &str| format!("{RIG}memory_socket = {socket}\n");
    for (text, path, rule) in [
        (
            run("time_limit = \"300 us\"\nwarm_up = \"300 us\""),
            "run.warm_up",
            "less than `run.time_limit`, which is 300 us",
        ),
        (host("entries = 7\nways = 4"), "server.iommu.ways", "a divisor of `entries`, which is 7"),
        (host("page = \"5 KiB\""), "server.iommu.page", "a power of two, as pages are"),
        (drive("\"1000 B\""), "workload.job.bs", "a multiple of 512 B, the smallest block of a drive"),
        (
            socket("3"),
            "nic0.memory_socket",
            "1 at most: nothing of `server` is on socket 1, and sockets are counted from 0",
        ),
    ] {
        let problems = load(&Source::from_text("rig.toml", &text), &[]).unwrap_err();
        assert_eq!(problems.codes(), ["bad-value"], "{problems}");
        let said = problems.to_string();
        assert!(said.contains(&format!("`{path}` is ")), "{said}");
        assert!(said.contains(&format!("but it has to be {rule}")), "{said}");
    }
    for good in [
        run("time_limit = \"300 us\"\nwarm_up = \"299 us\""),
        host("entries = 8\nways = 4\npage = \"8 KiB\""),
        drive("\"1536 B\""),
        socket("1"),
    ] {
        assert_eq!(codes(&good, &[]), [""; 0], "{good}");
    }
}

/// A drive that is to move at a wrong time is on both hosts all the same: only the time is wrong.
#[test]
fn a_move_at_a_wrong_time_is_the_only_problem() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/drives_change_hosts.toml");
    let text = std::fs::read_to_string(file).expect("the scenario is there");
    for at in ["1 us", "1 ms", "14 ms"] {
        let wrong = text.replace("at = \"3 ms\"", &format!("at = \"{at}\""));
        let (message, _) = only_problem(&wrong);
        let rule = "after 1 ms (`run.warm_up`) and before 14 ms (`run.time_limit`)";
        assert_eq!(message, format!("`workload.move.at` is {at}, but it has to be {rule}"));
    }
}

#[test]
fn what_a_data_sheet_would_say_is_answered_with_how_to_write_it() {
    for (wrong, hint) in [
        ("slot1 = \"x4 gen4\"", "write \"gen4 x4\""),
        ("slot1 = \"PCIe 4.0 x4\"", "write \"gen4 x4\""),
        ("slot1 = \"gen4x4\"", "write \"gen4 x4\""),
    ] {
        let text = RIG.replace("slot1 = \"gen4 x4\"", wrong);
        let records = load(&Source::from_text("rig.toml", text), &[]).unwrap_err().records();
        assert_eq!(records[0].hint.as_deref(), Some(hint), "{records:?}");
    }
    let (_, hint) = only_problem(&format!("{RIG}memory_read_rate = \"8 Gbps\"\n"));
    assert!(hint.contains("`GB/s`, in bytes, or `Gb/s`, in bits"), "{hint}");
}

#[test]
fn an_unknown_name_is_answered_with_the_names_there_are() {
    let dma = |device: &str, direction: &str| {
        format!("{RIG}[[workload]]\nkind = \"dma\"\ndevice = \"{device}\"\ndirection = \"{direction}\"\n")
    };
    assert_eq!(only_problem(&dma("zzz", "read")).1, "devices here: nic0");
    // The name that was found is not offered again.
    assert_eq!(only_problem(&dma("server", "read")).1, "devices here: nic0");
    // A wrong word beside it hides nothing.
    let both = load(&Source::from_text("rig.toml", dma("zzz", "up")), &[]).unwrap_err().codes();
    assert_eq!(both, ["unknown-device", "unknown-choice"]);
    let elsewhere = RIG.replace("attach = \"server.slot1\"", "attach = \"board.slot1\"");
    assert_eq!(only_problem(&elsewhere).1, "hosts and switches here: server");
}

#[test]
fn a_switch_whose_ports_have_other_names_is_told_which_one_faces_upstream() {
    let (_, hint) = only_problem(&format!("{RIG}{}", SWITCH.replace("port0", "up")));
    assert_eq!(hint, "ports here: up, port1, port2, port3, port4; the upstream one is called `port0`");
}

#[test]
fn everything_that_an_empty_component_lacks_is_said_at_its_name() {
    let problems = load(&Source::from_text("rig.toml", format!("{RIG}[endpoint.bare]\n")), &[]).unwrap_err();
    let lines: Vec<Option<usize>> = problems.records().iter().map(|record| record.line).collect();
    assert_eq!((problems.codes(), lines), (vec!["missing-key"; 3], vec![Some(7); 3]), "{problems}");
}

#[test]
fn a_table_written_twice_is_named_and_hides_nothing_else() {
    let text = format!("{RIG}tags = -1\n[host.server]\n");
    let problems = load(&Source::from_text("rig.toml", text), &[]).unwrap_err();
    assert_eq!(problems.codes(), ["out-of-range", "syntax-error"]);
    assert!(problems.to_string().contains("`server` is written a second time"), "{problems}");
}

#[test]
fn a_text_that_cannot_be_read_to_its_end_is_not_blamed_for_what_it_may_have() {
    assert_eq!(codes("title = \"x", &[]), ["syntax-error"]);
}

/// Code, line and hint of each problem.
fn told(text: &str) -> Vec<(&'static str, Option<usize>, String)> {
    let problems = load(&Source::from_text("rig.toml", text), &[]).unwrap_err();
    let told = |record: lanewise_scenario::DiagnosticRecord| {
        (record.code, record.line, record.hint.unwrap_or_default())
    };
    problems.records().into_iter().map(told).collect()
}

/// The rig with a load on it.
fn loaded() -> String {
    format!("{RIG}[[workload]]\nkind = \"dma\"\ndevice = \"nic0\"\ndirection = \"write\"\n")
}

#[test]
fn a_syntax_error_is_told_once_with_how_it_is_written_and_without_what_follows_from_it() {
    let width = "width = \"x4\"";
    for (right, wrong, line, hint) in [
        (width, "width = x4", 6, "write \"x4\""),
        (width, "width = \u{201c}x4\u{201d}", 6, "write \"x4\""),
        (width, "width == \"x4\"", 6, "write one `=`"),
        (width, "width =", 6, "a value follows the `=`"),
        (width, "width \"x4\"", 6, "write `key = value`"),
        (width, "width: \"x4\"", 6, "write `key = value`"),
        (width, "width\u{a0}= \"x4\"", 6, "the character here is U+00A0"),
        (width, "width = \"x4", 6, "the text is not closed with the quote that it begins with"),
        (width, "width = \"x4\" // lanes", 6, "a line ends after its value; a comment begins with `#`"),
        (width, "width = \"x4\"\ntags = 007", 7, "write the number without its leading zeros"),
        (width, "width = \"x4\"\nrelaxed_ordering = True", 7, "write true, or a text in quotes"),
        ("attach = ", "attach ", 4, "write `key = value`"),
        ("\"gen4 x4\", slot2", "\"gen4 x4\" slot2", 2, ""),
        ("slot1 = ", "slot1: ", 2, "in braces, too, write `key = value`"),
        ("x16\" }", "x16\"", 2, "what follows could not be read"),
        ("[host.server]", "title = \"\"\"x\"\n[host.server]", 1, "what follows could not be read"),
        ("[endpoint.nic0]", "[endpoint.nic0", 3, "write `[endpoint.nic0]`"),
        ("[endpoint.nic0]", "[endpoint nic0]", 3, "write `[endpoint.nic0]`"),
        ("[endpoint.nic0]", "[endpoint.]", 3, "write `[endpoint.NAME]`"),
        ("[[workload]]", "[[workload]", 7, "write `[[workload]]`"),
        ("[[workload]]", "[[workload]]\nsize = [1, 2", 8, "what follows could not be read"),
        ("direction = \"write\"", "direction = \"write\"\n[[workload]]\nkind = dma", 12, "write \"dma\""),
    ] {
        let text = loaded().replace(right, wrong);
        assert_eq!(told(&text), [("syntax-error", Some(line), hint.to_owned())], "{wrong}");
    }
}

#[test]
fn a_syntax_error_hides_no_mistake_in_another_line() {
    let text =
        loaded().replace("\"write\"", "\"sideways\"").replace("width = \"x4\"", "width = x4\ntags = -1");
    let found: Vec<_> = told(&text).into_iter().map(|(code, line, _)| (code, line)).collect();
    assert_eq!(found, [("syntax-error", Some(6)), ("out-of-range", Some(7)), ("unknown-choice", Some(11))]);
}

#[test]
fn what_is_nested_too_deeply_is_told_once_however_deep_it_is() {
    for text in [
        format!("x = {}{}\n", "[".repeat(5000), "]".repeat(5000)),
        format!("x = {}1{}\n", "{a=".repeat(3000), "}".repeat(3000)),
        format!("{}a = 1\n", "a.".repeat(5000)),
    ] {
        let found: Vec<_> = told(&text).into_iter().map(|(code, ..)| code).collect();
        assert!(found.starts_with(&["nested-too-deeply"]) && found.len() == 1, "{found:?}");
    }
}

#[test]
fn who_names_what_could_not_be_read_is_not_blamed() {
    for (right, wrong, code) in [
        ("nic0", "\"a.b\"", "bad-name"),
        ("nic0", "run", "bad-name"),
        ("[endpoint.nic0]", "[[endpoint]]", "wrong-type"),
        ("[endpoint.nic0]", "[\"endpoint.nic0\"]", "unknown-table"),
        ("[endpoint.nic0]", "[host.nic0]\n[endpoint.nic0]", "duplicate-name"),
        ("slots = {", "slots = [] # {", "wrong-type"),
        ("slots = {", "slots = \"gen4 x4\" # {", "wrong-type"),
        ("slot1 = ", "\"slot1..slot0\" = ", "bad-name"),
        ("width = \"x4\"", "width = \"x4\"\ncount = 0", "out-of-range"),
        ("generation = \"gen4\"\nwidth = \"x4\"", "part = 5", "wrong-type"),
        ("[host.server]", "[host]\nserver = 3\n[run]", "wrong-type"),
    ] {
        let mut text = loaded().replacen(right, wrong, 1);
        if right == "nic0" {
            text = text.replace("device = \"nic0\"", &format!("device = {}", wrong.trim_matches('"')));
            text =
                text.replace("device = run", "device = \"run\"").replace("device = a.b", "device = \"a.b\"");
        }
        if wrong.starts_with("[host]") {
            text = text.replace("slots = {", "# ");
        }
        let found: Vec<_> = told(&text).into_iter().map(|(code, ..)| code).collect();
        assert_eq!(found, [code], "{text}");
    }
}

/// How many there are of what a file counts decides what fits, and what is whose peer: nothing of that is said where the count is wrong.
#[test]
fn a_wrong_count_is_the_only_problem_of_what_hangs_on_it() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/cluster.toml");
    let text = std::fs::read_to_string(file).expect("the scenario is there");
    for group in ["node", "pcie", "nic", "leaf", "spine"] {
        let path = format!("{group}.count");
        for (value, code) in [("0", "out-of-range"), ("\"many\"", "wrong-type")] {
            assert_eq!(codes(&text, &[(&path, value)]), [code], "{path}={value}");
        }
    }
}

#[test]
fn a_value_that_could_not_be_read_is_not_judged_further() {
    let weights = format!("{SWITCH}arbitration = \"weighted-round-robin\"\nweights = [300, 1]\n");
    let wire = STORAGE.replace("sas-3g", "sata");
    let end = "rdma = { ports = \"two\" }\n[endpoint.nic1]\nattach = \"server.slot2\"\ngeneration = \"gen4\"\n\
               width = \"x4\"\nrdma = { ports = 1 }\n[network.cable]\nkind = \"roce\"\nends = [\"nic0\", \"nic1\"]\n";
    let drive = "nvme = { capacity = \"1 parsec\" }\n[[workload]]\nkind = \"fio\"\nfilename = [\"nic0\"]\nrw = \"read\"\n";
    for (addition, code) in [
        (weights.as_str(), "out-of-range"),
        (wire.as_str(), "unknown-choice"),
        (end, "wrong-type"),
        (drive, "unknown-unit"),
    ] {
        assert_eq!(rig_with(addition), [code], "{addition}");
    }
    let (message, _) = only_problem(&format!("{RIG}{weights}"));
    assert_eq!(message, "`sw0.weights` is 300, but it has to lie between 1 and 255");
}

#[test]
fn a_gpu_that_is_named_twice_is_reported() {
    let frames = "[[workload]]\nkind = \"frames\"\ngpus = [\"nic0\", \"nic0[0]\"]\n";
    assert_eq!(rig_with(frames), ["duplicate-name"]);
}

#[test]
fn many_mistakes_of_any_kind_are_told_without_comparing_each_with_all() {
    let values: String = (0..100_000).map(|number| format!("k{number} = zz\n")).collect();
    assert_eq!(codes(&values, &[]), vec!["syntax-error"; 200]);
}

#[test]
fn what_was_found_and_what_is_allowed_are_those_of_the_place() {
    let second =
        |rest: &str| format!("{RIG}[endpoint.nic1]\ngeneration = \"gen4\"\nwidth = \"x4\"\n{rest}\n");
    for (text, message, hint) in [
        (second("attach = \"server.*\"\ncount = -1"), "between 1 and 65536", ""),
        (second("attach = \"server.*\"\ncount = 99999999999"), "between 1 and 65536", ""),
        (second("attach = \"server\""), "attached to no slot of `server`", "say which one"),
        (format!("workload = \"dma\"\n{RIG}"), "`workload` is \"dma\"", "double brackets"),
        (format!("{RIG}[[workload]]\nkind = 1\n"), "`workload[0].kind` is 1", ""),
        (format!("{RIG}relaxed_ordering = \"true\"\n"), "true or false is needed", "write true"),
        (
            format!("[run]\ntime_limit = \"1 ms\"\nwarm_up = \"1 ms\"\n{RIG}"),
            "`run.warm_up` is 1 ms, but it has to be less than `run.time_limit`, which is 1 ms",
            "nothing is measured",
        ),
        (format!("{RIG}memory_read_latency = \"1,5 us\"\n"), "is not a unit", "a number has no commas"),
        (format!("{RIG}retry_buffer = 4096\n"), "without a unit", "write \"4096 B\""),
        (
            format!(
                "{RIG}[[workload]]\nkind = \"iometer\"\ntargets = [\"nic0\"]\n\
                 access = [{{ size = \"4 KiB\", percent = 100 }}]\n"
            ),
            "names `nic0`, but that is an endpoint, and storage is needed",
            "",
        ),
        (format!("{RIG}title = \"x\"\n"), "unknown key `title`", "before the first `[table]`"),
        (format!("{RIG}[storage.disks]\nattach = \"server.slot2\"\n"), "which is a slot", "an adapter is"),
        (
            RIG.replace("nic0]", "nic0]\npart = \"intel-sandy-bridge-ep\""),
            "is an endpoint, but the part",
            "[host.NAME]",
        ),
        (
            RIG.replace("[endpoint", "[host.bare]\n[endpoint").replace("server.slot1", "bare.slot1"),
            "has none",
            "needs `slots`",
        ),
        (
            format!("{RIG}[[workload]]\nkind = \"dma\"\ndirection = \"write\"\n"),
            "needs `device`",
            "the endpoint that asks",
        ),
    ] {
        let (found, told) = only_problem(&text);
        assert!(found.contains(message), "{found}\n{text}");
        assert!(told.to_lowercase().contains(&hint.to_lowercase()), "{told}\n{text}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_named_with_the_line() {
    struct Bytes(Vec<u8>);
    impl FileSystem for Bytes {
        fn read(&self, _: &str) -> Result<Vec<u8>, String> {
            Ok(self.0.clone())
        }
    }
    let message = |bytes: &[u8]| {
        let problems = Source::read("rig.toml", &Bytes(bytes.to_vec())).unwrap_err();
        problems.records()[0].message.clone()
    };
    assert!(
        message(b"title = \"x\"\n# \xff").contains(
            "`rig.toml`: it is not UTF-8 from line 2, byte 14 of the file, on: it looks like Latin-1"
        )
    );
    assert!(message(&vec![b' '; 5 << 20]).contains("`rig.toml` has more than 4 MiB"));
}

#[test]
fn a_name_is_looked_up_also_beside_another_mistake() {
    let text =
        format!("{RIG}[[workload]]\nkind = \"perftest\"\ntool = \"ib_wriet_bw\"\nnetwork = \"wire\"\n");
    let found: Vec<_> = told(&text).into_iter().map(|(code, _, hint)| (code, hint)).collect();
    let devices = ("unknown-device", "the file has no `[network.NAME]`".to_owned());
    assert_eq!(found, [("unknown-choice", "did you mean `ib_write_bw`?".to_owned()), devices]);
}

#[test]
fn more_unknown_keys_than_are_told_are_counted() {
    let keys: String = (0..60).map(|number| format!("k{number} = 1\n")).collect();
    let told = told(&format!("{RIG}{keys}"));
    assert_eq!(told.len(), 50);
    assert_eq!(told[49].2, "10 more keys of this table are unknown");
}

#[test]
fn an_override_of_a_workload_hears_where_its_path_begins() {
    let hint = |path: &str| {
        let pairs = [(path.to_owned(), "1".to_owned())];
        let text = loaded().replace("device", "name = \"write\"\ndevice");
        let problems = load(&Source::from_text("rig.toml", text), &pairs).unwrap_err();
        problems.records()[0].hint.clone().unwrap_or_default()
    };
    assert_eq!(hint("write.size"), "a workload's path begins with `workload.write`");
    assert_eq!(hint("workload[0].size"), "workloads here: write");
}

#[test]
fn a_problem_is_drawn_as_a_compiler_would() {
    let text = format!("{RIG}mps = \"512 B\"\n");
    let drawn = load(&Source::from_text("two_nics.toml", text), &[]).unwrap_err().to_string();
    let first = "error[mps-too-large]: `nic0.mps` is 512 B, but `nic0` supports at most 256 B";
    assert!(drawn.starts_with(first), "{drawn}");
    assert!(drawn.contains("two_nics.toml:7:7") && drawn.contains("7 | mps = \"512 B\""), "{drawn}");
    assert!(drawn.contains("hint: lower it to 256 B"), "{drawn}");
}

#[test]
fn credits_that_are_counted_hold_a_packet_of_full_size_wherever_they_are() {
    // Completion credits of an endpoint and of a root port are infinite unless they are given.
    for device in ["nic0", "server"] {
        let given = |key: &str, credits| codes(RIG, &[(&format!("{device}.credits.{key}"), credits)]);
        assert_eq!(given("completion_data", "8"), ["too-few-credits"], "{device}");
        assert_eq!(given("completion_header", "4"), [""; 0], "{device}");
        assert_eq!(given("completion_data", "infinite"), [""; 0], "{device}");
    }
}

#[test]
fn a_completion_is_not_smaller_than_the_boundary_it_ends_on() {
    let overrides = |combine| codes(RIG, &[("server.rcb", "128 B"), ("server.completion_combine", combine)]);
    assert_eq!(overrides("64 B"), ["out-of-range"]);
    assert_eq!(overrides("128 B"), [""; 0]);
}

#[test]
fn a_part_or_a_slot_that_cannot_be_read_is_the_only_problem_of_what_hangs_on_it() {
    let part = only_problem(&format!("{RIG}[endpoint.gpu]\npart = \"geforce\"\nattach = \"server.slot2\"\n"));
    assert!(part.1.starts_with("`lanewise parts geforce` lists "), "{}", part.1);
    let host = RIG
        .replace("[host.server]\n", "[host.server]\npart = \"epyc-7763\"\n")
        .replace("server.slot1", "server.*");
    let lost = host.lines().filter(|line| !line.starts_with("slots")).collect::<Vec<_>>().join("\n");
    assert_eq!(only_problem(&lost).1, "did you mean `amd-milan`?");
    let switch = SWITCH.split("ports").next().unwrap().to_owned() + "part = \"pex8747\"\n";
    let below = "[endpoint.gpu]\ngeneration = 3\nwidth = 16\nattach = \"sw0.port1\"\n";
    assert!(only_problem(&format!("{RIG}{switch}{below}")).0.contains("the part `pex8747`"));
    let slot = RIG.replace("slot1 = \"gen4 x4\"", "slot1 = \"gen4 x3\"");
    assert!(only_problem(&slot).0.contains("is x3"));
}

#[test]
fn values_in_the_wrong_shape_are_answered_with_the_right_one() {
    let fio = |line: &str| {
        format!(
            "{RIG}[[workload]]\nkind = \"fio\"\nname = \"job\"\nfilename = [\"nic0\"]\nrw = \"read\"\n{line}\n"
        )
    };
    let hint_of = |text: String| {
        let records = load(&Source::from_text("rig.toml", text), &[]).unwrap_err().records();
        records.into_iter().find_map(|record| record.hint).unwrap_or_default()
    };
    assert_eq!(hint_of(fio("iodepth = \"8\"")), "write 8");
    assert_eq!(hint_of(fio("").replace("[\"nic0\"]", "\"nic0\"")), "write [\"nic0\"]");
    assert_eq!(hint_of(RIG.replace("= \"gen4\"", "= \"gen3.0\"")), "write \"gen3\"");
    assert_eq!(hint_of(RIG.replace("width = \"x4\"", "width = \"4\"")), "write \"x4\"");
    let upstream = format!("{RIG}{SWITCH}[endpoint.up]\ngeneration = 4\nwidth = 4\nattach = \"sw0.port0\"\n");
    assert_eq!(only_problem(&upstream).1, "`port0` faces upstream");
}

#[test]
fn what_is_wrong_with_a_provenance_is_said_of_the_provenance() {
    let text = format!("{RIG}tags = {{ value = 8, provenance = \"datashet\" }}\n");
    assert!(only_problem(&text).0.starts_with("`nic0.tags.provenance` is `datashet`"));
}

#[test]
fn a_line_of_a_list_that_lacks_a_key_has_a_place() {
    let text =
        format!("{RIG}{STORAGE}[[workload]]\nkind = \"iometer\"\ntargets = [\"disks\"]\naccess = [{{ }}]\n");
    let records = load(&Source::from_text("rig.toml", text), &[]).unwrap_err().records();
    let found: Vec<_> = records.iter().map(|record| (record.code, record.line)).collect();
    assert_eq!(found, [("missing-key", Some(17))], "{records:?}");
}

/// One of several adapters is not taken because nobody said which.
#[test]
fn drives_behind_one_of_several_adapters_say_which() {
    let two = STORAGE.replace("generation = \"gen1\"", "count = 2\ngeneration = \"gen1\"");
    let two = two.replace("attach = \"server.slot2\"", "attach = \"server.*\"");
    let rig = RIG.split("[endpoint").next().unwrap();
    assert_eq!(codes(&format!("{rig}{two}"), &[]), ["storage-needs-adapter"]);
    assert_eq!(codes(&format!("{rig}{two}"), &[("disks.attach", "hba0[1]")]), [""; 0]);
}

#[test]
fn workers_of_all_managers_together_are_bounded() {
    let text = format!(
        "{RIG}{STORAGE}[[workload]]\nkind = \"iometer\"\nname = \"w\"\ntargets = [\"disks\"]\naccess = [{{ size = \"4 KiB\" }}]\n"
    );
    let with = |managers, workers| {
        codes(&text, &[("workload.w.managers", managers), ("workload.w.workers", workers)])
    };
    assert_eq!(with("64", "64"), [""; 0]);
    assert_eq!(with("65", "64"), ["out-of-range"]);
    assert_eq!(with("4096", "4096"), ["out-of-range"]);
}

#[test]
fn a_drive_named_twice_is_a_mistake() {
    let text = format!(
        "{RIG}nvme = {{ capacity = \"1 TB\" }}\n[[workload]]\nkind = \"fio\"\nfilename = [\"nic0\", \"nic0[*]\"]\nrw = \"read\"\n"
    );
    assert_eq!(codes(&text, &[]), ["duplicate-name"]);
    let text = format!(
        "{RIG}{STORAGE}[[workload]]\nkind = \"iometer\"\ntargets = [\"disks\", \"disks\"]\naccess = [{{ size = \"4 KiB\" }}]\n"
    );
    assert_eq!(codes(&text, &[]), ["duplicate-name"]);
}

#[test]
fn a_game_names_its_scenes_differently_and_takes_what_they_do_not_say_from_the_workload() {
    let game = |scenes: &str| {
        rig_with(&format!("[[workload]]\nkind = \"frames\"\ngpus = [\"nic0\"]\nscenes = [{scenes}]\n"))
    };
    assert_eq!(game("{ name = \"forest\", batches = 900 }, { name = \"canyon\", scored = false }"), [""; 0]);
    assert_eq!(game("{ name = \"forest\" }, { name = \"forest\" }"), ["duplicate-name"]);
    assert_eq!(game("{ batches = 900 }"), ["missing-key"]);
    assert_eq!(game("{ name = \"forest\", batches = 0 }"), ["out-of-range"]);
}

#[test]
fn every_system_runs_on_a_host_that_runs_no_other() {
    let system = |name: &str, host: &str| format!("[system.{name}]\nattach = \"{host}\"\n");
    assert_eq!(rig_with(&system("os", "server")), [""; 0]);
    assert_eq!(rig_with(&system("os", "nic0")), ["unknown-device"]);
    assert_eq!(rig_with(&(system("os", "server") + &system("other", "server"))), ["slot-occupied"]);
}

#[test]
fn infiniband_has_only_some_widths() {
    let nic = |name: &str, slot: &str| {
        format!("[endpoint.{name}]\npart = \"mellanox-connectx-5\"\nattach = \"server.{slot}\"\n")
    };
    let rig = RIG.split("[endpoint").next().unwrap();
    let text = |lanes: u32| {
        let cable =
            format!("[network.cable]\nkind = \"infiniband-edr\"\nends = [\"a\", \"b\"]\nlanes = {lanes}\n");
        format!("{rig}{}{}{cable}", nic("a", "slot1"), nic("b", "slot2"))
    };
    assert_eq!(codes(&text(4), &[]), [""; 0]);
    assert_eq!(codes(&text(5), &[]), ["unknown-choice"]);
}

#[test]
fn a_component_without_a_name_hears_that_it_has_one() {
    let hints = |text: &str| {
        let records = load(&Source::from_text("rig.toml", text), &[]).unwrap_err().records();
        records.iter().filter(|record| record.code != "no-host").map(|r| r.hint.clone()).collect::<Vec<_>>()
    };
    let host = Some("a component has a name: `[host.NAME]`".to_owned());
    assert_eq!(hints("[host]\nslots = { a = \"gen4 x4\" }\n"), [host]);
    let endpoint = Some("a component has a name: `[endpoint.NAME]`".to_owned());
    assert_eq!(hints("[host.h]\nslots = { a = \"gen4 x4\" }\n[[endpoint]]\n"), [endpoint]);
}

#[test]
fn slots_have_names_that_paths_can_hold() {
    for name in ["\"e 1\"", "\"a.b\"", "\"d1..d0\""] {
        let text = RIG.replace("slot2 =", &format!("{name} ="));
        assert_eq!(codes(&text, &[]), ["bad-name"], "{name}");
    }
}
