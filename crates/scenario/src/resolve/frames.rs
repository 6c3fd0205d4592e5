//! A game loop: which GPUs render it, and what.

use super::Inputs;
use super::kinds::{WorkloadKind, kind};
use super::workload::{endpoints, parameters, place, unknown};
use crate::file::WrittenWorkload;
use crate::parameter::Output;
use crate::parameter::ParameterTable;
use crate::parameters::{FramesParameters, SceneParameters};
use crate::problem::Problem;
use lanewise_fabric::workload::DeviceId;
use lanewise_workload::load::frames::{FramesConfig, Scene};
use std::collections::BTreeSet;

/// Frames of a game.
pub(super) const FRAMES: WorkloadKind = kind(
    "frames",
    &FramesParameters::SCHEMA,
    &[("A scene of `scenes`", &SceneParameters::SCHEMA)],
    |reading, workload| {
        let read = config(reading.inputs, workload, reading.output);
        reading.add(read);
    },
);

/// The instrument that a workload asks for; nothing when it names no GPU.
pub(crate) fn config(
    inputs: &Inputs<'_>,
    workload: &WrittenWorkload,
    output: &mut Output,
) -> Option<FramesConfig> {
    let parameters = parameters::<FramesParameters>(workload, output)?;
    let found = |name: &String, output: &mut Output| endpoints(inputs, workload, "gpus", name, output);
    let instances: Vec<usize> = parameters.gpus.iter().flat_map(|name| found(name, output)).collect();
    let mut named = BTreeSet::new();
    for instance in instances.iter().filter(|instance| !named.insert(**instance)) {
        let name = inputs.topology.instances[*instance].name.clone();
        output.report(place(workload, "gpus"), Problem::DuplicateName { name }, None);
    }
    if parameters.gpus.is_empty() {
        unknown(inputs, workload, "gpus", "[]", "at least one GPU is needed".to_owned(), output);
    }
    check_names(workload, &parameters.scenes, output);
    if instances.is_empty() {
        return None;
    }
    let named =
        |instance: &usize| (DeviceId(*instance as u32), inputs.topology.instances[*instance].name.clone());
    Some(FramesConfig {
        name: workload.load_name(),
        gpus: instances.iter().map(named).collect(),
        scenes: scenes(&parameters),
    })
}

/// A report tells scenes by their names.
fn check_names(workload: &WrittenWorkload, scenes: &[SceneParameters], output: &mut Output) {
    let mut names = BTreeSet::new();
    for scene in scenes.iter().filter(|scene| !names.insert(&scene.name)) {
        let problem = Problem::DuplicateName { name: scene.name.clone() };
        output.report(place(workload, "scenes"), problem, None);
    }
}

/// The scenes as they are listed; without a list one, which is all that the workload says.
fn scenes(parameters: &FramesParameters) -> Vec<Scene> {
    let alone = Scene {
        name: None,
        scored: true,
        frames: parameters.frames,
        cpu_time: parameters.cpu_time,
        batches: parameters.batches,
        gpu_time: parameters.gpu_time,
        commands: parameters.commands,
        image: parameters.image,
    };
    if parameters.scenes.is_empty() {
        return vec![alone];
    }
    let listed = parameters.scenes.iter().map(|scene| Scene {
        name: Some(scene.name.clone()),
        scored: scene.scored,
        frames: scene.frames.given().unwrap_or(alone.frames),
        cpu_time: scene.cpu_time.given().unwrap_or(alone.cpu_time),
        batches: scene.batches.given().unwrap_or(alone.batches),
        gpu_time: scene.gpu_time.given().unwrap_or(alone.gpu_time),
        commands: scene.commands.given().unwrap_or(alone.commands),
        image: scene.image.given().unwrap_or(alone.image),
    });
    listed.collect()
}
