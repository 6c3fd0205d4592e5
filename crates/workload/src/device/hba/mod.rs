//! Storage adapters: ports with a wire each, and the drives behind them.

mod adapter;
pub(crate) mod drive;
mod write_buffer;

pub use adapter::HbaConfig;
pub(crate) use adapter::{Hba, HostFrame};
pub use drive::DriveConfig;
pub(crate) use drive::{Command, Drive, DriveFrame};
