use std::fmt;
use std::os::fd::AsFd;
use std::sync::Arc;

use crate::Buffer;

/// An open file whose bytes can be sent without a copy.
pub trait SendableFile: AsFd + Send + Sync {
    /// Whether `length` bytes from `offset_bytes` on are in memory, so that sending them does not wait for storage.
    ///
    /// Bytes that are in memory now may be evicted before they are sent.
    fn is_resident(&self, offset_bytes: u64, length: usize) -> bool;

    /// The number of the storage that reads of this file wait for.
    fn storage(&self) -> u64;
}

/// An open file that several may hold.
pub type SharedFile = Arc<dyn SendableFile>;

/// A part of a file that goes out between two bytes of an [`Output`].
#[derive(Clone)]
pub struct FilePiece {
    /// How many bytes of the output's buffer go out before it.
    pub after: usize,
    /// The file.
    pub file: SharedFile,
    /// Where in the file the part begins.
    pub offset_bytes: u64,
    /// How long it is. If the file has become shorter, zeros go out in place of what is missing, since the length was
    /// announced already.
    pub length: usize,
}

impl fmt::Debug for FilePiece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes at {} of a file, after {}", self.length, self.offset_bytes, self.after)
    }
}

/// Messages on their way out: bytes, and parts of files between them.
#[derive(Debug, Default)]
pub struct Output {
    /// The bytes; anyone may append to them.
    pub bytes: Buffer,
    files: Vec<FilePiece>,
    file_bytes: usize,
}

/// A place in an [`Output`] to go back to.
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    bytes: usize,
    files: usize,
    file_bytes: usize,
}

impl Output {
    /// Makes an empty output.
    pub const fn new() -> Output {
        Output { bytes: Buffer::new(), files: Vec::new(), file_bytes: 0 }
    }

    /// Appends a part of a file.
    pub fn put_file(&mut self, file: SharedFile, offset_bytes: u64, length: usize) {
        self.files.push(FilePiece { after: self.bytes.len(), file, offset_bytes, length });
        self.file_bytes += length;
    }

    /// The parts of files, in the order in which they go out.
    pub fn files(&self) -> &[FilePiece] {
        &self.files
    }

    /// How many bytes go out in all.
    pub fn len(&self) -> usize {
        self.bytes.len() + self.file_bytes
    }

    /// Whether nothing goes out.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Remembers how far the output has come.
    pub fn mark(&self) -> Mark {
        Mark { bytes: self.bytes.len(), files: self.files.len(), file_bytes: self.file_bytes }
    }

    /// How many bytes were appended since `mark`, parts of files included.
    pub fn len_since(&self, mark: &Mark) -> usize {
        self.len() - mark.bytes - mark.file_bytes
    }

    /// Forgets everything after `mark`.
    pub fn rewind(&mut self, mark: &Mark) {
        self.bytes.truncate(mark.bytes);
        self.files.truncate(mark.files);
        self.file_bytes = mark.file_bytes;
    }

    /// Forgets everything; the memory stays.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.files.clear();
        self.file_bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rewinding_forgets_bytes_and_files() {
        let mut output = Output::new();
        output.bytes.put(b"kept");
        let mark = output.mark();
        output.bytes.put(b"gone");
        let file: SharedFile = Arc::new(std::io::stdin());
        output.put_file(file, 0, 100);
        assert_eq!((output.len(), output.len_since(&mark)), (108, 104));
        output.rewind(&mark);
        assert_eq!((output.len(), output.files().len()), (4, 0));
    }
}
