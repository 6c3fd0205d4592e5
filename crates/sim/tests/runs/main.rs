//! Scenarios, from their text to results.

mod automatic;
mod benchmarks;
mod changes;
mod credits;
mod data_paths;
mod drives;
mod edits;
mod fabrics;
mod host_path;
mod limits;
mod long_links;
mod order_of_tables;
mod pcie_bench;
mod progress;
mod rdma;
mod reassign;
mod replay;
mod resources;
mod rig;
mod session;
mod shared_queue;
mod targets;
mod threads;
mod trace;
mod transaction_errors;
mod turnaround;
