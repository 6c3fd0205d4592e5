//! What a part of the catalog need not write at each value: the source that stands once in its head, and what it takes over
//! from a relative that it is `like`, or from the part that it is.

use crate::document::{Node, Table, Value};

/// The source of all values that are written plainly, from the head of a part.
#[derive(Clone, Debug)]
pub(crate) struct Citation {
    /// How they are known, as written.
    pub provenance: Node,
    /// Source, in a sentence, as written.
    pub source: Node,
}

/// Gives every plain value the source of the head. Values with a source of their own keep it.
pub(crate) fn cite(table: &mut Table, citation: &Citation) {
    for entry in table.iter_mut() {
        let place = entry.node.place;
        match &mut entry.node.value {
            Value::Table(inner) if inner.get("value").is_some() => {}
            Value::Table(group) => cite(group, citation),
            plain => {
                let node = Node { place, value: std::mem::replace(plain, Value::Boolean(true)) };
                let mut sourced = Table::with_one("value", node);
                sourced.set("provenance", citation.provenance.clone());
                sourced.set("source", citation.source.clone());
                *plain = Value::Table(sourced);
            }
        }
    }
}

/// Tables that are taken over as a whole or not at all: another board has other slots.
const WHOLE: [&str; 2] = ["slots", "ports"];

/// Adds what a relative states and the part does not. It is assumed of the part, whatever it is of the relative, and its source
/// says of whom it is known, and how.
pub(crate) fn take_over(own: &mut Table, relative: &str, theirs: Table) {
    add_missing(own, theirs, &mut |node| attribute(node, relative));
}

/// Adds what is known of the same device and the part does not state. It is known as well as before.
pub(crate) fn add_known(own: &mut Table, theirs: Table) {
    add_missing(own, theirs, &mut |_| {});
}

/// Adds the values of another part that this one does not state, each after `change`.
fn add_missing(own: &mut Table, theirs: Table, change: &mut dyn FnMut(&mut Node)) {
    let is_group = |node: &Node| node.as_table().is_some_and(|table| table.get("value").is_none());
    for mut entry in theirs.into_entries() {
        let Some(node) = own.get_mut(&entry.key) else {
            change(&mut entry.node);
            own.push(entry);
            continue;
        };
        if WHOLE.contains(&entry.key.as_str()) || !is_group(node) || !is_group(&entry.node) {
            continue;
        }
        if let (Value::Table(group), Value::Table(their_group)) = (&mut node.value, entry.node.value) {
            add_missing(group, their_group, change);
        }
    }
}

/// Says of every sourced value that it is a relative's.
fn attribute(node: &mut Node, relative: &str) {
    let Value::Table(table) = &mut node.value else { return };
    if table.get("value").is_none() {
        table.iter_mut().for_each(|entry| attribute(&mut entry.node, relative));
        return;
    }
    let text = |key: &str| table.get(key).and_then(Node::as_str).unwrap_or_default().to_owned();
    let (provenance, source) = (text("provenance"), text("source"));
    let known = if provenance == "assumed" { String::new() } else { format!(", {provenance}") };
    let place = node.place;
    let written = |text: String| Node { place, value: Value::String(text) };
    table.set("provenance", written("assumed".to_owned()));
    table.set("source", written(format!("as {relative}{known}: {source}")));
}

#[cfg(test)]
mod tests {
    use crate::catalog::{Catalog, PartListing, catalog};
    use crate::source::SourceFile;

    const DRIVE: &str = "title = 'A'\nkind = 'endpoint'\n[parameters]\n\
        generation = { value = 'gen4', provenance = 'datasheet', source = 'sheet' }\n\
        width = { value = 'x4', provenance = 'datasheet', source = 'sheet' }\n\
        tags = { value = 64, provenance = 'assumed', source = 'guess' }\n\
        [parameters.nvme]\n\
        read_rate = { value = '7 GB/s', provenance = 'published', source = 'review' }\n\
        capacity = { value = '2 TB', provenance = 'published', source = 'review' }\n";

    const HOST: &str = "title = 'H'\nkind = 'host'\n[parameters.slots]\n\
        \"slot1..slot4\" = { value = 'gen4 x16', provenance = 'assumed', source = 'board' }\n";

    fn with(parts: &[(&str, &str)]) -> Catalog {
        let mut all = catalog();
        for (name, text) in parts {
            all.add(name, SourceFile::new(format!("{name}.toml"), *text));
        }
        all
    }

