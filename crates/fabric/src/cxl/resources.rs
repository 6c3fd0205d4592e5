//! What is shared on CXL.mem, with its books.

use super::Cxl;
use crate::resources::{ResourceKind, ResourceReading};
use lanewise_cxl::message::{Class, Way};
use lanewise_units::Time;

impl Cxl {
    /// Every resource of a device: the link above it, and what is in it.
    pub(crate) fn resources_of(&self, device: usize, name: &str, at: Time, found: &mut Vec<ResourceReading>) {
        let before = found.len();
        for link in self.links.iter().filter(|link| link.lower == device) {
            for (way, direction) in Way::ALL.into_iter().zip(&link.ways) {
                found.push(ResourceReading {
                    name: format!("{name}.{}", way.name()),
                    kind: ResourceKind::CxlWire,
                    places: 1,
                    limit: direction.limit(),
                    book: direction.book_at(at),
                });
                for (class, credits) in Class::ALL.into_iter().zip(&direction.credit_books) {
                    found.push(ResourceReading {
                        name: format!("{name}.{}_credits", class.name(way).to_ascii_lowercase()),
                        kind: ResourceKind::CxlCredits,
                        places: credits.places,
                        limit: format!("{} credits", credits.places),
                        book: credits.book_at(at),
                    });
                }
            }
        }
        let Some(expander) = self.of_device[device].map(|index| &self.expanders[usize::from(index)]) else {
            return self.only_used(before, found);
        };
        let controller = [("reads", &expander.reads), ("writes", &expander.writes)];
        for (part, server) in
            controller.into_iter().filter_map(|(part, server)| Some((part, server.as_ref()?)))
        {
            let name = format!("{name}.{part}");
            let book = server.book_at(at);
            found.push(ResourceReading::of_rate(name, ResourceKind::Pipeline, server.rate(), book));
        }
        let (book, channels) = expander.memory.channels_at(at);
        let (name, limit) = (format!("{name}.media"), expander.rate.to_string());
        found.push(ResourceReading {
            name: name.clone(),
            kind: ResourceKind::EndpointMemory,
            places: channels,
            limit,
            book,
        });
        let (book, banks) = expander.memory.banks_at(at);
        if banks > 0 {
            let (name, limit) = (format!("{name}.banks"), format!("{banks} banks"));
            found.push(ResourceReading { name, kind: ResourceKind::Banks, places: banks, limit, book });
        }
        self.only_used(before, found);
    }

    fn only_used(&self, before: usize, found: &mut Vec<ResourceReading>) {
        let used = found.split_off(before).into_iter().filter(|reading| reading.book.served > 0);
        found.extend(used);
    }
}
