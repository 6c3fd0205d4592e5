//! Parts that may be meant by a name that none has: people know what is printed on a device, or its family.

use super::Catalog;
use crate::document::shortened;
use crate::nearest::nearest;
use crate::value::one_of;

/// So many parts are named in a hint; of more, where to find them is said.
const MOST_OFFERED: usize = 4;

/// Names and titles have fewer bytes.
const LONGEST: usize = 256;

/// What a part is called, and the words of its name and title.
struct Known<'a> {
    name: &'a str,
    words: Vec<String>,
}

impl Catalog {
    /// Names of the parts that may be meant by a name or a few words, in order: those that have all of it in their names and
    /// titles, or else those with the rarest of it.
    pub fn like(&self, asked: &str) -> Vec<&str> {
        let parts = self.known();
        let found = with_all(&parts, asked);
        if found.is_empty() { with_the_rarest(&parts, asked) } else { found }
    }

    /// A hint for a name that no part has. A slip of the keyboard is more probable than a choice among parts that share a word or two.
    pub fn offer(&self, asked: &str) -> String {
        let parts = self.known();
        let mut like = with_all(&parts, asked);
        if like.is_empty() {
            like = with_the_rarest(&parts, asked);
            if like.len() != 1 {
                let misspelt = self.misspelt(asked);
                like = if misspelt.is_empty() { like } else { misspelt };
            }
        }
        match &like[..] {
            [] => "`lanewise parts` lists the catalog".to_owned(),
            few if few.len() <= MOST_OFFERED => format!("did you mean {}?", one_of(few, '`')),
            _ => format!("`lanewise parts {}` lists {} that are like it", shortened(asked), like.len()),
        }
    }

    /// All parts with their words.
    fn known(&self) -> Vec<Known<'_>> {
        self.files.iter().map(|(name, file)| Known::read(name, &file.text)).collect()
    }

    /// The parts whose names are nearest, with the maker, which few people write, or without.
    fn misspelt(&self, asked: &str) -> Vec<&str> {
        let plain = asked.to_ascii_lowercase();
        let as_near = |as_written: fn(&str) -> &str| {
            let near = nearest(asked, self.names().map(as_written))?;
            let distance = strsim::osa_distance(near, &plain);
            let is_as_near = |part: &&str| strsim::osa_distance(as_written(part), &plain) == distance;
            // Two names of which a third differs are two parts, not one and a slip.
            (distance * 3 < plain.len()).then(|| self.names().filter(is_as_near).collect())
        };
        as_near(|part| part).or_else(|| as_near(beyond_maker)).unwrap_or_default()
    }
}

impl<'a> Known<'a> {
    /// A part as its file has it, of which the first lines are the head.
    fn read(name: &'a str, text: &str) -> Self {
        let title = text.lines().find_map(|line| line.strip_prefix("title = ")).unwrap_or_default();
        let mut words = words_of(name);
        words.extend(words_of(title));
        Self { name, words }
    }

    /// Whether a word of it begins with this one; of two letters or one, whether it has this word.
    fn has_begun(&self, word: &str) -> bool {
        self.words.iter().any(|own| if word.len() > 2 { own.starts_with(word) } else { own == word })
    }
}

/// The name of a part without its maker.
fn beyond_maker(part: &str) -> &str {
    part.split_once('-').map_or(part, |(_, rest)| rest)
}

/// The parts that have all of what was asked for in their names, or all of its words in names and titles.
fn with_all<'a>(parts: &[Known<'a>], asked: &str) -> Vec<&'a str> {
    let (plain, words) = (asked.to_ascii_lowercase(), words_of(asked));
    let has_all = |part: &&Known<'a>| {
        (plain.len() > 2 && part.name.contains(&plain))
            || (!words.is_empty() && words.iter().all(|word| part.has_begun(word)))
    };
    parts.iter().filter(has_all).map(|part| part.name).collect()
}

/// Letters and digits that stand together, in small letters. Of a text that is longer than any name, none.
fn words_of(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    if text.len() > LONGEST { Vec::new() } else { words.map(str::to_ascii_lowercase).collect() }
}

