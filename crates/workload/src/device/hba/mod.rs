//! Storage adapters: ports with a wire each, and the drives behind them.
//!
//! The adapter fetches a command and sends it to the drive; the drive moves data from the media through its buffer onto the wire, frame
//! by frame; each frame is written to host memory by DMA; when the drive has answered and all data has left, the adapter writes the
//! status and, sooner or later, an interrupt. Of a write the drive asks for bursts of data (XFER_RDY), the adapter reads them from host
//! memory in pieces and sends them on as frames.
//!
//! Everything waits for something finite: the adapter's buffers and internal path, wires, drive buffers and media.
//!
//! Leaves out: task management, errors.

mod adapter;
mod adapters;
mod drive;
mod path;
mod token;
mod write_buffer;

pub use adapter::HbaConfig;
pub use adapters::DrivePlacement;
pub(crate) use adapters::{Adapters, IoCommand, Notice};
pub use drive::DriveConfig;
pub(crate) use token::Kind;
