//! Workloads: who asks for what, when.

use crate::document::Node;
use crate::parameter::{ParameterTable, parameters};
use crate::reader::read_entry;
use crate::value::{Auto, ParameterType, Reading, choices, inline_table, quoted};
use lanewise_units::{Bytes, Span};
use serde_json::Value as Json;

choices! {
    /// Which way DMA goes, seen from the device.
    DirectionChoice, "which way the data goes" {
        /// The device reads from the target.
        Read = "read",
        /// The device writes to the target.
        Write = "write",
        /// Both at the same time, each with its own operations in flight.
        Both = "both",
    }
}

choices! {
    /// How offsets follow each other.
    OrderChoice, "how offsets follow each other" {
        /// One after another, and from the end back to the start.
        Sequential = "sequential",
        /// Any of them, each as likely.
        Random = "random",
    }
}

choices! {
    /// Loads or stores of the CPU.
    MmioDirectionChoice, "loads or stores" {
        /// Loads, which wait for their data.
        Read = "read",
        /// Stores, which are posted.
        Write = "write",
    }
}

parameters! {
    /// Plain DMA: an endpoint keeps a number of operations in flight.
    DmaParameters, Choice "workload kind \"dma\"" {
        /// The endpoint that asks.
        device: String = required names Components,
        Assumed "a choice";
        /// Which way the data goes.
        direction: DirectionChoice = required,
        Assumed "a choice";
        /// Bytes of one operation.
        size: Bytes = "4 KiB" in "1 B" to "1 GiB"
        live "the next operation",
        Assumed "a page";
        /// Operations in flight, in each direction.
        outstanding: u32 = "16" in "1" to "65536"
        live "at once where there are more, as operations end where there are fewer",
        Assumed "enough to hide the latency of most links";
        /// Whose memory: "memory" of the host above, the name of another endpoint, or "nobody", whose reads are unsupported
        /// requests. As many endpoints as `device` names, such as "gpu[*]", are paired with them in order; one device deals with
        /// each of several, with `outstanding` operations for each.
        target: String = "memory" names Components,
        Assumed "what most devices do";
        /// First byte used in the target's memory.
        offset: Bytes = "0 B" in "0 B" to "1048576 GiB",
        Assumed "aligned to a page";
        /// Distance between the starts of neighbouring operations.
        stride: Auto<Bytes> = "auto" in "1 B" to "1 GiB"
        live "the next operation",
        Assumed "the size, rounded up to a page: a buffer for each operation";
        /// Memory that is used.
        span: Auto<Bytes> = "auto" in "1 B" to "1048576 GiB"
        live "the next operation",
        Assumed "64 MiB or eight strides, whichever is more";
        /// Traffic class of its requests.
        traffic_class: Auto<u8> = "auto" in "0" to "7",
        Assumed "the device's `traffic_class`";
        /// How offsets follow each other.
        order: OrderChoice = "sequential",
        Assumed "buffers in turn, as rings use them";
    }
}

parameters! {
    /// CPU accesses to an endpoint's registers.
    MmioParameters, Choice "workload kind \"mmio\"" {
        /// The endpoint that is accessed, by the CPU of the host above it.
        device: String = required names Components,
        Assumed "a choice";
        /// Loads or stores.
        direction: MmioDirectionChoice = required,
        Assumed "a choice";
        /// Bytes of one access.
        size: Bytes = "4 B" in "1 B" to "64 B",
        Assumed "a register";
        /// Accesses that the core waits for; each is followed by the next, a load when its data is back, a store when the root port has sent it and its answer is back.
        outstanding: u32 = "1" in "1" to "65536",
        Assumed "a CPU waits for each load";
        /// Time between the starts of two accesses, whatever becomes of the others; "none" to wait for each.
        interval: Option<Span> = "none" in "1 ns" to "1 s",
        Assumed "accesses wait for each other";
        /// Stores go through write-combining buffers of the core, which send whole lines of 64 B; loads are streaming ones (MOVNTDQA),
        /// which bring whole lines into the same buffers. `outstanding` and `interval` say nothing then.
        write_combining: bool = "false",
        Assumed "registers are uncached: a TLP for each load and store";
    }
}

choices! {
    /// How targets are given to workers.
    AssignmentChoice, "who gets which target" {
        /// In turn, so that each target has one worker; IOmeter's own doing.
        Split = "split",
        /// Every worker has every target.
        Shared = "shared",
    }
}