/// The parts that share most of these words, where a word that few parts have counts for more, and a number for twice as much as a
/// name, which may be that of a maker of before. None that has one word of several, or lacks all numbers where numbers were asked for:
/// what is common then is a maker, or chance.
fn with_the_rarest<'a>(parts: &[Known<'a>], asked: &str) -> Vec<&'a str> {
    let mut words = words_of(asked);
    let least = words.len().min(2);
    words.extend(family(&words));
    let has_digit = |word: &str| word.contains(|c: char| c.is_ascii_digit());
    let is_number = |word: &str| word.len() > 1 && has_digit(word);
    let asks_for_number = words.iter().any(|word| is_number(word));
    let tells = |word: &String| {
        let parts_with = parts.iter().filter(|part| part.words.contains(word)).count();
        let weight = if has_digit(word) { 2.0 } else { 1.0 };
        weight / parts_with.max(1) as f64
    };
    let told: Vec<f64> = words.iter().map(tells).collect();
    let weight = |part: &Known<'a>| {
        let shared = words.iter().zip(&told).filter(|(word, _)| part.words.contains(word));
        let has_number = !asks_for_number || shared.clone().any(|(word, _)| is_number(word));
        let is_told = has_number && shared.clone().count() >= least;
        if is_told { shared.map(|(_, tells)| tells).sum() } else { 0.0 }
    };
    let weights: Vec<f64> = parts.iter().map(weight).collect();
    let most = weights.iter().copied().fold(0.0, f64::max);
    let best = parts.iter().zip(&weights).filter(|(_, weight)| most > 0.0 && most - **weight < 1e-9);
    best.map(|(part, _)| part.name).collect()
}

/// Words for the family of a processor, of which the number on it says the series and the generation: the EPYC 7763 is a 7003, the
/// Xeon Platinum 8480 is of the 4th generation, the Ryzen 7950X is a 7000.
fn family(words: &[String]) -> Vec<String> {
    let has = |word: &str| words.iter().any(|own| own == word);
    let mut found = Vec::new();
    for word in words {
        let digits = word.bytes().take_while(u8::is_ascii_digit).count();
        let (number, letters) = word.split_at(digits);
        let [series, generation, _, last] = *number.as_bytes() else { continue };
        let (series, generation, last) = (char::from(series), char::from(generation), char::from(last));
        if has("epyc") {
            found.push(format!("{series}00{last}"));
        }
        if has("ryzen") || has("threadripper") {
            found.extend([format!("{series}000"), format!("{series}000{letters}")]);
        }
        if has("xeon") && ('3'..='9').contains(&series) {
            let place = match generation {
                '1' => "1st",
                '2' => "2nd",
                '3' => "3rd",
                '4' => "4th",
                '5' => "5th",
                _ => continue,
            };
            found.extend(["scalable".to_owned(), place.to_owned()]);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use crate::catalog::catalog;

    #[test]
    fn what_people_call_a_part_finds_it() {
        let catalog = catalog();
        for (asked, parts) in [
            ("amd-epyc-9004", &["amd-genoa"][..]),
            ("epyc-7763", &["amd-milan"]),
            ("EPYC 9654", &["amd-genoa"]),
            ("epyc-genoa", &["amd-genoa"]),
            ("xeon-platinum-8480", &["intel-sapphire-rapids"]),
            ("xeon-gold-6338", &["intel-ice-lake-sp"]),
            ("ryzen-7950x", &["amd-ryzen-am5"]),
            ("power9", &["ibm-lc922", "wistron-p91d2"]),
            ("geforce-4090", &["nvidia-rtx-4090"]),
            ("mellanox-connectx-7", &["nvidia-connectx-7"]),
            ("t4", &["nvidia-t4"]),
            ("990-pro", &["samsung-990-pro"]),
        ] {
            assert_eq!(catalog.like(asked), parts, "{asked}");
        }
        assert!(catalog.like("epyc").len() > 6, "all that have the word in their titles");
    }

    #[test]
    fn what_is_like_no_part_finds_none() {
        for asked in ["graviton3", "cx7", "intel-8086", "acme-3000", "zzz", "", "-", &"x".repeat(10_000)] {
            assert_eq!(catalog().like(asked), [""; 0], "{asked}");
            assert_eq!(catalog().offer(asked), "`lanewise parts` lists the catalog", "{asked}");
        }
    }

    #[test]
    fn a_hint_names_few_parts_and_counts_many() {
        let offer = |asked| catalog().offer(asked);
        assert_eq!(offer("epyc-7763"), "did you mean `amd-milan`?");
        assert_eq!(offer("power9"), "did you mean `ibm-lc922` or `wistron-p91d2`?");
        assert!(offer("epyc").starts_with("`lanewise parts epyc` lists "), "{}", offer("epyc"));
        assert_eq!(offer("generic-gen4-x5"), "did you mean `generic-gen4-x4`?");
        assert_eq!(offer("pm9a4"), "did you mean `samsung-pm9a1` or `samsung-pm9a3`?");
        assert_eq!(offer("sas3810e"), "did you mean `lsi-sas3801e`?");
        assert_eq!(offer("zzz"), "`lanewise parts` lists the catalog");
    }
}
