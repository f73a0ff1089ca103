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

/// A part of a file to send between two bytes of an [`Output`].
#[derive(Clone)]
pub struct FilePiece {
    /// The number of the output's buffer bytes to send before it.
    pub after: usize,
    /// The file.
    pub file: SharedFile,
    /// The offset of the part in the file, in bytes.
    pub offset_bytes: u64,
    /// Its length in bytes. If the file is truncated, zeros replace the missing bytes, since the length was already
    /// announced.
    pub length: usize,
}

impl fmt::Debug for FilePiece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes at {} of a file, after {}", self.length, self.offset_bytes, self.after)
    }
}

/// Messages to send: bytes, interleaved with parts of files.
#[derive(Debug, Default)]
pub struct Output {
    /// The bytes; anyone may append to them.
    pub bytes: Buffer,
    files: Vec<FilePiece>,
    file_bytes: usize,
}

/// A position in an [`Output`] to rewind to.
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

    /// The parts of files, in the order of sending.
    pub fn files(&self) -> &[FilePiece] {
        &self.files
    }

    /// The total number of bytes to send.
    pub fn len(&self) -> usize {
        self.bytes.len() + self.file_bytes
    }

    /// Whether there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the current position.
    pub fn mark(&self) -> Mark {
        Mark { bytes: self.bytes.len(), files: self.files.len(), file_bytes: self.file_bytes }
    }

    /// The number of bytes appended since `mark`, including parts of files.
    pub fn len_since(&self, mark: &Mark) -> usize {
        self.len() - mark.bytes - mark.file_bytes
    }

    /// Removes everything after `mark`.
    pub fn rewind(&mut self, mark: &Mark) {
        self.bytes.truncate(mark.bytes);
        self.files.truncate(mark.files);
        self.file_bytes = mark.file_bytes;
    }

    /// Removes everything, and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.files.clear();
        self.file_bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::BorrowedFd;

    use super::*;

    /// A file that nobody reads.
    struct Unread;

    impl AsFd for Unread {
        fn as_fd(&self) -> BorrowedFd<'_> {
            unreachable!("an output does not read its files")
        }
    }

    impl SendableFile for Unread {
        fn is_resident(&self, _: u64, _: usize) -> bool {
            false
        }

        fn storage(&self) -> u64 {
            0
        }
    }

    #[test]
    fn rewinding_forgets_bytes_and_files() {
        let mut output = Output::new();
        output.bytes.put(b"kept");
        let mark = output.mark();
        output.bytes.put(b"gone");
        output.put_file(Arc::new(Unread), 0, 100);
        assert_eq!((output.len(), output.len_since(&mark)), (108, 104));
        output.rewind(&mark);
        assert_eq!((output.len(), output.files().len()), (4, 0));
    }
}
