//! What was meant by a name that means nothing here: a near spelling, or a word that others have for the same.

/// Words that people and other tools have for keys of a scenario. Of several keys, the first that the table has is meant.
const OTHER_WORDS: [(&str, &[&str]); 22] = [
    ("gen", &["generation"]),
    ("speed", &["generation"]),
    ("link_speed", &["generation"]),
    ("lanes", &["width"]),
    ("link_width", &["width"]),
    ("parent", &["attach"]),
    ("connect", &["attach", "ends"]),
    ("connected_to", &["attach"]),
    ("slot", &["slots", "attach"]),
    ("slots", &["ports", "attach"]),
    ("port", &["ports", "slots", "attach"]),
    ("ports", &["slots", "ends"]),
    ("max_payload", &["mps"]),
    ("max_payload_size", &["mps"]),
    ("max_read_request", &["mrrs"]),
    ("max_read_request_size", &["mrrs"]),
    ("number", &["count"]),
    ("read_latency", &["memory_latency"]),
    ("type", &["kind"]),
    ("blocksize", &["bs", "size"]),
    ("block_size", &["size", "bs"]),
    ("qd", &["outstanding", "iodepth"]),
];

/// Words for the same among the keys of runs and workloads.
const OTHER_WORDS_OF_RUNS: [(&str, &[&str]); 9] = [
    ("queue_depth", &["outstanding", "iodepth"]),
    ("depth", &["outstanding", "iodepth"]),
    ("duration", &["time_limit"]),
    ("runtime", &["time_limit"]),
    ("time", &["time_limit"]),
    ("warmup", &["warm_up"]),
    ("endpoint", &["device"]),
    ("drives", &["filename", "targets"]),
    ("threads", &["numjobs", "workers"]),
];

/// Words for the tables of a scenario.
const OTHER_TABLES: [(&str, &str); 27] = [
    ("device", "endpoint"),
    ("devices", "endpoint"),
    ("card", "endpoint"),
    ("gpu", "endpoint"),
    ("nic", "endpoint"),
    ("hba", "endpoint"),
    ("fpga", "endpoint"),
    ("nvme", "endpoint"),
    ("ssd", "endpoint"),
    ("drive", "endpoint"),
    ("disk", "storage"),
    ("disks", "storage"),
    ("server", "host"),
    ("cpu", "host"),
    ("root_complex", "host"),
    ("root", "host"),
    ("bridge", "switch"),
    ("cable", "network"),
    ("wire", "network"),
    ("os", "system"),
    ("simulation", "run"),
    ("settings", "run"),
    ("global", "run"),
    ("bios", "firmware"),
    ("job", "workload"),
    ("traffic", "workload"),
    ("test", "workload"),
];

/// The key among those allowed that was meant by another.
pub(crate) fn key_meant<'a>(found: &str, allowed: &[&'a str]) -> Option<&'a str> {
    let has = |key: &str| allowed.iter().copied().find(|allowed| *allowed == key);
    let plain = found.to_ascii_lowercase().replace('-', "_");
    let other_words = OTHER_WORDS.iter().chain(&OTHER_WORDS_OF_RUNS);
    let same = |key: &&&'a str| key.trim_end_matches('s') == plain.trim_end_matches('s');
    has(&plain)
        .or_else(|| allowed.iter().find(same).copied())
        .or_else(|| {
            let (_, keys) = other_words.clone().find(|(word, _)| *word == plain)?;
            keys.iter().find_map(|key| has(key))
        })
        .or_else(|| nearest(found, allowed.iter().copied()))
}

/// The table that was meant by another, among the kinds of components and the sections.
pub(crate) fn table_meant<'a>(found: &str, tables: &[&'a str]) -> Option<&'a str> {
    let plain = found.to_ascii_lowercase();
    let other = OTHER_TABLES.iter().find(|(word, _)| *word == plain).map(|(_, table)| *table);
    let has = |table: &str| tables.iter().copied().find(|known| *known == table);
    other.and_then(has).or_else(|| nearest(found, tables.iter().copied()))
}

/// "did you mean `latency`?", for the candidate that is most like what was found, if any is.
pub(crate) fn did_you_mean<'a>(found: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(found, candidates).map(asking)
}

/// The question that offers a name.
pub(crate) fn asking(name: impl std::fmt::Display) -> String {
    format!("did you mean `{name}`?")
}

/// The candidate that is most like what was found, if any is.
pub(crate) fn nearest<'a>(found: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Similarity is quadratic in the length; a name this long is no slip of the keyboard.
    if found.len() > 64 {
        return None;
    }
    let lower = found.to_ascii_lowercase();
    let near = |candidate: &'a str| {
        let other = candidate.to_ascii_lowercase();
        let similarity = strsim::jaro_winkler(&lower, &other);
        // A slip changes few letters; among as many changes, an equal start tells.
        is_near(&lower, &other).then(|| (strsim::osa_distance(&lower, &other), -similarity, candidate))
    };
    candidates
        .into_iter()
        .filter_map(near)
        .min_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)))
        .map(|(.., candidate)| candidate)
}

/// Whether one is a misspelling of the other. Of names with several words each word has to be: `read_latency` is not
/// `fec_latency`.
fn is_near(one: &str, other: &str) -> bool {
    let words = |name: &str| name.split(['_', '-']).map(str::to_owned).collect::<Vec<_>>();
    let (ones, others) = (words(one), words(other));
    // Of short words one letter is all that tells them apart: it is a slip within a longer name, not for a name.
    let alike = |one: &str, other: &str, shortest: usize| {
        let one_slip = one.len() >= shortest && strsim::osa_distance(one, other) == 1;
        one == other || one_slip || strsim::jaro_winkler(one, other) > 0.8
    };
    match ones.len() == others.len() && ones.len() > 1 {
        true => ones.iter().zip(&others).all(|(one, other)| alike(one, other, 1)),
        false => alike(one, other, 3),
    }
}

/// What there is to choose from, as a sentence; nothing when there is nothing, or too much to read.
pub(crate) fn listing<'a>(what: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    let names: Vec<&str> = names.take(13).collect();
    (1..=12).contains(&names.len()).then(|| format!("{what} here: {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_suggested_and_far_ones_are_not() {
        assert_eq!(nearest("latncy", ["latency", "core"]), Some("latency"));
        assert_eq!(nearest("dam", ["copy", "dma"]), Some("dma"));
        assert_eq!(nearest("zzz", ["latency", "core"]), None);
        assert_eq!(nearest("read_latency", ["fec_latency", "forward_latency"]), None);
        let parts = ["generic-gen4-x4", "generic-gen5-x4", "generic-gen5-x8"];
        assert_eq!(nearest("generic-gen4-x5", parts), Some("generic-gen4-x4"));
        assert_eq!(nearest("SIZE", ["size", "span"]), Some("size"));
    }

    #[test]
    fn another_word_for_a_key_is_known_where_the_table_has_the_key() {
        assert_eq!(key_meant("lanes", &["generation", "width"]), Some("width"));
        assert_eq!(key_meant("qd", &["iodepth", "bs"]), Some("iodepth"));
        assert_eq!(key_meant("time-limit", &["time_limit"]), Some("time_limit"));
        assert_eq!(key_meant("lanes", &["count"]), None);
        assert_eq!(table_meant("gpu", &["host", "endpoint"]), Some("endpoint"));
    }
}
