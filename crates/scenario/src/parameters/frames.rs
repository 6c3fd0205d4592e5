//! A game loop over GPUs.

use crate::document::Node;
use crate::parameter::{ParameterTable, parameters};
use crate::reader::read_entry;
use crate::value::{Auto, ParameterType, Reading, inline_table, quoted};
use lanewise_units::{Bytes, Span};
use serde_json::Value as Json;

parameters! {
    /// A scene of a game. What it does not say is as in the workload.
    SceneParameters, Choice "scene of workload kind \"frames\"" {
        /// Name in the report.
        name: String = required,
        Assumed "a choice";
        /// Whether it is a game test, one of those that the score is made of; tests of a processor or of batch sizes are not.
        scored: bool = "true",
        Assumed "a game test";
        /// Frames to render.
        frames: Auto<u32> = "auto" in "1" to "1000000",
        Assumed "as in the workload";
        /// Work of the processor for a frame.
        cpu_time: Auto<Span> = "auto" in "0 ns" to "10 s",
        Assumed "as in the workload";
        /// Batches of a frame, each with a register read that the processor waits for.
        batches: Auto<u32> = "auto" in "1" to "1000000",
        Assumed "as in the workload";
        /// Work of each GPU for a frame.
        gpu_time: Auto<Span> = "auto" in "0 ns" to "10 s",
        Assumed "as in the workload";
        /// Commands and data of a frame that each GPU reads from host memory.
        commands: Auto<Bytes> = "auto" in "1 B" to "1 GiB",
        Assumed "as in the workload";
        /// Image data of each further GPU that goes to the first through host memory.
        image: Auto<Bytes> = "auto" in "0 B" to "1 GiB",
        Assumed "as in the workload";
    }
}

impl ParameterType for SceneParameters {
    fn expected() -> String {
        "a scene such as { name = \"Canyon Flight\", batches = 1500, cpu_time = \"45 ms\" }".to_owned()
    }
    fn read(node: &Node, reading: &mut Reading<'_>) -> Option<Self> {
        read_entry(node, reading)
    }
    fn show(&self) -> String {
        let own = [
            ("frames", given(self.frames, ParameterType::show)),
            ("cpu_time", given(self.cpu_time, |time| quoted(&time.show()))),
            ("batches", given(self.batches, ParameterType::show)),
            ("gpu_time", given(self.gpu_time, |time| quoted(&time.show()))),
            ("commands", given(self.commands, |bytes| quoted(&bytes.show()))),
            ("image", given(self.image, |bytes| quoted(&bytes.show()))),
            ("scored", (!self.scored).then(|| "false".to_owned())),
        ];
        let own = own.into_iter().filter_map(|(key, value)| Some((key, value?)));
        inline_table(std::iter::once(("name", quoted(&self.name))).chain(own))
    }
    fn schema() -> Json {
        crate::schema::table_schema(&Self::SCHEMA, &[])
    }
}

/// A value that the scene has of its own.
fn given<T>(value: Auto<T>, show: impl Fn(&T) -> String) -> Option<String> {
    match value {
        Auto::Auto => None,
        Auto::Given(value) => Some(show(&value)),
    }
}

parameters! {
    /// Frames of a game: the processor's work, the GPUs', and what crosses the links between them.
    FramesParameters, Choice "workload kind \"frames\"" {
        /// The GPUs; the first shows the image.
        gpus: Vec<String> = required names Components,
        Assumed "a choice";
        /// Scenes, one after another, each with a rate of its own and all scored ones with one score; none for one of alike
        /// frames.
        scenes: Vec<SceneParameters> = "[]",
        Assumed "one scene";
        /// Frames to render, of each scene.
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
