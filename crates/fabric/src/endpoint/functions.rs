//! Virtual functions of an endpoint (SR-IOV): each has queues of its own, and reads of its own within the tags of the device.
//!
//! Functions take turns with their requests (`turns.rs`), and share the port and the link. Tags tell requests of one Requester ID
//! apart, so functions with tags of their own may have more out together than the tag field has values (PCIe Base §2.2.6.2,
//! §9.3.3.3); where they share tags, the device tracks so many for all. Left out: BARs and interrupts of virtual functions, loads and stores of their
//! registers, the Requester ID in headers, so that address translation and ID-based ordering take all functions for one, reset of a function.

use super::Endpoint;
use crate::config::EndpointConfig;
use lanewise_pcie::tag::{TagPool, TagWidth};

/// Tags of a device: those of its field, or of all its functions together where each has its own.
pub(super) fn tag_pool(config: &EndpointConfig, limit: u16) -> TagPool {
    let functions = config.dma.functions.as_ref();
    match functions.and_then(|functions| Some((functions.count, functions.own_tags?))) {
        // Numbers within the device, more than any field has.
        Some((count, own)) => TagPool::new(TagWidth::Bits14, own.saturating_mul(u16::from(count) + 1)),
        None => TagPool::new(config.tag_width, limit),
    }
}

impl Endpoint {
    /// Opens a queue of a virtual function, counted from 0.
    pub(crate) fn open_queue_of_function(&mut self, function: u8) -> u32 {
        let queue = self.open_queue();
        self.turns.queue_is_of(queue, function + 1);
        if let Some(dma) = &mut self.dma {
            dma.queue_is_of(queue, function + 1);
        }
        queue
    }
}