    fn listed(all: &Catalog, name: &str) -> PartListing {
        let parts = all.list().unwrap_or_else(|problems| panic!("{problems}"));
        parts.into_iter().find(|part| part.name == name).expect("it is in the catalog")
    }

    fn rows(part: &PartListing) -> Vec<String> {
        let row = |p: &crate::parameter::ResolvedParameter| {
            format!("{} {} {} {}", p.path, p.value, p.provenance.word(), p.source)
        };
        part.parameters.iter().map(row).collect()
    }

    #[test]
    fn what_is_taken_over_is_assumed_and_says_of_whom_it_is_known() {
        let other = "title = 'B'\nlike = 'one'\nprovenance = 'published'\nsource = 'test of B'\n\
            [parameters]\nnvme.read_rate = '5 GB/s'\n";
        let third = "title = 'C'\nlike = 'two'\n[parameters]\n";
        let all = with(&[("one", DRIVE), ("two", other), ("three", third)]);
        let two = [
            "generation gen4 assumed as one, datasheet: sheet",
            "width x4 assumed as one, datasheet: sheet",
            "tags 64 assumed as one: guess",
            "nvme.capacity 2 TB assumed as one, published: review",
            "nvme.read_rate 5 GB/s published test of B",
        ];
        assert_eq!(rows(&listed(&all, "two")), two);
        let mut three = two;
        three[4] = "nvme.read_rate 5 GB/s assumed as two, published: test of B";
        assert_eq!(rows(&listed(&all, "three")), three, "a value names the part that states it");
    }

    #[test]
    fn a_part_that_is_another_keeps_what_is_known_of_it() {
        let own = "title = 'B'\npart = 'one'\n[parameters]\n\
            tags = { value = 48, provenance = 'calibrated', source = 'a fit', fitted_on = ['my.csv 1'] }\n";
        let all = with(&[("one", DRIVE), ("two", own), ("three", "title = 'C'\nlike = 'two'\n")]);
        let mut two = rows(&listed(&all, "two"));
        two.sort();
        let known = [
            "generation gen4 datasheet sheet",
            "nvme.capacity 2 TB published review",
            "nvme.read_rate 7 GB/s published review",
            "tags 48 calibrated a fit",
            "width x4 datasheet sheet",
        ];
        assert_eq!(two, known);
        let three = rows(&listed(&all, "three"));
        assert!(three.contains(&"tags 48 assumed as two, calibrated: a fit".to_owned()), "{three:?}");
    }

    #[test]
    fn slots_are_taken_over_as_a_whole_or_not_at_all() {
        let own = "title = 'B'\nlike = 'one'\n[parameters.slots]\n\
            slot1 = { value = 'gen3 x8', provenance = 'assumed', source = 'its board' }\n";
        let all = with(&[("one", HOST), ("two", own), ("three", "title = 'C'\nlike = 'one'\n")]);
        assert_eq!(rows(&listed(&all, "two")).len(), 1);
        assert_eq!(rows(&listed(&all, "three")).len(), 4);
    }

    #[test]
    fn wrong_relatives_are_told() {
        let codes = |parts: &[(&str, &str)]| with(parts).list().unwrap_err().codes();
        assert_eq!(codes(&[("one", "title = 'A'\nlike = 'nothing-of-the-kind'\n")]), ["unknown-part"]);
        let circle = [("one", "title = 'A'\nlike = 'two'\n"), ("two", "title = 'B'\nlike = 'one'\n")];
        assert_eq!(codes(&circle), ["malformed-part", "malformed-part"]);
        let kinds = [("one", DRIVE), ("two", "title = 'B'\nkind = 'host'\nlike = 'one'\n")];
        assert_eq!(codes(&kinds), ["malformed-part"]);
        assert_eq!(codes(&[("one", "title = 'A'\npart = 'nothing-of-the-kind'\n")]), ["unknown-part"]);
        let both = [("one", DRIVE), ("two", "title = 'B'\nlike = 'one'\npart = 'one'\n")];
        assert_eq!(codes(&both), ["malformed-part"]);
        let half = [("one", "title = 'A'\nkind = 'endpoint'\nsource = 'x'\n[parameters]\ntags = 8\n")];
        assert_eq!(codes(&half), ["malformed-part"]);
    }
}
