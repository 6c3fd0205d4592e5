//! NVMe drives, the host software above them, and fio's jobs.

use crate::parameter::parameters;
use crate::value::{Auto, choices};
use lanewise_units::{Bytes, Rate, Span};
use lanewise_workload::load::fio::BlockSizes;

parameters! {
    /// An endpoint that is an NVMe drive: its controller and media.
    NvmeParameters, Claim "nvme" {
        /// Bytes of the namespace; "none" for an endpoint that is no drive.
        capacity: Option<Bytes> = "none" in "1 MiB" to "1024 TiB",
        Assumed "an endpoint is a drive only when it says so";
        /// Commands that one read of a submission queue fetches at most.
        fetch_batch: u32 = "8" in "1" to "1024",
        Assumed "half a page of commands; not published for any drive";
        /// Time after which the controller's processors take the next command: what limits commands a second. A command
        /// alone does not wait for it.
        command_time: Span = "1 us" in "0 ns" to "10 ms"
        live "commands that are fetched from then on" needs "a job on the drive",
        Assumed "a million I/Os a second";
        /// The same for each 512 B of a command after the first, up to 4 KiB, on top: what makes small I/Os more than those of 4 KiB.
        sector_time: Span = "0 ns" in "0 ns" to "1 ms"
        live "commands that are fetched from then on" needs "a job on the drive",
        Assumed "most drives are rated with 4 KiB alone";
        /// Time that a command is with the processors: checked, and its address looked up.
        command_latency: Span = "1 us" in "0 ns" to "10 ms"
        live "commands that are fetched from then on" needs "a job on the drive",
        Assumed "some hundred instructions and a few accesses to DRAM; not published for any drive";
        /// Rate of the data path from the media to its buffer: what limits large reads. The first unit of a piece does not
        /// wait for it.
        read_rate: Rate = "3.5 GB/s" in "1 MB/s" to "1 TB/s"
        live "units that enter the data path from then on" needs "a job on the drive",
        Assumed "a fast Gen3 x4 drive";
        /// Rate of the data path from its buffer to the media, in the long run.
        write_rate: Rate = "3 GB/s" in "1 MB/s" to "1 TB/s"
        live "pieces that begin to drain from then on" needs "a job on the drive",
        Assumed "a fast Gen3 x4 drive";
        /// The same for scattered writes, which neither go on with a stream nor begin one: what garbage collection leaves of it.
        random_write_rate: Auto<Rate> = "auto" in "1 MB/s" to "1 TB/s"
        live "pieces that begin to drain from then on" needs "a job on the drive",
        Assumed "as `write_rate`: a drive that was empty, or media that can be overwritten";
        /// Bytes that the data path hands to DMA at a time: the link takes the first while the rest of a piece crosses.
        dma_unit: Bytes = "4 KiB" in "512 B" to "1 MiB",
        Assumed "a page of host memory, to which PRP entries point";
        /// Pieces that the media can read at a time: dies, or planes of dies that work apart.
        dies: u32 = "64" in "1" to "65536" stays Table,
        Assumed "eight channels of eight";
        /// Bytes of a piece: a page of the media.
        piece: Bytes = "16 KiB" in "512 B" to "1 MiB",
        Assumed "the page of most NAND of the time";
        /// Time in which a die reads a piece, until the first unit of it is in the controller.
        read_time: Span = "60 us" in "0 ns" to "100 ms"
        live "pieces that are asked of the dies from then on" needs "a job on the drive",
        Assumed "TLC NAND";
        /// Time for a read that finds its data read ahead.
        hit_time: Span = "8 us" in "0 ns" to "100 ms"
        live "pieces that are found read ahead from then on" needs "a job on the drive",
        Assumed "table lookup and DRAM of a controller";
        /// From the arrival of a write's last byte to its completion.
        write_time: Span = "8 us" in "0 ns" to "100 ms"
        live "writes whose last byte arrives from then on" needs "a job on the drive",
        Assumed "table update and DRAM of a controller";
        /// Room for read data between controller and DMA, and as much again for write data.
        buffer: Bytes = "1 MiB" in "4 KiB" to "64 GiB" stays Buffers,
        Assumed "enough to cover a round trip to memory";
        /// Whether writes have gone on for so long before the run that the buffer is full of them.
        preconditioned: bool = "true",
        Assumed "tools write for minutes, and a buffer is full within milliseconds";
        /// Bytes of memory in the controller that other devices read and write (controller memory buffer); "none" without.
        controller_memory_buffer: Option<Bytes> = "none" in "4 KiB" to "64 GiB" stays Buffers,
        Assumed "optional, and most drives have none (NVMe Base 2.0 §8.5)";
        /// Data behind the end of a stream of reads that is still in the buffer; "0 B" for no read-ahead.
        read_ahead: Bytes = "1 MiB" in "0 B" to "64 GiB",
        Assumed "a segment of the controller's DRAM";
        /// Sequential streams that the drive keeps apart, of reads and of writes.
        streams: u32 = "256" in "1" to "4096" stays Table,
        Assumed "more than the jobs of any benchmark";
        /// Streams of writes that may be new, with nothing gone on behind their first write. A write elsewhere that finds more of
        /// them is scattered.
        new_streams: u32 = "32" in "0" to "4096",
        Assumed "as many as tools have jobs";
        /// Completions after which an interrupt is due.
        interrupt_completions: u32 = "1" in "1" to "256",
        Assumed "no coalescing, the reset state (NVMe Base 2.0 §5.27.1.6)";
        /// Longest time that a completion waits for others before an interrupt is due.
        interrupt_delay: Span = "0 ns" in "0 ns" to "25.5 ms",
        Assumed "no coalescing, the reset state (NVMe Base 2.0 §5.27.1.6)";
    }
}

