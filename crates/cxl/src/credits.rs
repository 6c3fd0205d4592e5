//! Credits of a class: one for each message, whatever its size, and how many of them one flit gives back.
//!
//! CXL 3.1 §4.2.2, Table 4-4: a field of three bits for each class in the header of a 68 B flit, and in an LLCRD flit, stands for
//! 0, 1, 2, 4 … 64 credits. Table 4-19: in a 256 B flit for 0, 1, 4, 8, 12 or 16.

use crate::flit::FlitFormat;

/// How many of the credits that are owed one flit gives back: the largest number that its field can say.
pub const fn given_back(format: FlitFormat, owed: u32) -> u32 {
    match (format, owed) {
        (_, 0) => 0,
        (FlitFormat::Bytes68, 64..) => 64,
        (FlitFormat::Bytes68, _) => 1 << owed.ilog2(),
        (_, 16..) => 16,
        (_, 1..=3) => 1,
        (_, _) => owed / 4 * 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_say_what_the_tables_say() {
        let said =
            |format, owed: &[u32]| -> Vec<u32> { owed.iter().map(|n| given_back(format, *n)).collect() };
        let owed = [0, 1, 2, 3, 4, 7, 8, 15, 16, 33, 64, 200];
        assert_eq!(said(FlitFormat::Bytes68, &owed), [0, 1, 2, 2, 4, 4, 8, 8, 16, 32, 64, 64]);
        assert_eq!(said(FlitFormat::Bytes256, &owed), [0, 1, 1, 1, 4, 4, 8, 12, 16, 16, 16, 16]);
    }
}
