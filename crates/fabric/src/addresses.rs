//! The addresses of a run: which are memory of the host, which are a device's, and what requesters and completers are called.
//!
//! An address or ID is compiled to a [`RouteEnd`] when a transfer is submitted or a load issued, and not at every switch: windows of bridges
//! are hulls of the BARs below them, so the owner of an address decides at each bridge what its window would
//! ([`lanewise_pcie::enumeration`]). Left out: requests that run over the end of a BAR, addresses in a window but in no BAR, and
//! that firmware moves memory which makes way for devices to above 4 GiB: here it goes on behind them.

use crate::machines::{Machine, Machines};
use crate::packet::RouteEnd;
use crate::workload::Target;
use lanewise_pcie::enumeration::Location;
use lanewise_units::{Bytes, order};
use std::ops::Range;

/// From here on is nothing in any machine: no processor has 63 bits of physical address.
const UNCLAIMED: u64 = 1 << 62;

/// A page: moving a buffer by whole ones changes no request that is made for it.
const PAGE: u64 = 4096;

/// The addresses of one machine.
#[derive(Clone, Debug)]
struct AddressSpace {
    /// All that devices have below 4 GiB, and above.
    windows: [Range<u64>; 2],
    /// Every BAR by its first address, and whose it is.
    bars: Vec<(Range<u64>, RouteEnd)>,
    /// Where memory of the host begins, as devices address it.
    memory: u64,
}

impl AddressSpace {
    fn new(machine: &Machine, first: u32, memory: u64) -> Self {
        let windows = [machine.programmed.low.clone(), machine.programmed.high.clone()];
        let inside = windows.iter().find(|window| window.contains(&memory));
        let memory = inside.map_or(memory, |window| window.end);
        let mut bars: Vec<(Range<u64>, RouteEnd)> = Vec::new();
        for (index, endpoint) in machine.endpoints().enumerate() {
            for (start, bar) in endpoint.bars.iter().zip(machine.bars_of(index)) {
                bars.push((*start..*start + bar.size, RouteEnd(first + index as u32)));
            }
        }
        order::sort_by_key(&mut bars, |(at, _)| at.start);
        Self { windows, bars, memory }
    }

    /// Where `length` bytes of host memory are, from `offset` on: memory goes on behind the addresses of devices.
    #[inline]
    fn host_memory(&self, offset: u64, length: u64) -> u64 {
        let mut at = self.memory + offset;
        for window in &self.windows {
            if at + length > window.start && self.memory < window.start && !window.is_empty() {
                at += (window.end - window.start) + window.start.saturating_sub(at).next_multiple_of(PAGE);
            }
        }
        at
    }

    /// Whose an address is.
    #[inline]
    fn decode(&self, address: u64) -> RouteEnd {
        if self.windows.iter().any(|window| window.contains(&address)) {
            let next = self.bars.partition_point(|(at, _)| at.start <= address);
            let found = self.bars[..next].last().filter(|(at, _)| at.contains(&address));
            return found.map_or(RouteEnd::NOBODY, |(_, end)| *end);
        }
        if address < UNCLAIMED { RouteEnd::HOST } else { RouteEnd::NOBODY }
    }
}

/// What others need to know of an endpoint.
#[derive(Clone, Debug)]
struct EndpointAddresses {
    id: Location,
    registers: Range<u64>,
    /// Memory that others may address.
    memory: Range<u64>,
}

/// What an endpoint that is a side of a bridge has addresses for: memory of another host.
#[derive(Debug)]
pub(crate) struct Window {
    bars: [Range<u64>; 2],
    to: AddressSpace,
}

impl Window {
    /// The address beyond the bridge of `length` bytes at `address`: as far from where memory begins as from the start of the BAR.
    pub(crate) fn beyond(&self, address: u64, length: Bytes) -> u64 {
        let bar = self.bars.iter().find(|bar| bar.contains(&address)).expect("it came here by its address");
        let start = self.to.memory.next_multiple_of(PAGE) - self.to.memory;
        self.to.host_memory(start + address - bar.start, length.get())
    }
}

