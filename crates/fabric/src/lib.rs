//! Things with ports: links, switches, root complexes, endpoints; and the run over them.
//!
//! Models every TLP and DLLP on every link in exact time. The rules themselves are `lanewise-pcie`'s; this crate
//! owns the state they work on and decides when what happens. One file per kind of thing:
//!
//! | file | holds |
//! |---|---|
//! | `config.rs`, `config/host.rs` | settings, all resolved |
//! | `assembly.rs`, `routing.rs` | from settings to ports, devices and routes |
//! | `machines.rs`, `addresses.rs`, `numbering.rs` | what firmware programs into devices; whose an address is; the order of devices |
//! | `fabric.rs`, `slots.rs` | the state of everything, in arenas |
//! | `packet.rs`, `ring.rs` | TLPs and their queues |
//! | `wire.rs`, `port.rs` | one link direction in time; one port's state |
//! | `link/` | transmitter and receiver of a link without the fabric: its wire, what is kept, what arrives, what is owed for it |
//! | `books.rs`, `wait.rs` | what came of a call to one of them, as facts; why nothing leaves |
//! | `told.rs` | what is on a wire and what holds up a port, for listeners |
//! | `channels.rs` | virtual channels beyond VC0 |
//! | `flit.rs` | what is different in Flit Mode |
//! | `transmit.rs`, `select.rs`, `receive.rs` | TLPs: what leaves a port, when, and which first; what arrives |
//! | `dllp.rs`, `flow_control.rs`, `replay.rs` | DLLPs sent and taken in; InitFC; the replay timer and replays |
//! | `advance.rs` | what needs no event of its own |
//! | `switch.rs`, `root_complex.rs`, `endpoint.rs` | the devices |
//! | `dma.rs`, `ats.rs`, `side_link.rs` | engines with units of their own, paces, the device's own data path; its translations; links beside PCI Express |
//! | `buses.rs`, `shared_memory.rs` | cores of switches that packets queue for |
//! | `hot_plug.rs`, `phases.rs` | links that go down and come up; before and after a change |
//! | `live.rs` | settings that may change while a run goes on |
//! | `aspm.rs` | links that fall asleep and wake |
//! | `ide.rs` | encryption and integrity on the way to a root port |
//! | `corruption.rs`, `ordinals.rs` | what only an ECRC finds; which of the things of a kind go wrong |
//! | `errors.rs` | completion timeouts, poisoned data, requests for addresses that no device has |
//! | `server.rs` | rates that are shared, and how busy they were |
//! | `root_ports.rs`, `unmade.rs`, `completion_queue.rs`, `stack.rs`, `outbound.rs`, `peers.rs` | what root ports do with TLPs; completions made in their turn; which lines leave together; what groups of them share; what all of them share; packets between them |
//! | `cxl/` | CXL.mem: links of flits, memory expanders, the way from a core to them |
//! | `memory.rs`, `cache.rs` | channels and banks; the last-level cache as devices see it |
//! | `resources.rs` | every shared resource by name, with its book |
//! | `memory_path.rs`, `sockets.rs`, `iommu.rs` | between root ports and memory: other sockets, address translation |
//! | `workload.rs`, `ports.rs`, `requests.rs`, `mmio.rs`, `notices.rs` | the seam to workloads: their components, transfers, loads and stores, timers and answers |
//! | `simulation.rs`, `event.rs`, `alarms.rs`, `ready.rs` | the run and its events; when ports look at their wires; who decides at one instant |
//! | `parts.rs`, `parts/` | one run on several threads |
//! | `inspect.rs`, `audit.rs`, `reading.rs`, `waiters.rs` | reading it from outside; what must be conserved; one port as it is now; what waits for what when it stalls |
//!
//! Left out: virtual channels in Flit Mode, configuration and message traffic, surprise removal.

#[cfg(test)]
extern crate self as lanewise_fabric;

mod addresses;
mod advance;
mod alarms;
mod aspm;
mod assembly;
mod ats;
mod audit;
mod books;
mod bridge;
mod buses;
mod cache;
mod channels;
#[cfg(test)]
#[path = "../tests/common/mod.rs"]
mod common;
mod completion_queue;
pub mod config;
mod corruption;
mod cxl;
mod dllp;
mod dma;
mod endpoint;
mod errors;
mod event;
mod fabric;
mod flit;
mod flow_control;
mod hot_plug;
mod ide;
mod inspect;
mod iommu;
mod link;
mod live;
mod machines;
mod memory;
mod memory_path;
mod mmio;
mod notices;
mod numbering;
mod ordinals;
mod outbound;
mod packet;
mod parts;
mod peers;
mod phases;
mod port;
pub mod ports;
mod reading;
mod ready;
mod receive;
mod replay;
mod requests;
mod resources;
mod ring;
mod root_complex;
mod root_ports;
mod routing;
mod select;
mod server;
mod shared_memory;
mod side_link;
mod simulation;
mod slots;
mod sockets;
mod stack;
mod switch;
mod told;
mod transmit;
mod unmade;
mod wait;
mod waiters;
mod wire;
pub mod workload;

pub use assembly::AssemblyError;
pub use fabric::Fabric;
pub use machines::{Machine, Machines};
pub use parts::{Apart, NotShared, SharedRun};
pub use reading::{LinkUp, PortReading};
pub use resources::{
    CxlPart, EndpointPart, HostPart, LoadPart, Meets, NetworkSwitchPart, NvmePart, Part, RdmaPart,
    ResourceId, ResourceKind, ResourceOwner, ResourceReading, StorageAdapterPart, SwitchPart,
};
pub use server::{Book, Level, Server, Station};
pub use simulation::{Pause, Progress, Simulation};
pub use slots::{Slots, bytes_when_grown};
pub use switch::MAX_SWITCH_PORTS;
pub use waiters::{Place, Waiter};
