//! One sort for everything that is sorted a few times a run. Each list that [`slice::sort_by`] sorts adds five thousand bytes to the
//! program, and here a few hundred; a list that is sorted with the events is better off with that. A tree that is collected from an
//! iterator sorts a list first, with a sort of its own: [`map`] and [`set`] do without.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// A map of these; of one key, the last value.
pub fn map<K: Ord, V>(entries: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, V> {
    let mut map = BTreeMap::new();
    map.extend(entries);
    map
}

/// A set of these.
pub fn set<T: Ord>(items: impl IntoIterator<Item = T>) -> BTreeSet<T> {
    let mut set = BTreeSet::new();
    set.extend(items);
    set
}

/// Sorts numbers and the like.
pub fn sort<T: Ord + Copy>(list: &mut [T]) {
    sort_by_key(list, |item| *item);
}

/// Adds an item to a sorted list, unless it is there.
pub fn add<T: Ord>(sorted: &mut Vec<T>, item: T) {
    if let Err(place) = sorted.binary_search(&item) {
        sorted.insert(place, item);
    }
}

/// Sorts a list by keys, each of which is asked for once, and leaves what has equal keys in its order.
pub fn sort_by_key<T, K: Ord>(list: &mut [T], key: impl Fn(&T) -> K) {
    let keys: Vec<K> = list.iter().map(key).collect();
    arrange(list, places(keys.len(), &|one, other| keys[one].cmp(&keys[other])));
}

/// Sorts a list, and leaves what is equal in its order.
pub fn sort_by<T>(list: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    arrange(list, places(list.len(), &|one, other| compare(&list[one], &list[other])));
}

/// Brings each item to its place.
fn arrange<T>(list: &mut [T], mut places: Vec<usize>) {
    for at in 0..list.len() {
        while places[at] != at {
            let place = places[at];
            list.swap(at, place);
            places.swap(at, place);
        }
    }
}

/// The place of each item in the sorted list.
#[inline(never)]
fn places(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut sorted: Vec<usize> = (0..count).collect();
    sorted.sort_by(|one, other| compare(*one, *other));
    let mut places = vec![0; count];
    for (place, item) in sorted.into_iter().enumerate() {
        places[item] = place;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_is_added_once_and_in_its_place() {
        let mut sorted = Vec::new();
        for item in [4, 1, 4, 9, 0, 1] {
            add(&mut sorted, item);
        }
        assert_eq!(sorted, [0, 1, 4, 9]);
    }

    #[test]
    fn a_list_is_sorted_as_the_library_sorts_it() {
        for count in 0..70 {
            // Keys that repeat, in an order of no meaning.
            let unsorted: Vec<(u64, u64)> = (0..count).map(|at| (at * at * 31 % 17, at)).collect();
            let (mut ours, mut theirs) = (unsorted.clone(), unsorted);
            sort_by_key(&mut ours, |(key, _)| *key);
            theirs.sort_by_key(|(key, _)| *key);
            assert_eq!(ours, theirs);
            sort_by(&mut ours, |one, other| other.cmp(one));
            theirs.sort_by(|one, other| other.cmp(one));
            assert_eq!(ours, theirs);
            assert_eq!(map(theirs.clone()), theirs.iter().copied().collect());
            assert_eq!(set(theirs.clone()), theirs.into_iter().collect());
        }
    }
}