/// All addresses of a fabric.
#[derive(Debug)]
pub(crate) struct Addresses {
    /// By root complex.
    spaces: Vec<AddressSpace>,
    /// By endpoint, depth first.
    endpoints: Vec<EndpointAddresses>,
}

impl Addresses {
    /// `memory` says where host memory begins, by root complex.
    pub(crate) fn new(machines: &Machines, memory: impl Iterator<Item = u64>) -> Self {
        let mut made = Self { spaces: Vec::new(), endpoints: Vec::new() };
        for (machine, memory) in machines.all.iter().zip(memory) {
            made.spaces.push(AddressSpace::new(machine, made.endpoints.len() as u32, memory));
            for (index, endpoint) in machine.endpoints().enumerate() {
                let bar =
                    |number: usize| match (endpoint.bars.get(number), machine.bars_of(index).get(number)) {
                        (Some(start), Some(bar)) => *start..*start + bar.size,
                        _ => 0..0,
                    };
                let id = endpoint.location();
                made.endpoints.push(EndpointAddresses { id, registers: bar(0), memory: bar(1) });
            }
        }
        made
    }

    /// First address of a transfer below a root complex, and what answers it. A peer is told by its number.
    ///
    /// A BAR may be smaller than the memory behind it: then software moves it over what is used, and offsets repeat in it.
    #[inline]
    pub(crate) fn of_transfer(
        &self,
        root_complex: u32,
        target: Target,
        peer: Option<RouteEnd>,
        offset: u64,
        length: Bytes,
    ) -> (u64, RouteEnd) {
        let space = &self.spaces[root_complex as usize];
        let length = length.get();
        let address = match (target, peer) {
            (Target::HostMemory, _) => space.host_memory(offset, length),
            (Target::Endpoint(_), Some(peer)) => {
                let memory = &self.endpoints[peer.0 as usize].memory;
                let size = memory.end - memory.start;
                assert!(length <= size, "a peer's BAR of {size} B does not hold a transfer of {length} B");
                let within = offset % size;
                memory.start + if within + length > size { within % PAGE.min(size) } else { within }
            }
            (Target::Nobody | Target::Endpoint(_), _) => UNCLAIMED + offset,
        };
        (address, space.decode(address))
    }

    /// Where the registers of an endpoint are, and what has that address.
    #[inline]
    pub(crate) fn of_registers(&self, root_complex: u32, endpoint: RouteEnd) -> (u64, RouteEnd) {
        let address = self.endpoints[endpoint.0 as usize].registers.start;
        (address, self.spaces[root_complex as usize].decode(address))
    }

    /// The BARs of an endpoint, as a window to the memory of another root complex.
    pub(crate) fn window(&self, endpoint: RouteEnd, root_complex: u32) -> Window {
        let EndpointAddresses { registers, memory, .. } = self.endpoints[endpoint.0 as usize].clone();
        Window { bars: [registers, memory], to: self.spaces[root_complex as usize].clone() }
    }