parameters! {
    /// CPU cost of the host's software for each I/O on NVMe drives, and the cores that pay it.
    NvmeSoftwareParameters, Claim "nvme software" {
        /// Cores.
        cores: u32 = "16" in "1" to "4096" stays Table,
        Assumed "a server of about 2020";
        /// The job's own thread, for each I/O.
        worker_cost: Span = "0.5 us" in "0 ns" to "10 ms",
        Assumed "fio's bookkeeping";
        /// System call, block layer and driver on the way down, for each I/O.
        submit_cost: Span = "1.2 us" in "0 ns" to "10 ms",
        Assumed "Linux with multiple queues";
        /// What the calls of `libaio` (io_submit, io_getevents) take of `submit_cost`, for each I/O; `io_uring` does
        /// without them.
        aio_cost: Span = "0.7 us" in "0 ns" to "10 ms",
        Published "one core, interrupts: libaio 608,000 I/Os a second, io_uring 1.2 million, 0.81 us less for each (J. Axboe, Efficient IO with io_uring, 2019); 346,000 and 433,000, 0.58 us (alibaba/PhotonLibOS, File IO Performance); the mean of both";
        /// What an I/O with `ioengine = "spdk"` takes of a core besides `worker_cost`: a driver in user space, which polls.
        user_driver_cost: Span = "76 ns" in "0 ns" to "10 ms",
        Published "one core reads 13.9 million times 512 B a second with SPDK's perf on a Xeon 8380 and on an 8480+, 4 KiB 12.6 million times on the first and 10.4 on an 8280L (spdk.io, 2019-05-06, 2021-05-06 and 2023-02-01): 72 to 96 ns, the median of the four";
        /// Interrupt entry and exit, for each interrupt.
        interrupt_cost: Span = "1 us" in "0 ns" to "10 ms",
        Assumed "delivery to a core that may sleep lightly";
        /// Driver, block layer and wake-up on the way up, for each I/O.
        completion_cost: Span = "1.2 us" in "0 ns" to "10 ms",
        Assumed "Linux with multiple queues";
        /// Mapping a buffer and registering it with an RDMA adapter, and undoing both, for each I/O over a network
        /// whose data does not travel in its command capsule.
        register_cost: Span = "0.4 us" in "0 ns" to "10 ms",
        Assumed "Linux nvme-rdma: DMA mapping, a registration request of its own ahead of the command";
    }
}

choices! {
    /// How the software of a target learns that an adapter or a drive has completed something.
    TargetCompletionsChoice, "how completions are noticed" {
        /// Interrupts wake a core that has nothing to do; one that is busy looks for more by itself. Linux nvmet.
        Interrupts = "interrupts",
        /// Cores look all the time, and drives do not interrupt. SPDK.
        Polling = "polling",
    }
}

