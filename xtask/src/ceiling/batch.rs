//! Replies that are sent together.

use std::collections::VecDeque;
use std::io::{self, IoSlice, Write};
use std::net::TcpStream;
use std::os::unix::fs::FileExt;

use rustix::net::SendFlags;

use super::canned::READ_HEADER_BYTES;
use super::source::{Source, Way};

/// The most bytes of data that are read before they are sent: they should still be near the processor then.
const MAX_DATA_BYTES: usize = 512 << 10;
/// The most replies in one send: two pieces each, and the kernel takes 1024 (`IOV_MAX`).
const MAX_REPLIES: usize = 512;

/// Replies to READs, some of which may be on their way already.
#[derive(Debug, Default)]
pub(super) struct Batch {
    headers: Vec<u8>,
    data: Vec<u8>,
    /// Where in the file the data of each are.
    offsets: Vec<u64>,
    sent_bytes: usize,
}

impl Batch {
    /// Whether nothing is left to be sent.
    pub(super) fn is_done(&self, source: &Source) -> bool {
        self.sent_bytes == self.offsets.len() * reply_bytes(source)
    }

    /// Takes as many as go together from those that wait for an answer.
    pub(super) fn fill(
        &mut self,
        waiting: &mut VecDeque<[u8; 4]>,
        source: &Source,
        place: &mut Place,
    ) -> io::Result<()> {
        let block_bytes = source.block_bytes as usize;
        let most = (MAX_DATA_BYTES / block_bytes).clamp(1, MAX_REPLIES);
        self.headers.clear();
        self.offsets.clear();
        self.sent_bytes = 0;
        for xid in waiting.drain(..most.min(waiting.len())) {
            source.read.append_to(&mut self.headers, xid);
            self.offsets.push(place.next(source));
        }
        if source.way == Way::Copy {
            self.data.resize(block_bytes * most, 0);
            for (piece, offset) in self.data.chunks_exact_mut(block_bytes).zip(&self.offsets) {
                source.file.read_exact_at(piece, *offset)?;
            }
        }
        Ok(())
    }

    /// Sends as much as the socket takes.
    pub(super) fn send(&mut self, stream: &TcpStream, source: &Source) -> io::Result<()> {
        while !self.is_done(source) {
            let sent = match source.way {
                Way::Memory | Way::Copy => self.send_together(stream, source)?,
                Way::Sendfile => self.send_next(stream, source)?,
            };
            if sent == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.sent_bytes += sent;
        }
        Ok(())
    }

    /// Everything that is left, with one call.
    fn send_together(&self, mut stream: &TcpStream, source: &Source) -> io::Result<usize> {
        let (first, done_bytes) = (self.sent_bytes / reply_bytes(source), self.sent_bytes % reply_bytes(source));
        let block_bytes = source.block_bytes as usize;
        let headers = self.headers.chunks_exact(READ_HEADER_BYTES).enumerate().skip(first);
        let pieces = headers.flat_map(|(number, header)| {
            let data = match source.way {
                Way::Copy => &self.data[number * block_bytes..][..block_bytes],
                _ => &source.block,
            };
            [IoSlice::new(header), IoSlice::new(data)]
        });
        let mut pieces: Vec<IoSlice<'_>> = pieces.collect();
        let mut rest = pieces.as_mut_slice();
        IoSlice::advance_slices(&mut rest, done_bytes);
        stream.write_vectored(rest)
    }

    /// What is left of the next header or the next data.
    fn send_next(&self, stream: &TcpStream, source: &Source) -> io::Result<usize> {
        let (reply, done_bytes) = (self.sent_bytes / reply_bytes(source), self.sent_bytes % reply_bytes(source));
        if done_bytes < READ_HEADER_BYTES {
            let header = &self.headers[reply * READ_HEADER_BYTES..][done_bytes..READ_HEADER_BYTES];
            return Ok(rustix::net::send(stream, header, SendFlags::MORE | SendFlags::NOSIGNAL)?);
        }
        let mut offset = self.offsets[reply] + (done_bytes - READ_HEADER_BYTES) as u64;
        let left = reply_bytes(source) - done_bytes;
        Ok(rustix::fs::sendfile(stream, &source.file, Some(&mut offset), left)?)
    }
}

fn reply_bytes(source: &Source) -> usize {
    READ_HEADER_BYTES + source.block_bytes as usize
}

/// Which block comes next: the one behind for large ones, any for small ones, as the loads do.
#[derive(Debug)]
pub(super) struct Place(pub(super) u64);

impl Place {
    const SEQUENTIAL_FROM_BYTES: u32 = 64 << 10;

    fn next(&mut self, source: &Source) -> u64 {
        let blocks = source.file_bytes / u64::from(source.block_bytes);
        let block = if source.block_bytes >= Self::SEQUENTIAL_FROM_BYTES {
            self.0 += 1;
            self.0
        } else {
            // Knuth's generator; its high bits are the better ones.
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            self.0 >> 33
        };
        block % blocks * u64::from(source.block_bytes)
    }
}