    /// Requester or Completer ID; the host's is that of its host bridge.
    pub(crate) fn id(&self, end: RouteEnd) -> Location {
        self.endpoints.get(end.0 as usize).map_or_else(Location::default, |endpoint| endpoint.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::*;
    use crate::config::*;
    use crate::workload::DeviceId;
    use lanewise_pcie::LinkMode;
    use lanewise_units::{Generation, Width};

    const GIB: u64 = 1 << 30;
    const MIB: u64 = 1 << 20;

    /// A host with a card in its first slot, and two below a switch in its second. Registers lie below 4 GiB, memory above.
    fn addresses(memory_base: u64) -> Addresses {
        let mode = LinkMode::new(Generation::Gen3, Width::X4);
        let root = RootComplexConfig { memory_base, ..root_complex() };
        let made =
            |name: &str, kind: DeviceKind, ports: usize| device(name, kind, vec![port(mode, 256); ports]);
        let devices = vec![
            made("host", DeviceKind::RootComplex(root), 2),
            made("near", DeviceKind::Endpoint(endpoint()), 1),
            made("switch", DeviceKind::Switch(switch(100)), 3),
            made("left", DeviceKind::Endpoint(endpoint()), 1),
            made("right", DeviceKind::Endpoint(endpoint()), 1),
        ];
        let links = vec![
            link((0, 0), (1, 0), mode),
            link((0, 1), (2, 0), mode),
            link((2, 1), (3, 0), mode),
            link((2, 2), (4, 0), mode),
        ];
        let config = FabricConfig { devices, links, cxl: Default::default(), seed: 1 };
        Addresses::new(&Machines::of(&config).unwrap(), [memory_base].into_iter())
    }

    fn peer(of: &Addresses, end: u32, offset: u64, length: u64) -> (u64, RouteEnd) {
        let target = Target::Endpoint(DeviceId(0));
        of.of_transfer(0, target, Some(RouteEnd(end)), offset, Bytes::new(length))
    }

    #[test]
    fn an_address_is_its_owners() {
        let made = addresses(0);
        let high = 1 << 45;
        for end in 0..3 {
            assert_eq!(peer(&made, end, 12, 4), (high + u64::from(end) * GIB + 12, RouteEnd(end)));
            let registers = 0xfec0_0000 - (3 - u64::from(end)) * MIB;
            assert_eq!(made.of_registers(0, RouteEnd(end)), (registers, RouteEnd(end)));
        }
        let ids: Vec<String> = (0..3).map(|end| made.id(RouteEnd(end)).to_string()).collect();
        assert_eq!(ids, ["0000:01:00.0", "0000:04:00.0", "0000:05:00.0"]);
        assert_eq!(made.id(RouteEnd::HOST).to_string(), "0000:00:00.0");
        let space = &made.spaces[0];
        assert_eq!(space.decode(high - 1), RouteEnd::HOST);
        assert_eq!(space.decode(high + 3 * GIB), RouteEnd::HOST, "memory goes on behind the devices");
        assert_eq!(space.decode(0xfec0_0000 - MIB + 0x4000), RouteEnd::NOBODY, "in a window, behind the BAR");
        let nothing = made.of_transfer(0, Target::Nobody, None, 64, Bytes::new(4));
        assert_eq!(nothing, (UNCLAIMED + 64, RouteEnd::NOBODY));
    }

    /// Host memory leaves out what devices have, below 4 GiB and above; buffers keep their place in a page.
    #[test]
    fn host_memory_goes_on_behind_devices() {
        let low = 0xfec0_0000 - 3 * MIB;
        let host = |base: u64, offset: u64, length: u64| {
            addresses(base).of_transfer(0, Target::HostMemory, None, offset, Bytes::new(length))
        };
        assert_eq!(host(64 * MIB, 5, 8), (64 * MIB + 5, RouteEnd::HOST));
        assert_eq!(host(0, low - 8, 8), (low - 8, RouteEnd::HOST), "the last that fits below");
        assert_eq!(host(0, low, 8), (0xfec0_0000, RouteEnd::HOST));
        assert_eq!(host(0, low - 8, 16), (0xfec0_0000 + 0xff8, RouteEnd::HOST), "moved by a page more");
        assert_eq!(host(low + 7, 1, 16), (0xfec0_0001, RouteEnd::HOST), "a base among the devices");
        assert_eq!(host((1 << 32) - 2048, 0, 4096), ((1 << 32) - 2048, RouteEnd::HOST));
        let high = (1 << 45) - (1 << 32);
        assert_eq!(host(1 << 32, high, 8), ((1 << 45) + 3 * GIB, RouteEnd::HOST));
        assert_eq!(host(0, 1 << 45, 8), ((1 << 45) + 3 * GIB + 3 * MIB, RouteEnd::HOST), "behind both");
    }

    #[test]
    fn a_bar_is_moved_over_the_memory_behind_it() {
        let made = addresses(0);
        let start = 1 << 45;
        assert_eq!(peer(&made, 0, 5 * GIB + 7, 64), (start + 7, RouteEnd(0)));
        assert_eq!(peer(&made, 0, GIB - 0x1008, 0x2000), (start + 0xff8, RouteEnd(0)));
    }
}
