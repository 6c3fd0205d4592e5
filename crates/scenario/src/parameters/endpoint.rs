//! Endpoint: a requester with DMA engines and a completer of MMIO.

use super::{
    AdapterParameters, AtsParameters, CopyEngineParameters, DeviceErrorParameters, EthernetAdapterParameters,
    ExpanderParameters, IdeParameters, KernelParameters, NtbParameters, NvmeParameters, PortParameters,
    RdmaParameters, SideLinkParameters, SriovParameters,
};
use crate::parameter::parameters;
use crate::value::{Auto, PayloadSize, choices};
use lanewise_units::{Bytes, Generation, Rate, Span, Width};

choices! {
    /// Width of the tag field of a requester.
    TagChoice, "the width of the tag field" {
        /// 10 bits where every device on the path supports 16 GT/s or more, 8 bits otherwise.
        Auto = "auto",
        /// 5 bits: 32 tags.
        Bits5 = "5 bits",
        /// 8 bits: 256 tags.
        Bits8 = "8 bits",
        /// 10 bits: 768 tags.
        Bits10 = "10 bits",
        /// 14 bits: 15,360 tags, in Flit Mode only.
        Bits14 = "14 bits",
    }
}

choices! {
    /// Where the buffers of a device are when it first uses them.
    BuffersChoice, "where its buffers are" {
        /// In memory.
        Cold = "cold",
        /// In the last-level cache, as far as they fit: the processor has used them.
        Warm = "warm",
    }
}

choices! {
    /// Where the registers of a device are.
    BarChoice, "the width of a base address register" {
        /// 64 bits for devices of Gen3 and later, 32 bits before.
        Auto = "auto",
        /// Above 4 GiB.
        Bits64 = "64-bit",
        /// Below 4 GiB.
        Bits32 = "32-bit",
    }
}

