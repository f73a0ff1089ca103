//! The result of a READ_PLUS: adjacent data and holes.

use std::sync::LazyLock;

use bytes::Bytes;

use crate::{Data, Piece, place};

/// The bytes of holes. The system allocates them as zeros, and they are never written, so they take no memory.
static ZEROS: LazyLock<Bytes> = LazyLock::new(|| vec![0; proto::nfs3::MAX_DATA_BYTES].into());

/// A part of a file in a READ_PLUS reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// Bytes, in the memory of the reply.
    Data {
        /// Their offset in bytes.
        offset: u64,
        /// The bytes.
        bytes: Bytes,
    },
    /// Bytes that read as zeros and take no space in the file.
    Hole {
        /// Their offset in bytes.
        offset: u64,
        /// How many bytes.
        length: u64,
    },
}

/// The result of a READ_PLUS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segments {
    /// Adjacent segments; they may cover fewer bytes than requested.
    pub segments: Vec<Segment>,
    /// Whether the file ends with them.
    pub is_eof: bool,
}

impl Segments {
    /// Their length in bytes, holes included.
    pub fn length(&self) -> u64 {
        self.segments.iter().map(Segment::length).sum()
    }

    /// Puts them into `buffer`, which starts at `offset` of the file.
    pub fn place(&self, offset: u64, buffer: &mut [u8]) {
        place(self.segments.iter().map(|segment| segment.piece(offset)), buffer);
    }

    /// The result of a READ at `offset`.
    #[doc(hidden)]
    pub fn from_data(offset: u64, Data { bytes, is_eof }: Data) -> Segments {
        let segments = if bytes.is_empty() { Vec::new() } else { vec![Segment::Data { offset, bytes }] };
        Segments { segments, is_eof }
    }

    /// Everything as bytes, without a copy where possible.
    #[doc(hidden)]
    pub fn into_data(mut self) -> Data {
        let is_eof = self.is_eof;
        let length = self.length() as usize;
        let bytes = match self.segments.pop() {
            None => Bytes::new(),
            Some(Segment::Data { bytes, .. }) if self.segments.is_empty() => bytes,
            Some(Segment::Hole { .. }) if self.segments.is_empty() && length <= ZEROS.len() => ZEROS.slice(..length),
            Some(last) => {
                self.segments.push(last);
                let mut bytes = Vec::with_capacity(length);
                for segment in &self.segments {
                    match segment {
                        Segment::Data { bytes: data, .. } => bytes.extend_from_slice(data),
                        Segment::Hole { length, .. } => bytes.resize(bytes.len() + *length as usize, 0),
                    }
                }
                bytes.into()
            }
        };
        Data { bytes, is_eof }
    }
}

impl Segment {
    /// The offset in the file, in bytes.
    pub fn offset(&self) -> u64 {
        match self {
            Segment::Data { offset, .. } | Segment::Hole { offset, .. } => *offset,
        }
    }

    /// The length in bytes.
    pub fn length(&self) -> u64 {
        match self {
            Segment::Data { bytes, .. } => bytes.len() as u64,
            Segment::Hole { length, .. } => *length,
        }
    }

    /// Its place in a buffer that starts at `start` of the file.
    fn piece(&self, start: u64) -> Piece<'_> {
        let at = usize::try_from(self.offset().saturating_sub(start)).unwrap_or(usize::MAX);
        match self {
            Segment::Data { bytes, .. } => Piece::Data { at, bytes },
            Segment::Hole { length, .. } => Piece::Hole { at, length: usize::try_from(*length).unwrap_or(usize::MAX) },
        }
    }
}
