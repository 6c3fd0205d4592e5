//! Settings of a drive.

use lanewise_fabric::workload::DeviceId;
use lanewise_units::{Bytes, Rate, Span};

/// Settings of a drive.
#[derive(Clone, Debug, PartialEq)]
pub struct SsdConfig {
    /// Name of the endpoint.
    pub name: String,
    /// The endpoint.
    pub device: DeviceId,
    /// Index of the host that it is assigned to.
    pub host: usize,
    /// Bytes of the namespace.
    pub capacity: Bytes,
    /// Commands that one read of the submission queue fetches at most.
    pub fetch_batch: u32,
    /// Time after which the controller's processors take the next command.
    pub command_time: Span,
    /// The same for each 512 B of its first 4 KiB after the first.
    pub sector_time: Span,
    /// Time that a command is with them.
    pub command_latency: Span,
    /// Rate of the data path from the media to the buffer.
    pub read_rate: Rate,
    /// Rate of the data path from the buffer to the media.
    pub write_rate: Rate,
    /// The same for scattered writes, which neither go on where one of the last ended nor begin a stream.
    pub random_write_rate: Rate,
    /// Bytes that the data path hands to DMA at a time.
    pub dma_unit: Bytes,
    /// Pieces that the media can read at a time.
    pub dies: u32,
    /// Bytes of a piece.
    pub piece: Bytes,
    /// Time in which a die reads a piece, until the first unit of it is in the controller.
    pub read_time: Span,
    /// Time for a read that finds its data read ahead.
    pub hit_time: Span,
    /// Time from the arrival of a write's last byte to its completion.
    pub write_time: Span,
    /// Room for read data between the controller and DMA, and as much again for write data.
    pub buffer: Bytes,
    /// Whether writes have gone on for so long before the run that the buffer is full of them.
    pub preconditioned: bool,
    /// Data behind the end of a sequential stream that reads find in the buffer; zero for no read-ahead.
    pub read_ahead: Bytes,
    /// Such streams that it keeps apart; at least one.
    pub streams: u32,
    /// Of writes, how many may have begun that none has gone on with; a write elsewhere is scattered when there are more.
    pub new_streams: u32,
    /// Completions after which an interrupt is due.
    pub interrupt_completions: u32,
    /// Longest time that a completion waits for others before an interrupt is due.
    pub interrupt_delay: Span,
}

impl SsdConfig {
    /// These settings, with what may change while the drive is at work as in `other`: its rates and times. What it has booked
    /// before stays.
    #[must_use]
    pub(crate) fn with_live_settings_of(&self, other: &Self) -> Self {
        let Self {
            command_time, sector_time, command_latency, read_rate, write_rate, random_write_rate, ..
        } = *other;
        let Self { read_time, hit_time, write_time, .. } = *other;
        let mut mixed = self.clone();
        (mixed.command_time, mixed.sector_time, mixed.command_latency) =
            (command_time, sector_time, command_latency);
        (mixed.read_rate, mixed.write_rate) = (read_rate, write_rate);
        mixed.random_write_rate = random_write_rate;
        (mixed.read_time, mixed.hit_time, mixed.write_time) = (read_time, hit_time, write_time);
        mixed
    }
}
