//! CXL.mem: links that carry it, switches between them, and expanders at their ends.

use super::MemoryConfig;
use lanewise_units::{Rate, Span};

/// Everything that CXL.mem needs; empty in a fabric without it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CxlConfig {
    /// Memory expanders, each an endpoint of the fabric.
    pub expanders: Vec<ExpanderConfig>,
    /// Links that carry CXL.mem: every link from an expander up to its root port.
    pub links: Vec<CxlLinkConfig>,
    /// Switches on the way, with the time from the last byte of a message in to when it may leave, each way.
    pub switches: Vec<(usize, Span)>,
}

impl CxlConfig {
    /// The expander that a device is, if it is one.
    pub fn expander(&self, device: usize) -> Option<&ExpanderConfig> {
        self.expanders.iter().find(|expander| expander.device == device)
    }
}

/// A link that carries CXL.mem.
#[derive(Clone, Debug, PartialEq)]
pub struct CxlLinkConfig {
    /// Which of the fabric's links. In Flit Mode its flits are of 256 B, else of 68 B.
    pub link: usize,
    /// Whether 256 B flits are latency-optimised: checked by halves.
    pub low_latency: bool,
    /// Whether slots may have several headers of data: both ends can do it.
    pub several_headers: bool,
    /// Messages that the lower end has room for: requests, and requests with data.
    pub m2s_credits: [u32; 2],
    /// Messages that the upper end has room for: responses, and data responses.
    pub s2m_credits: [u32; 2],
    /// Flits that either end keeps until they are acknowledged.
    pub retry_buffer: u32,
    /// From when credits or acknowledgements are owed until a flit is sent for them alone.
    pub flush_after: Span,
}

/// A memory expander: what is behind the lower end of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpanderConfig {
    /// The endpoint that it is.
    pub device: usize,
    /// Its channels and banks.
    pub memory: MemoryConfig,
    /// Of an idle expander, from the last byte of a request to when the data may leave.
    pub read_latency: Span,
    /// From the last byte of a write to when its response may leave.
    pub write_latency: Span,
    /// Rate at which its controller passes lines that are read; none for no limit but the memory.
    pub read_rate: Option<Rate>,
    /// The same of lines that are written.
    pub write_rate: Option<Rate>,
}
