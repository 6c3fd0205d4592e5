//! Addresses of BARs, and windows of bridges: sizes from the leaves up, then addresses from the root down.

use super::{Function, Header, LEAST_BAR, LOW_END, LOW_START, Programmed, WINDOW_UNIT};
use core::fmt;
use core::ops::Range;
use lanewise_units::order;

/// BARs of 32 bits need more room than there is below 4 GiB.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoRoom {
    /// Bytes that they take, with the windows of the bridges above them.
    pub needed: u64,
    /// Bytes that there are.
    pub room: u64,
}

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [needed, room] = [self.needed, self.room].map(|bytes| bytes >> 20);
        write!(
            f,
            "BARs of 32 bits take {needed} MiB with the windows above them, and there are {room} MiB below 4 GiB"
        )
    }
}

impl core::error::Error for NoRoom {}

/// What takes up room in a window: a BAR of a device, or the window of a bridge further down.
#[derive(Clone, Copy, Debug)]
struct Piece {
    function: usize,
    /// Which BAR; of a bridge nothing.
    bar: usize,
    size: u64,
    alignment: u64,
    /// From the start of the window that it is in.
    offset: u64,
}

/// What is in one window, put in order.
#[derive(Clone, Debug, Default)]
struct Window {
    pieces: Vec<Piece>,
    size: u64,
    alignment: u64,
}

impl Window {
    /// Gives each piece its place: those with the largest alignment first, so that there are no gaps but before windows that are no
    /// power of two long.
    fn pack(&mut self) {
        self.pieces.reverse(); // They were found from the last function to the first.
        order::sort_by_key(&mut self.pieces, |piece| core::cmp::Reverse(piece.alignment));
        let mut end: u64 = 0;
        for piece in &mut self.pieces {
            piece.offset = end.next_multiple_of(piece.alignment);
            end = piece.offset + piece.size;
        }
        self.size = end.next_multiple_of(WINDOW_UNIT);
        self.alignment =
            self.pieces.first().map_or(WINDOW_UNIT, |largest| largest.alignment.max(WINDOW_UNIT));
    }
}

/// Below 4 GiB, and above: an index.
const LOW: usize = 0;
const HIGH: usize = 1;

/// Gives addresses to everything. Returns all that lie below 4 GiB, and above.
pub(super) fn place(
    functions: &[Function],
    high_base: u64,
    programmed: &mut [Programmed],
) -> Result<(Range<u64>, Range<u64>), NoRoom> {
    let mut root: [Window; 2] = Default::default();
    let mut windows: Vec<[Window; 2]> = Vec::new();
    windows.resize_with(functions.len(), Default::default);
    for (index, function) in functions.iter().enumerate().rev() {
        let mut own = core::mem::take(&mut windows[index]);
        own.iter_mut().for_each(Window::pack);
        let above = function.above.map_or(&mut root, |above| &mut windows[above]);
        match &function.header {
            Header::Bridge => {
                for (kind, window) in own.iter().enumerate().filter(|(_, window)| window.size > 0) {
                    let (size, alignment) = (window.size, window.alignment);
                    above[kind].pieces.push(Piece { function: index, bar: 0, size, alignment, offset: 0 });
                }
                windows[index] = own;
            }
            Header::Device(bars) => {
                for (bar, found) in bars.iter().enumerate().rev() {
                    let size = found.size;
                    assert!(size.is_power_of_two() && size >= LEAST_BAR, "no BAR has {size} B");
                    let kind = if found.is_wide { HIGH } else { LOW };
                    above[kind].pieces.push(Piece { function: index, bar, size, alignment: size, offset: 0 });
                }
            }
        }
    }
    root.iter_mut().for_each(Window::pack);
    let needed = root[LOW].size;
    let low = LOW_END.saturating_sub(needed) / root[LOW].alignment * root[LOW].alignment;
    if low < LOW_START {
        return Err(NoRoom { needed, room: LOW_END - LOW_START.next_multiple_of(root[LOW].alignment) });
    }
    let high = high_base.next_multiple_of(root[HIGH].alignment);
    let bases = [low, high];
    for (kind, base) in bases.into_iter().enumerate() {
        fill(&root[kind], kind, base, functions, programmed);
    }
    for (index, own) in windows.iter().enumerate() {
        let bases = [programmed[index].memory.start, programmed[index].prefetchable.start];
        for (kind, base) in bases.into_iter().enumerate() {
            fill(&own[kind], kind, base, functions, programmed);
        }
    }
    Ok((low..low + root[LOW].size, high..high + root[HIGH].size))
}

/// Tells everything in a window that starts at `base` where it is.
fn fill(window: &Window, kind: usize, base: u64, functions: &[Function], programmed: &mut [Programmed]) {
    for piece in &window.pieces {
        let (start, into) = (base + piece.offset, &mut programmed[piece.function]);
        match &functions[piece.function].header {
            Header::Bridge if kind == LOW => into.memory = start..start + piece.size,
            Header::Bridge => into.prefetchable = start..start + piece.size,
            Header::Device(bars) => {
                into.bars.resize(bars.len(), 0);
                into.bars[piece.bar] = start;
            }
        }
    }
}
