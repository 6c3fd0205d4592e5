//! Tools over RDMA: perftest, the OSU Micro-Benchmarks, and transactions over TCP.

mod driver;
mod instrument;
mod mpi;
mod osu;
mod peak;
mod perftest;
mod settings;
#[cfg(test)]
mod tool_tests;
mod transactions;

pub use instrument::{RdmaConfig, RdmaToolConfig, RdmaWorkload};
pub use mpi::{MpiConfig, Rendezvous};
pub use osu::{OsuConfig, OsuTool};
pub use perftest::{PerftestConfig, PerftestTool};
pub use transactions::{TcpStackConfig, TransactionsConfig};
