//! Texts that a scenario is read from, and places in them.
//!
//! Everything that touches a file system goes through [`FileSystem`], so that the core also runs where there is
//! none.

use crate::foreign::encoding_of;
use crate::problem::Problem;
use lanewise_units::Bytes;
use std::ops::Range;

/// Largest file that is read: 4 MiB. Scenarios have kilobytes; the limit bounds time and memory.
pub const FILE_SIZE_LIMIT: Bytes = Bytes::from_kib(4 * 1024);

/// What reading needs of a file system.
pub trait FileSystem {
    /// The content of a file, or why it cannot be had.
    ///
    /// # Errors
    /// A sentence a person can read.
    fn read(&self, path: &str) -> Result<Vec<u8>, String>;
}

/// The file system of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct NativeFiles;

impl FileSystem for NativeFiles {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        use std::io::Read;
        // "No such file or directory" says it; the number behind it is for programs.
        let reason = |error: std::io::Error| {
            let text = error.to_string();
            text.split_once(" (os error").map_or(text.clone(), |(words, _)| words.to_owned())
        };
        let file = std::fs::File::open(path).map_err(reason)?;
        let mut bytes = Vec::new();
        // One byte more than allowed tells a file that is too large without reading all of it.
        file.take(FILE_SIZE_LIMIT.get() + 1).read_to_end(&mut bytes).map_err(reason)?;
        Ok(bytes)
    }
}

/// A text and the path it came from.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// As a person would name it.
    pub path: String,
    /// The same without characters that would steer a terminal.
    pub(crate) shown_path: String,
    /// The whole text.
    pub text: String,
    line_starts: Vec<usize>,
}

impl SourceFile {
    /// A text with its path.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        let line_starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let path = path.into();
        let shown_path = path.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
        Self { path, shown_path, text, line_starts }
    }

    /// Reads a file, at most [`FILE_SIZE_LIMIT`] of it.
    ///
    /// # Errors
    /// When it cannot be read, is too large or is not UTF-8.
    pub fn read(path: &str, files: &dyn FileSystem) -> Result<Self, Problem> {
        let unreadable = |reason: String| Problem::UnreadableFile { path: path.to_owned(), reason };
        let bytes = files.read(path).map_err(unreadable)?;
        if bytes.len() as u64 > FILE_SIZE_LIMIT.get() {
            return Err(too_large(path, "more than 4 MiB".to_owned()));
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let line = error.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
            let encoding = encoding_of(error.as_bytes());
            unreadable(format!("it is not UTF-8 from line {line}, byte {at} of the file, on: {encoding}"))
        })?;
        Ok(Self::new(path, text))
    }

    /// Line and column, both from 1, of a byte offset. The column counts characters.
    pub fn line_column(&self, offset: usize) -> (usize, usize) {
        let offset = self.floor_boundary(offset);
        let line = self.line_starts.partition_point(|start| *start <= offset);
        let column = self.text[self.line_starts[line - 1]..offset].chars().count() + 1;
        (line, column)
    }

    /// Number of lines.
    pub fn lines(&self) -> usize {
        self.line_starts.len()
    }

    /// Byte range of a line, counted from 1, without its line end.
    pub fn line_range(&self, line: usize) -> Range<usize> {
        let start = self.line_starts[line - 1];
        let end = self.line_starts.get(line).map_or(self.text.len(), |next| next - 1);
        start..end
    }

    /// The offset itself, or the start of the character it falls into.
    fn floor_boundary(&self, offset: usize) -> usize {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        offset
    }
}

/// The problem of a file that is too large.
pub(crate) fn too_large(path: &str, found: String) -> Problem {
    Problem::FileTooLarge { path: path.to_owned(), found, allowed: FILE_SIZE_LIMIT.to_string() }
}

/// Index of a text among those a scenario was read from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FileId(pub u32);

/// A stretch of a text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Place {
    /// Which text.
    pub file: FileId,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Place {
    /// Whether another stretch of the same text lies inside this one.
    pub fn contains(self, inner: Self) -> bool {
        self.file == inner.file && self.start <= inner.start && inner.end <= self.end
    }

    /// A range of bytes of a text.
    pub fn new(file: FileId, range: Range<usize>) -> Self {
        let clamp = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Self { file, start: clamp(range.start), end: clamp(range.end) }
    }
}

/// All texts a scenario was read from: the scenario, the overrides, the catalog parts in use.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: Vec<SourceFile>,
}

impl SourceMap {
    /// Adds a text.
    pub fn add(&mut self, file: SourceFile) -> FileId {
        self.files.push(file);
        FileId(self.files.len() as u32 - 1)
    }

    /// The text with this index.
    pub fn file(&self, id: FileId) -> &SourceFile {
        &self.files[id.0 as usize]
    }

    /// `path:line` of a place.
    pub fn describe(&self, place: Place) -> String {
        let file = self.file(place.file);
        format!("{}:{}", file.path, file.line_column(place.start as usize).0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_from_one_and_in_characters() {
        let file = SourceFile::new("a.toml", "é = 1\nb = 2");
        assert_eq!(file.line_column(0), (1, 1));
        assert_eq!(file.line_column(3), (1, 3));
        assert_eq!(file.line_column(7), (2, 1));
        assert_eq!(file.line_column(999), (2, 6));
        assert_eq!(&file.text[file.line_range(2)], "b = 2");
    }

    #[test]
    fn a_file_that_is_too_large_is_refused() {
        struct Huge;
        impl FileSystem for Huge {
            fn read(&self, _: &str) -> Result<Vec<u8>, String> {
                Ok(vec![b' '; FILE_SIZE_LIMIT.get() as usize + 1])
            }
        }
        assert_eq!(SourceFile::read("huge.toml", &Huge).unwrap_err().code(), "file-too-large");
        assert_eq!(SourceFile::read("/no/such/file", &NativeFiles).unwrap_err().code(), "unreadable-file");
    }
}
