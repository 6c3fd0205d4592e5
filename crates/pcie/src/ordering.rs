//! The ordering table as data. PCIe Base §2.4.1, Table 2-42.
//!
//! Rows are the second transaction, columns the first: may the later one pass the earlier one? Rules hold
//! within one traffic class; nothing is ordered between different virtual channels. Leaves out: PASID as a
//! condition of ID-based ordering, the extra duty of bridges to PCI, and unordered I/O.

/// What the ordering table tells apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum OrderingClass {
    /// Memory writes and messages.
    Posted,
    /// Reads of memory, I/O and configuration space.
    ReadRequest,
    /// Configuration and I/O writes, AtomicOps.
    NonPostedWithData,
    /// Completions with data or without.
    Completion,
}

impl OrderingClass {
    /// Every class, in table order.
    pub const ALL: [Self; 4] = [Self::Posted, Self::ReadRequest, Self::NonPostedWithData, Self::Completion];
}

/// What the table asks about the second transaction; nothing set is the strictest answer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct OrderingAttributes {
    /// Its Relaxed Ordering attribute, bit 1.
    pub relaxed: bool,
    /// Its ID-based Ordering attribute, bit 2.
    pub id_based: bool,
    /// It comes from another requester than the first transaction; for a completion, its completer is not the
    /// first one's requester.
    pub other_source: bool,
    /// Both are completions, of different requests.
    pub other_request: bool,
    /// It is the completion of an I/O or configuration write.
    pub answers_register_write: bool,
}

/// Whether the second transaction may pass the first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Passing {
    /// It must not.
    No,
    /// It must be able to, lest the system deadlock.
    Yes,
    /// It may or may not.
    Allowed,
}

/// One cell of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cell {
    Fixed(Passing),
    /// No, but allowed with Relaxed Ordering or with ID-based ordering and another source.
    RelaxedOrId,
    /// No, but allowed with ID-based ordering and another source.
    IdOnly,
    /// As [`Cell::RelaxedOrId`], and allowed for completions of I/O and configuration writes.
    RelaxedOrIdOrRegisterWrite,
    /// No within one request, allowed between different ones.
    OtherRequestOnly,
}

/// PCIe Base Table 2-42: rows are the second transaction, columns the first, in the order of
/// [`OrderingClass`].
const TABLE: [[Cell; 4]; 4] = {
    const MAY: Cell = Cell::Fixed(Passing::Allowed);
    const MUST: Cell = Cell::Fixed(Passing::Yes);
    [
        [Cell::RelaxedOrId, MUST, MUST, MAY],
        [Cell::IdOnly, MAY, MAY, MAY],
        [Cell::RelaxedOrId, MAY, MAY, MAY],
        [Cell::RelaxedOrIdOrRegisterWrite, MUST, MUST, Cell::OtherRequestOnly],
    ]
};

/// Whether `second`, which arrived later and has these attributes, may pass `first`.
#[inline]
pub const fn may_pass(
    second: OrderingClass,
    attributes: OrderingAttributes,
    first: OrderingClass,
) -> Passing {
    let by_id = attributes.id_based && attributes.other_source;
    let relaxed_or_id = attributes.relaxed || by_id;
    let allowed = match TABLE[second as usize][first as usize] {
        Cell::Fixed(passing) => return passing,
        Cell::RelaxedOrId => relaxed_or_id,
        Cell::IdOnly => by_id,
        Cell::RelaxedOrIdOrRegisterWrite => relaxed_or_id || attributes.answers_register_write,
        Cell::OtherRequestOnly => attributes.other_request,
    };
    if allowed { Passing::Allowed } else { Passing::No }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: OrderingAttributes = OrderingAttributes {
        relaxed: false,
        id_based: false,
        other_source: false,
        other_request: false,
        answers_register_write: false,
    };

    /// The whole table for a second transaction with these attributes.
    fn table(attributes: OrderingAttributes) -> [String; 4] {
        OrderingClass::ALL.map(|row| {
            let cells = OrderingClass::ALL.map(|column| match may_pass(row, attributes, column) {
                Passing::No => "N",
                Passing::Yes => "Y",
                Passing::Allowed => "a",
            });
            cells.concat()
        })
    }

    /// PCIe Base Table 2-42: N no, Y must be able to, a either; columns posted, read, non-posted data,
    /// completion.
    #[test]
    fn the_plain_table() {
        assert_eq!(table(PLAIN), ["NYYa", "Naaa", "Naaa", "NYYN"]);
        assert_eq!(OrderingAttributes::default(), PLAIN);
    }

    #[test]
    fn relaxed_ordering_frees_all_but_reads() {
        let relaxed = OrderingAttributes { relaxed: true, ..PLAIN };
        assert_eq!(table(relaxed), ["aYYa", "Naaa", "aaaa", "aYYN"]);
    }

    #[test]
    fn id_based_ordering_frees_other_sources_only() {
        let same = OrderingAttributes { id_based: true, ..PLAIN };
        assert_eq!(table(same), table(PLAIN));
        let other = OrderingAttributes { other_source: true, ..same };
        assert_eq!(table(other), ["aYYa", "aaaa", "aaaa", "aYYN"]);
    }

    #[test]
    fn completions_of_register_writes_may_pass_posted() {
        let register = OrderingAttributes { answers_register_write: true, ..PLAIN };
        assert_eq!(table(register)[3], "aYYN");
    }

    #[test]
    fn completions_of_different_requests_may_pass_each_other() {
        let other = OrderingAttributes { other_request: true, ..PLAIN };
        assert_eq!(table(other)[3], "NYYa");
    }

    /// What is passed need not be known closer than by its flow class.
    #[test]
    fn all_non_posted_requests_are_passed_alike() {
        for bits in 0..32 {
            let has = |bit: u32| bits >> bit & 1 == 1;
            let attributes = OrderingAttributes {
                relaxed: has(0),
                id_based: has(1),
                other_source: has(2),
                other_request: has(3),
                answers_register_write: has(4),
            };
            for second in OrderingClass::ALL {
                let past = |first| may_pass(second, attributes, first);
                assert_eq!(past(OrderingClass::ReadRequest), past(OrderingClass::NonPostedWithData));
            }
        }
    }
}
