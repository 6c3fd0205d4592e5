//! What is shared on CXL.mem, with its books.

use super::Cxl;
use crate::resources::{CxlPart, Listed, ResourceReading};
use lanewise_cxl::message::{Class, Way};

impl Cxl {
    /// Every resource of a device: the link above it, and what is in it.
    pub(crate) fn resources_of(&self, listed: Listed<'_>, found: &mut Vec<ResourceReading>) {
        let (before, at, device) = (found.len(), listed.at, listed.device.0 as usize);
        for link in self.links.iter().filter(|link| link.lower == device) {
            for (way, direction) in Way::ALL.into_iter().zip(&link.ways) {
                let size = (1, direction.limit());
                found.push(listed.part(CxlPart::Wire(way), way.name(), size, direction.book_at(at)));
                for (class, credits) in Class::ALL.into_iter().zip(&direction.credit_books) {
                    let name = format!("{}_credits", class.name(way).to_ascii_lowercase());
                    let size = (credits.places, format!("{} credits", credits.places));
                    found.push(listed.part(CxlPart::Credits(way, class), &name, size, credits.book_at(at)));
                }
                if let Some((flits, book)) = direction.kept_at(at) {
                    let name = format!("{}_retry_buffer", way.name());
                    let size = (flits, format!("{flits} flits"));
                    found.push(listed.part(CxlPart::RetryBuffer(way), &name, size, book));
                }
            }
        }
        let Some(expander) = self.of_device[device].map(|index| &self.expanders[usize::from(index)]) else {
            return self.only_used(before, found);
        };
        let controller =
            [("reads", CxlPart::Reads, &expander.reads), ("writes", CxlPart::Writes, &expander.writes)];
        for (name, part, server) in controller {
            found.extend(server.iter().map(|server| listed.rate(part, name, server)));
        }
        let (book, channels) = expander.memory.channels_at(at);
        found.push(listed.part(CxlPart::Memory, "media", (channels, expander.rate.to_string()), book));
        let (book, banks) = expander.memory.banks_at(at);
        if banks > 0 {
            let size = (banks, format!("{banks} banks"));
            found.push(listed.part(CxlPart::Banks, "media.banks", size, book));
        }
        self.only_used(before, found);
    }

    fn only_used(&self, before: usize, found: &mut Vec<ResourceReading>) {
        let used = found.split_off(before).into_iter().filter(|reading| reading.book.served > 0);
        found.extend(used);
    }
}
