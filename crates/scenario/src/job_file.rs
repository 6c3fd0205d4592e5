//! Jobs from a file of their own, such as fio's: they take the place of the scenario's workloads of that kind.
//!
//! The reader of the file's format says which line each job and option stands in, so that a problem in one is shown in
//! the text that the user wrote.
//!
//! ```text
//! [seq-read]        { kind = "fio", name = "seq-read",
//! bs=128k      ──►    bs = "131072 B", … }              in `workload`, after those of other kinds
//! ```

use crate::diagnostic::Diagnostic;
use crate::document::{Node, Table, Value};
use crate::source::{FILE_SIZE_LIMIT, FileId, Place, SourceFile, SourceMap, too_large};

/// A file of jobs, read into options of workloads.
#[derive(Clone, Debug)]
pub struct JobFile {
    /// Kind of workload that its jobs are.
    pub kind: String,
    /// The file as a person would name it.
    pub path: String,
    /// Its whole text.
    pub text: String,
    /// Its jobs, in their order.
    pub jobs: Vec<WrittenJob>,
}

/// One job.
#[derive(Clone, Debug)]
pub struct WrittenJob {
    /// Name of its workload.
    pub name: String,
    /// Line of its heading, from 1.
    pub line: usize,
    /// Its options.
    pub options: Vec<JobOption>,
}

/// One option of a job.
#[derive(Clone, Debug)]
pub struct JobOption {
    /// Key of the workload.
    pub key: String,
    /// Value, as an override has it.
    pub value: String,
    /// Line that says so, from 1.
    pub line: usize,
}

impl JobFile {
    /// Puts the jobs into the root table of a scenario.
    pub(crate) fn merge_into(
        &self,
        root: &mut Table,
        sources: &mut SourceMap,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        if self.text.len() as u64 > FILE_SIZE_LIMIT.get() {
            diagnostics.push(Diagnostic::global(too_large(&self.path, format!("{} B", self.text.len()))));
            return;
        }
        let id = sources.add(SourceFile::new(&self.path, &self.text));
        let lines = Lines { id, file: sources.file(id), last: self.text.matches('\n').count() + 1 };
        let jobs: Vec<Node> = self.jobs.iter().map(|job| self.node(job, &lines)).collect();
        let whole = Place::new(id, 0..0);
        match root.get_mut("workload").map(|node| &mut node.value) {
            Some(Value::Array(items)) => {
                items.retain(|item| !self.is_replaced(item));
                items.extend(jobs);
            }
            // Something else there is reported when the scenario is read.
            Some(_) => {}
            None => root.set("workload", Node { place: whole, value: Value::Array(jobs) }),
        }
    }

    fn is_replaced(&self, workload: &Node) -> bool {
        let kind = workload.as_table().and_then(|table| table.get("kind"));
        kind.and_then(Node::as_str) == Some(&self.kind)
    }

    fn node(&self, job: &WrittenJob, lines: &Lines<'_>) -> Node {
        let place = lines.place(job.line);
        let text = |text: &str| Node { place, value: Value::String(text.to_owned()) };
        let mut table = Table::with_one("kind", text(&self.kind));
        table.set("name", text(&job.name));
        for option in &job.options {
            table.set(&option.key, Node::from_plain_text(&option.value, lines.place(option.line)));
        }
        Node { place, value: Value::Table(table) }
    }
}

/// Lines of the file as places.
struct Lines<'f> {
    id: FileId,
    file: &'f SourceFile,
    last: usize,
}

impl Lines<'_> {
    /// A line; the nearest one when there is no such line.
    fn place(&self, line: usize) -> Place {
        Place::new(self.id, self.file.line_range(line.clamp(1, self.last)))
    }
}