parameters! {
    /// Software of an NVMe over Fabrics target, besides its drivers of adapter and drive.
    NvmeTargetParameters, Claim "nvme_target" {
        /// Cores that serve connections; those of `nvme.cores` are a limit, too.
        cores: u32 = "16" in "1" to "4096" stays Table,
        Assumed "a connection for each core of the initiator, each served by a core";
        /// How it learns of completions.
        completions: TargetCompletionsChoice = "interrupts",
        Published "Linux nvmet-rdma: completion queues are served by workers that interrupts wake";
        /// Speed of a core in percent of the core that the costs are quoted for.
        core_speed: u32 = "100" in "1" to "1000",
        Assumed "a core of a server of about 2018";
        /// Core time from a command capsule to the submission of its command, for each I/O.
        command_cost: Span = "3 us" in "0 ns" to "10 ms",
        Assumed "Linux nvmet: completion handler, parsing, a block request";
        /// Core time to take a page of 4 KiB for data that does not travel in a capsule, and to give it back.
        page_cost: Span = "66 ns" in "0 ns" to "1 ms",
        Published "238 cycles of a Xeon E5-1650 v4 at 3.6 GHz: bench_page_pool_simple, slow path, J. D. Brouer on the bpf list, 18 January 2025; no IOMMU";
        /// Core time from the drive's completion to the response, for each I/O.
        response_cost: Span = "1.5 us" in "0 ns" to "10 ms",
        Assumed "Linux nvmet: mapping for RDMA, a chain of work requests";
        /// Largest data of a write that travels in its command capsule.
        in_capsule_bytes: Bytes = "16 KiB" in "0 B" to "1 MiB",
        Published "Linux nvmet-rdma: inline_data_size, four pages of 4 KiB";
    }
}

choices! {
    /// What a fio job does, in fio's words.
    RwChoice, "what the job does" {
        /// Sequential reads.
        Read = "read",
        /// Sequential writes.
        Write = "write",
        /// Random reads.
        RandRead = "randread",
        /// Random writes.
        RandWrite = "randwrite",
        /// Sequential reads and writes.
        Rw = "rw",
        /// The same.
        ReadWrite = "readwrite",
        /// Random reads and writes.
        RandRw = "randrw",
    }
}

choices! {
    /// How fio asks the kernel.
    IoEngineChoice, "an I/O engine" {
        /// Linux native asynchronous I/O.
        Libaio = "libaio",
        /// Linux io_uring.
        IoUring = "io_uring",
        /// SPDK: a driver in the job's thread, which polls; the kernel has no part in it.
        Spdk = "spdk",
        /// `pread` and `pwrite`: one I/O at a time.
        Psync = "psync",
        /// `read` and `write`: one I/O at a time.
        Sync = "sync",
        /// GPUDirect Storage: one I/O at a time, between drives and `gpu_dev_ids`.
        Libcufile = "libcufile",
    }
}

choices! {
    /// How data gets between a drive and a GPU under `libcufile`.
    CudaIoChoice, "how data gets to a GPU" {
        /// The drive reads and writes the memory of the GPU, peer to peer.
        Cufile = "cufile",
        /// By way of a buffer in host memory, which `cudaMemcpy` copies.
        Posix = "posix",
    }
}

