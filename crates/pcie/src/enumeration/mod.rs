//! Numbers and addresses as firmware gives them out: buses, functions, BARs, windows of bridges.
//!
//! Buses are numbered depth first: a bridge has the next number for the bus below it (secondary), and the last of those below that is its
//! subordinate. BARs have addresses that are multiples of their size. The window of a bridge is the hull of what is below it, in whole
//! MiB; there is one below 4 GiB and one for what is prefetchable, which may lie above. So the way of a TLP follows from its address or
//! ID at every bridge: it goes down where a window, or the range of buses, has it, and up where none does. Sources: PCI-to-PCI Bridge
//! Architecture 1.2 §3.2.5 (registers of the Type 1 header), ch. 4 (windows); PCIe Base 6.3 §7.5.1.2.1 (BARs), §7.5.1.3 (Type 1).
//!
//! Leaves out: I/O space, expansion ROMs, memory that is kept free for hot-plug, resizable BARs, Enhanced Allocation.

mod buses;
mod windows;

#[cfg(test)]
mod tests;

pub use windows::NoRoom;

use crate::tlp::FunctionId;
use core::fmt;
use core::ops::Range;

/// Least size and alignment of a bridge's window: its registers have no address bits below 20. PCI-to-PCI Bridge Architecture 1.2 §3.2.5.8.
pub const WINDOW_UNIT: u64 = 1 << 20;

/// Least size of a memory BAR, in bytes. PCIe Base 6.3 §7.5.1.2.1.
pub const LEAST_BAR: u64 = 128;

/// End of the addresses below 4 GiB that devices may have: interrupt controllers and the boot flash of a PC are behind it, from I/O
/// APICs at `0xfec0_0000` on (MultiProcessor Specification 1.4 §3.6.5).
pub const LOW_END: u64 = 0xfec0_0000;

/// Least address below 4 GiB that devices may have. Assumed: what a PC has had there since the ISA bus stays memory.
pub const LOW_START: u64 = 0x0100_0000;

/// A base address register of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bar {
    /// Bytes, a power of two; at least [`LEAST_BAR`].
    pub size: u64,
    /// It has 64 bits and is prefetchable, and lies in the prefetchable window above 4 GiB. Else it has 32 bits and is not. Assumed: no
    /// device has one of 64 bits that is not prefetchable, which would have to lie below 4 GiB behind a bridge.
    pub is_wide: bool,
}

/// What a function is to firmware.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Header {
    /// A root port, or a port of a switch: Type 1.
    Bridge,
    /// A device: Type 0, with its memory BARs.
    Device(Vec<Bar>),
}

/// A function that firmware finds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    /// The bridge above: its index in the list. None for what is on a root bus.
    pub above: Option<usize>,
    /// What it is.
    pub header: Header,
}

/// A function in all segments (domains) of a machine, as `lspci -D` writes it: `0000:17:00.0`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Location {
    /// Segment group, each with 256 buses.
    pub segment: u16,
    /// Bus, device and function there: its Requester ID and Completer ID.
    pub id: FunctionId,
}

impl Location {
    /// A virtual function of a physical one that is here: First VF Offset from it, and VF Stride from one to the next, counted from 0.
    ///
    /// Source: PCIe Base 6.3 §9.2.1.2.
    ///
    /// # Panics
    /// When it is beyond the last bus.
    pub const fn virtual_function(self, (first_offset, stride): (u16, u16), number: u16) -> Self {
        let beyond = first_offset as u32 + stride as u32 * number as u32;
        let bits = self.id.get() as u32 + beyond;
        assert!(bits <= u16::MAX as u32, "a segment has 256 buses");
        Self { segment: self.segment, id: FunctionId::from_bits(bits as u16) }
    }

    /// Its bus, counted as in [`Buses`].
    pub const fn bus(self) -> u32 {
        (self.segment as u32) << 8 | (self.id.get() >> 8) as u32
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04x}:{}", self.segment, self.id)
    }
}

/// Buses below a bridge: counted through all segments, the segment is above the lowest eight bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Buses {
    /// Of the bus right below it.
    pub secondary: u32,
    /// The last below it.
    pub subordinate: u32,
}

impl Buses {
    /// Whether a bus is below the bridge.
    pub const fn has(self, bus: u32) -> bool {
        self.secondary <= bus && bus <= self.subordinate
    }
}

/// What firmware programs into one function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Programmed {
    /// Bus, counted as in [`Buses`].
    pub bus: u32,
    /// Device number, 0 to 31, and function number, 0 to 7, on that bus.
    pub device: (u8, u8),
    /// Buses below, of a bridge.
    pub buses: Option<Buses>,
    /// First address of each BAR, in their order.
    pub bars: Vec<u64>,
    /// Window below 4 GiB of a bridge; empty when it is closed.
    pub memory: Range<u64>,
    /// Prefetchable window of a bridge; empty when it is closed.
    pub prefetchable: Range<u64>,
}

impl Programmed {
    /// Its numbers. A hierarchy with more than 256 buses goes on in the next segment, which no real one can.
    pub fn location(&self) -> Location {
        let (device, function) = self.device;
        Location { segment: (self.bus >> 8) as u16, id: FunctionId::new(self.bus as u8, device, function) }
    }

    /// Whether a bridge passes a request for this address down: one of its windows has it.
    pub fn forwards(&self, address: u64) -> bool {
        self.memory.contains(&address) || self.prefetchable.contains(&address)
    }

    /// Whether a bridge passes down what is for a function of this bus: a completion, by the Requester ID that it answers.
    pub fn leads_to(&self, bus: u32) -> bool {
        self.buses.is_some_and(|buses| buses.has(bus))
    }
}

/// All of a machine.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Enumeration {
    /// By function, what is programmed.
    pub functions: Vec<Programmed>,
    /// All addresses below 4 GiB that devices have; empty where none has any.
    pub low: Range<u64>,
    /// All addresses above that they have.
    pub high: Range<u64>,
}

/// Numbers the functions of a machine and gives them addresses. They are listed depth first, each behind the bridge that it is below, and
/// those of one bus in the order of their numbers. Addresses above 4 GiB are from `high_base` on.
///
/// # Errors
/// When the BARs of 32 bits do not fit below 4 GiB.
///
/// # Panics
/// When a function is below one that is no bridge or that comes later, or a BAR has a size that none can have.
pub fn enumerate(functions: &[Function], high_base: u64) -> Result<Enumeration, NoRoom> {
    for (index, function) in functions.iter().enumerate() {
        if let Some(above) = function.above {
            assert!(above < index && functions[above].header == Header::Bridge, "{index} is below a bridge");
        }
    }
    let mut programmed = vec![Programmed::default(); functions.len()];
    buses::number(functions, &mut programmed);
    let (low, high) = windows::place(functions, high_base, &mut programmed)?;
    Ok(Enumeration { functions: programmed, low, high })
}
