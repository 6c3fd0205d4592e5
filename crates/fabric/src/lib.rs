//! Things with ports: links, switches, root complexes, endpoints; and the run over them.
//!
//! Models every TLP and DLLP on every link in exact time. The rules themselves are `lanewise-pcie`'s; this crate
//! owns the state they work on and decides when what happens. One file per kind of thing:
//!
//! | file | holds |
//! |---|---|
//! | `config.rs` | settings, all resolved |
//! | `assembly.rs`, `routing.rs` | from settings to ports, devices and routes |
//! | `packet.rs`, `ring.rs` | TLPs and their queues |
//! | `wire.rs`, `port.rs` | one link direction in time; one port's state |
//! | `receiver.rs`, `ingress.rs` | what a port owes its peer; its buffers |
//! | `flit.rs` | what is different in Flit Mode |
//! | `transmit.rs`, `receive.rs`, `choose.rs` | what leaves a port and when; what arrives |
//! | `catch_up.rs` | what needs no event of its own |
//! | `switch.rs`, `root_complex.rs`, `endpoint.rs` | the devices |
//! | `errors.rs` | completion timeouts, poisoned data, requests for nobody |
//! | `memory_path.rs`, `sockets.rs`, `iommu.rs` | between root ports and memory: other sockets, address translation |
//! | `workload.rs` | the seam to whoever asks for transfers |
//! | `simulation.rs`, `inspect.rs` | the run; reading it from outside |
//!
//! Left out: virtual channels other than VC0, power states, configuration and message traffic, hot plug.

mod assembly;
mod catch_up;
mod choose;
pub mod config;
mod endpoint;
mod errors;
mod flit;
mod hot_plug;
mod ingress;
mod inspect;
mod iommu;
mod memory_path;
mod packet;
mod phases;
mod port;
mod receive;
mod receiver;
mod ring;
mod root_complex;
mod routing;
mod simulation;
mod sockets;
mod switch;
mod transmit;
mod wire;
pub mod workload;

pub use assembly::AssemblyError;
pub use simulation::{Fabric, Progress, Simulation};
pub use switch::MAX_SWITCH_PORTS;
