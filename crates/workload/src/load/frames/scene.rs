//! What is rendered one after another, what each scene came to, and the score of those that count.

use crate::load::measured::{measured, per};
use lanewise_fabric::workload::Metric;
use lanewise_units::{Bytes, Span, Time};

/// Points for a frame per second: the score is 250 times the geometric mean of the game tests' frames per second.
/// Source: Futuremark, 3DMark05 white paper, 2004.
const SCORE_PER_FRAME: f64 = 250.0;

/// One scene: alike frames.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// Name in the report; none where all frames are of one scene.
    pub name: Option<String>,
    /// Whether it is one of the game tests, which the score is made of.
    pub scored: bool,
    /// Frames to render.
    pub frames: u32,
    /// Work of the processor for a frame.
    pub cpu_time: Span,
    /// Batches of a frame, each with a register read that the processor waits for.
    pub batches: u32,
    /// Work of each GPU for a frame.
    pub gpu_time: Span,
    /// Commands and data of a frame that each GPU reads.
    pub commands: Bytes,
    /// Image data of each further GPU that goes to the first through host memory; zero with a connector for it.
    pub image: Bytes,
}

/// Frames of one scene so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rendered {
    pub frames: u32,
    /// From the start of its first frame to the end of its last.
    pub time: Span,
}

impl Rendered {
    pub fn add(&mut self, start: Time, end: Time) {
        self.frames += 1;
        self.time += end - start;
    }

    /// None of no frame.
    fn per_second(&self) -> Option<f64> {
        per(self.frames.into(), self.time.as_seconds())
    }
}

/// The numbers of a scene without a name, or of each that has one, and the score.
pub(super) fn metrics(scenes: &[Scene], rendered: &[Rendered]) -> Vec<Metric> {
    let mut metrics = Vec::new();
    for (scene, done) in scenes.iter().zip(rendered) {
        if let Some(name) = &scene.name {
            metrics.extend(measured(&format!("{name} (frames/s)"), done.per_second()));
            continue;
        }
        metrics.extend(measured("frames per second", done.per_second()));
        let milliseconds = per(done.time.as_seconds() * 1e3, done.frames.into());
        metrics.extend(measured("frame time (ms)", milliseconds));
    }
    metrics.extend(measured("3DMark05 score", score(scenes, rendered)));
    metrics
}

/// The score, when every scene that it needs has shown a frame.
fn score(scenes: &[Scene], rendered: &[Rendered]) -> Option<f64> {
    let tests: Vec<&Rendered> =
        scenes.iter().zip(rendered).filter(|(scene, _)| scene.scored).map(|(_, done)| done).collect();
    if tests.is_empty() {
        return None;
    }
    let share = 1.0 / tests.len() as f64;
    let mean: Option<f64> = tests.iter().map(|done| Some(done.per_second()?.powf(share))).product();
    mean.map(|mean| SCORE_PER_FRAME * mean)
}