parameters! {
    /// fio: jobs that keep I/Os in flight on NVMe drives. Keys and meanings are those of a job file.
    FioParameters, Choice "workload kind \"fio\"" {
        /// The drives: endpoints with `nvme.capacity`, such as ["ssd0", "ssd[*]"]. I/Os take turns over them.
        filename: Vec<String> = required names Components,
        Assumed "a choice";
        /// What the job does.
        rw: RwChoice = required,
        Assumed "a choice";
        /// Percentage of reads in a mix.
        rwmixread: u32 = "50" in "0" to "100"
        live "the next I/O" needs "a mix from the start that has both ways, and keeps both",
        Assumed "fio's default";
        /// Bytes of an I/O: a size, a range such as "4 KiB to 64 KiB", or a mix such as "4 KiB 60 %, 64 KiB 40 %".
        bs: BlockSizes = "4 KiB" in "512 B" to "8 MiB"
        live "the next I/O" needs "blocks no larger than the largest at the start, for which the buffers are",
        Assumed "fio's default";
        /// Bytes of a write, where they are not as those of a read.
        bs_write: Auto<BlockSizes> = "auto" in "512 B" to "8 MiB"
        live "the next I/O" needs "blocks no larger than the largest at the start, for which the buffers are",
        Assumed "as `bs`";
        /// I/Os in flight for each clone; synchronous engines have one.
        iodepth: u32 = "1" in "1" to "65535"
        live "at once where there are more, as I/Os end where there are fewer" needs "an asynchronous engine",
        Assumed "fio's default";
        /// Clones of the job.
        numjobs: u32 = "1" in "1" to "4096",
        Assumed "fio's default";
        /// How the kernel is asked.
        ioengine: IoEngineChoice = "psync",
        Assumed "fio's default on Linux";
        /// Whether the page cache is passed by; only true is modelled.
        direct: bool = "true",
        Assumed "what a benchmark of drives sets; fio's own default is false";
        /// Time after which no more I/Os are issued; "none" to go on to the end of the run.
        runtime: Option<Span> = "none" in "1 us" to "3600 s",
        Assumed "the run decides";
        /// Bytes of each drive that a clone uses, from its start.
        size: Auto<Bytes> = "auto" in "512 B" to "1024 TiB",
        Assumed "the whole drive, as fio does with block devices";
        /// Whether a clone goes on when it has moved `size` on every drive.
        time_based: bool = "false",
        Assumed "fio's default";
        /// Whether clones are reported together.
        group_reporting: bool = "false",
        Assumed "fio's default";
        /// Whether the job is in the group of the one before it: then `group_reporting` adds it to that one's report.
        same_group: bool = "false",
        Assumed "a report of its own; jobs of a job file are in one group until a new one begins";
        /// I/Os per second that each clone is held to.
        rate_iops: Option<u32> = "none" in "1" to "100000000"
        live "the next I/O" needs "a rate at the start",
        Assumed "fio's default";
        /// Bytes per second that each clone is held to; not with `rate_iops`.
        rate: Option<Rate> = "none" in "1 B/s" to "1 TB/s"
        live "the next I/O" needs "a rate at the start",
        Assumed "fio's default";
        /// Pause after each `thinktime_blocks` completed I/Os, in which nothing is in flight; "0 ns" for none.
        thinktime: Span = "0 ns" in "0 ns" to "3600 s"
        live "the next pause" needs "pauses from the start",
        Assumed "fio's default";
        /// I/Os that complete between two pauses.
        thinktime_blocks: u32 = "1" in "1" to "1000000000"
        live "the next pause" needs "pauses from the start",
        Assumed "fio's default";
        /// Whether completions are polled for instead of announced by interrupts.
        hipri: bool = "false",
        Assumed "fio's default";
        /// Whose memory the data goes to or comes from: "memory" of the host, or the name of an endpoint.
        iomem: String = "memory" names Components,
        Assumed "fio's default; an endpoint's stands for memory exported for peer-to-peer DMA";
        /// GPUs of `libcufile`, such as ["gpu[*]"]; clones of the job use them in turn.
        gpu_dev_ids: Vec<String> = "[]" names Components,
        Assumed "only `libcufile` has any";
        /// How `libcufile` gets data to a GPU.
        cuda_io: CudaIoChoice = "cufile",
        Assumed "fio's default";
        /// Host that the drives are assigned to while the job uses them: of drives that change hosts, one of theirs. The job
        /// waits until it has them. "auto" for the host that they are on at the start.
        assigned_to: String = "auto" names Components,
        Assumed "drives stay where they are unless it is said";
        /// Network between the job and its drives, for NVMe over Fabrics: the job runs at the end where the drives are
        /// not. "none" for drives of the job's own host.
        network: String = "none" names Components,
        Assumed "drives are attached unless it is said";
        /// Where a target stages data between its adapter and a drive: "memory" of its host, "drive" for the controller
        /// memory buffer of each drive, or the name of an endpoint with memory. The last two pass the host by.
        staging: String = "memory" names Components,
        Assumed "what targets in operating systems do by default";
    }
}