parameters! {
    /// A device at a leaf: network adapter, host bus adapter, drive, accelerator.
    EndpointParameters, Claim "endpoint" {
        /// Fastest generation of its port.
        generation: Generation = required stays Training,
        Datasheet "given by the part, or by the scenario";
        /// Widest width of its port.
        width: Width = required stays Training,
        Datasheet "given by the part, or by the scenario";
        /// Maximum Read Request Size programmed into the device, instead of the firmware's choice.
        mrrs: Auto<PayloadSize> = "auto" stays Buffers,
        Spec "firmware's value, whose default is 512 B, PCIe Base 6.3 §7.5.3.4";
        /// Read requests it may have outstanding, within its tag field.
        tags: Auto<u32> = "auto" in "1" to "15360" stays Table,
        Assumed "as many as its tag field can tell apart";
        /// Width of the tag field in use.
        tag_width: TagChoice = "auto" stays Table,
        Spec "PCIe Base 6.3 §2.2.6.2";
        /// Whether its requests carry the Relaxed Ordering attribute.
        relaxed_ordering: bool = "false",
        Assumed "strict ordering is the safe default of drivers";
        /// Whether its requests and completions carry the ID-based Ordering attribute.
        id_based_ordering: bool = "false",
        Spec "off after reset: IDO Request and Completion Enable in Device Control 2, PCIe Base 6.3 §7.5.3.16";
        /// Traffic class of its requests, where a workload says nothing else.
        traffic_class: u8 = "0" in "0" to "7",
        Spec "every port has TC0 and uses it by default, PCIe Base 6.3 §2.5";
        /// Whether every packet it sends has an end-to-end CRC.
        ecrc: bool = "false",
        Spec "off after reset, PCIe Base 6.3 §7.8.4";
        /// End-to-end prefixes of 4 B on every request it sends: the first is a PASID. In Flit Mode that shares 4 B of OHC-A
        /// with the byte enables, and the others are 1, 2 or 4 times 4 B of OHC-E.
        tlp_prefixes: u8 = "0" in "0" to "4",
        Spec "off after reset: PASID Control and the like; at most four, PCIe Base 6.3 §2.2.10.4";
        /// Where its registers are: above 4 GiB requests have headers of four DW, one more than below. What has 32 bits below
        /// one host shares less than 4 GiB, and each port of a switch has at least 1 MiB of it: room for some 4,000 devices.
        bar: BarChoice = "auto",
        Assumed "64-bit since Gen3: memory BARs of NICs, drives and GPUs of that time are of 64 bits in public dumps";
        /// Bytes of the base address register of its registers; the next power of two.
        register_bar: Bytes = "16 KiB" in "4 KiB" to "256 MiB",
        Assumed away "NVMe drives in public dumps of lspci; no time depends on it";
        /// Bytes of the base address register through which other devices reach its memory; the next power of two. Offsets beyond it
        /// begin anew, as software moves it over what is used.
        memory_bar: Auto<Bytes> = "auto" in "1 MiB" to "1024 GiB",
        Assumed "64 GiB where a workload has other devices use its memory, none elsewhere";
        /// From an MMIO read's arrival to its completion entering the egress queue.
        mmio_read_latency: Auto<Span> = "auto" in "0 ns" to "1 ms"
        live "loads that arrive from then on",
        Assumed "255 ns for RDMA adapters, 700 ns for others: published loads less their way there and back";
        /// From the arrival of another device's read of its memory to the data entering the egress queue.
        memory_read_latency: Span = "100 ns" in "0 ns" to "1 ms"
        live "reads of its memory that arrive from then on",
        Assumed "memory behind an internal bus, which is built for it; a register takes longer";
        /// Rate at which its memory answers such reads; "none" for no limit but the link.
        memory_read_rate: Option<Rate> = "none" in "1 MB/s" to "10 TB/s"
        live "reads of its memory that arrive from then on" needs "a rate at the start",
        Assumed away "so high that the link is the limit";
        /// Largest write request of its DMA: requests are cut at multiples of it, and never longer than the Maximum Payload Size.
        write_unit: Auto<PayloadSize<32>> = "auto",
        Assumed "as much as a TLP may carry: the Maximum Payload Size";
        /// Largest read request of its DMA: requests are cut at multiples of it, and never longer than the Maximum Read Request Size.
        read_unit: Auto<PayloadSize<32>> = "auto",
        Assumed "as much as a request may ask for: the Maximum Read Request Size";
        /// Smallest time between two requests leaving the DMA engines, whatever their directions: one engine for both.
        request_interval: Span = "0 ns" in "0 ns" to "1 ms"
        live "requests from the next but one on",
        Assumed away "the DMA engines are never the limit unless they are known to be";
        /// Smallest time between the starts of two write requests.
        write_interval: Span = "0 ns" in "0 ns" to "1 ms"
        live "requests from the next but one on" needs "a pace, path or tag hold of the device at the start",
        Assumed away "the DMA engines are never the limit unless they are known to be";
        /// Smallest time between the starts of two read requests.
        read_interval: Span = "0 ns" in "0 ns" to "1 ms"
        live "requests from the next but one on" needs "a pace, path or tag hold of the device at the start",
        Assumed away "the DMA engines are never the limit unless they are known to be";
        /// Time after each TLP that it sends in which no other starts; DLLPs may use it. Not in Flit Mode.
        tlp_gap: Span = "0 ns" in "0 ns" to "1 ms",
        Assumed away "TLPs follow each other without a gap unless a device is known for it";
        /// Rate of its own data path between engines and port, of each direction; "none" for no limit.
        path_rate: Option<Rate> = "none" in "1 MB/s" to "10 TB/s"
        live "data that enter the path from then on" needs "a rate at the start",
        Assumed away "so high that the link is the limit";
        /// Time that data take on that path beside their bytes: before a write may leave, and after read data have arrived.
        path_latency: Span = "0 ns" in "0 ns" to "1 ms"
        live "data that enter the path from then on" needs "a pace, path or tag hold of the device at the start",
        Assumed "counted as part of the device, which the workload models";
        /// Whether data of a read wait on that path until all of their transfer have arrived, as in a device that has them in a
        /// buffer first and moves them on whole. Their tags are then free on arrival, or after `tag_hold`.
        collects_reads: bool = "false",
        Assumed "the device moves data on as they come";
        /// From the arrival of a read's last completion until its tag is free again; "auto" until its data can be used.
        tag_hold: Auto<Span> = "auto" in "0 ns" to "1 ms",
        Assumed "a tag stands for space that the data have not left: until `path_rate`, `path_latency` and `completion_latency` have passed";
        /// From the arrival of the last completion, and the data path behind it, to the use of the data.
        completion_latency: Span = "0 ns" in "0 ns" to "1 ms",
        Assumed "counted as part of the device, which the workload models";
        /// Rate at which posted writes that arrive are drained: peer-to-peer and MMIO.
        write_drain: Rate = "200 GB/s" in "1 MB/s" to "10 TB/s"
        live "writes that arrive from then on; what is booked stays",
        Assumed away "so high that the link is the limit";
        /// From the arrival of any packet until its buffer space is free, such as a bridge takes to pass it on.
        buffer_hold: Span = "0 ns" in "0 ns" to "1 ms",
        Assumed "buffers are sized so that nothing waits in them";
        /// Socket in whose memory its buffers are, counted from 0; "auto" for that of its own root port.
        memory_socket: Auto<u32> = "auto" in "0" to "63",
        Assumed "operating systems place buffers next to the device";
        /// Whether its buffers are in the last-level cache of the host when it first uses them.
        buffers: BuffersChoice = "cold",
        Assumed "large buffers, which no cache holds";
        flatten port: PortParameters;
        group errors: DeviceErrorParameters;
        group ide: IdeParameters;
        group ats: AtsParameters;
        group sriov: SriovParameters;
        group copy_engine: CopyEngineParameters;
        group kernel: KernelParameters;
        group side_link: SideLinkParameters;
        group ntb: NtbParameters;
        group adapter: AdapterParameters;
        group ethernet: EthernetAdapterParameters;
        group nvme: NvmeParameters;
        group rdma: RdmaParameters;
        group expander: ExpanderParameters;
    }
}
