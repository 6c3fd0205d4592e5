//! A game loop over GPUs.

use crate::parameter::parameters;
use lanewise_units::{Bytes, Span};

parameters! {
    /// Frames of a game: the processor's work, the GPUs', and what crosses the links between them.
    FramesParameters, Choice "workload kind \"frames\"" {
        /// The GPUs; the first shows the image.
        gpus: Vec<String> = required,
        Assumed "a choice";
        /// Frames to render.
        frames: u32 = "5" in "1" to "1000000",
        Assumed "every frame is alike";
        /// Work of the processor for a frame.
        cpu_time: Span = "20 ms" in "0 ns" to "10 s",
        Assumed "to be calibrated for a machine";
        /// Batches of a frame, each with a register read that the processor waits for.
        batches: u32 = "1000" in "1" to "1000000",
        Assumed "the order of draw calls of a scene of 2005";
        /// Work of each GPU for a frame.
        gpu_time: Span = "15 ms" in "0 ns" to "10 s",
        Assumed "to be calibrated for a machine";
        /// Commands and data of a frame that each GPU reads from host memory.
        commands: Bytes = "1 MiB" in "1 B" to "1 GiB",
        Assumed "a kilobyte for each batch; textures are in the GPU's memory";
        /// Image data of each further GPU that goes to the first through host memory; "0 B" with a connector for it.
        image: Bytes = "0 B" in "0 B" to "1 GiB",
        Assumed "GPUs of one image have a connector between them";
    }
}