parameters! {
    /// One line of an access specification.
    AccessLineParameters, Choice "line of an access specification" {
        /// Bytes of a request.
        size: Bytes = required in "1 B" to "1 GiB",
        Assumed "a choice";
        /// Share of the requests that this line has, in percent. The lines of a specification sum to 100.
        percent: u32 = "100" in "0" to "100",
        Assumed "a single line has all requests";
        /// Share of reads among them, in percent; the rest are writes.
        read: u32 = "100" in "0" to "100",
        Assumed "a choice";
        /// Share of random positions among them, in percent; the rest go on where the last one ended.
        random: u32 = "0" in "0" to "100",
        Assumed "sequential, as IOmeter's default specification";
        /// Pause of the worker before each burst.
        delay: Span = "0 ns" in "0 ns" to "10 s",
        Assumed "IOmeter's default";
        /// Requests in a burst.
        burst: u32 = "1" in "1" to "65536",
        Assumed "IOmeter's default";
        /// Positions are multiples of this; "0 B" for sectors.
        alignment: Bytes = "0 B" in "0 B" to "1 GiB",
        Assumed "IOmeter's default";
        /// Bytes that go the other way after the request, in the same transaction.
        reply: Bytes = "0 B" in "0 B" to "1 GiB",
        Assumed "IOmeter's default: none";
    }
}

impl ParameterType for AccessLineParameters {
    fn expected() -> String {
        "a line such as { size = \"4 KiB\", percent = 100, read = 100, random = 0 }".to_owned()
    }
    fn read(node: &Node, reading: &mut Reading<'_>) -> Option<Self> {
        read_entry(node, reading)
    }
    fn show(&self) -> String {
        let mut entries = vec![
            ("size", quoted(&self.size.show())),
            ("percent", self.percent.show()),
            ("read", self.read.show()),
            ("random", self.random.show()),
        ];
        if self.delay > Span::ZERO || self.burst > 1 {
            entries.extend([("delay", quoted(&self.delay.show())), ("burst", self.burst.show())]);
        }
        if self.alignment > Bytes::ZERO {
            entries.push(("alignment", quoted(&self.alignment.show())));
        }
        if self.reply > Bytes::ZERO {
            entries.push(("reply", quoted(&self.reply.show())));
        }
        inline_table(entries)
    }
    fn schema() -> Json {
        crate::schema::table_schema(&Self::SCHEMA, &[])
    }
}

parameters! {
    /// IOmeter: workers with a number of I/Os in flight on each of their targets.
    IometerParameters, Choice "workload kind \"iometer\"" {
        /// The storage that is used; every drive of it is a target.
        targets: Vec<String> = required names Components,
        Assumed "a choice";
        /// Managers: Dynamo processes, all on the host of the targets.
        managers: u32 = "1" in "1" to "4096",
        Assumed "IOmeter starts one on its own machine";
        /// Worker threads of each manager; 4096 of all managers together at most.
        workers: u32 = "1" in "1" to "4096",
        Assumed "IOmeter starts one for each processor";
        /// Which worker uses which target.
        assignment: AssignmentChoice = "split",
        Assumed "what IOmeter does when targets are selected for a manager";
        /// I/Os in flight for each worker on each of its targets.
        outstanding: u32 = "1" in "1" to "4096",
        Assumed "IOmeter's default";
        /// The access specification.
        access: Vec<AccessLineParameters> = required,
        Assumed "a choice";
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanewise_units::Span;

    #[test]
    fn a_line_of_an_access_specification_is_shown_with_all_that_is_not_plain() {
        let plain = AccessLineParameters {
            size: Bytes::from_kib(4),
            percent: 100,
            read: 67,
            random: 0,
            delay: Span::ZERO,
            burst: 1,
            alignment: Bytes::ZERO,
            reply: Bytes::ZERO,
        };
        assert_eq!(plain.show(), r#"{ size = "4 KiB", percent = 100, read = 67, random = 0 }"#);
        let (alignment, reply) = (Bytes::from_kib(64), Bytes::new(512));
        let all = AccessLineParameters { delay: Span::from_us(10), burst: 4, alignment, reply, ..plain };
        let more = r#"delay = "10 us", burst = 4, alignment = "64 KiB", reply = "512 B" }"#;
        assert!(all.show().ends_with(more), "{}", all.show());
    }
}
