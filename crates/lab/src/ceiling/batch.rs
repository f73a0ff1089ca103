//! Replies that are sent together.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::net::TcpStream;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use rustix::net::SendFlags;

use super::call::Call;
use super::replies::{MAX_READ_BYTES, Replies, is_read};
use super::way::Way;

/// The most bytes of data that are read before they are sent: they should still be near the processor then. One READ
/// may have more.
const MAX_DATA_BYTES: usize = 512 << 10;
/// The most replies in one send: two pieces each, and the kernel takes 1024 (`IOV_MAX`).
const MAX_REPLIES: usize = 512;

/// What all connections have in common.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) way: Way,
    pub(super) file: File,
    pub(super) file_bytes: u64,
    /// What is sent where the file is not read.
    pub(super) block: Vec<u8>,
    pub(super) replies: Replies,
}

impl Source {
    /// How many bytes the reply to a READ has: whole words, within the file. The second says whether the file ends with
    /// them.
    fn data(&self, call: &Call) -> (u32, bool) {
        let left = self.file_bytes.saturating_sub(call.offset()) & !3;
        let wanted = u64::from(call.end[2].min(MAX_READ_BYTES) & !3);
        (left.min(wanted) as u32, wanted >= left)
    }
}

/// Replies, some of which may be in flight.
#[derive(Debug, Default)]
pub(super) struct Batch {
    headers: Vec<u8>,
    data: Vec<u8>,
    replies: Vec<Reply>,
    /// How many are sent, and how much of the next one.
    sent: usize,
    sent_bytes: usize,
}

/// Where a reply is.
#[derive(Debug)]
struct Reply {
    header: Range<usize>,
    /// In the memory of the batch, or in that of all.
    data: Range<usize>,
    offset: u64,
}

impl Reply {
    fn bytes(&self) -> usize {
        self.header.len() + self.data.len()
    }
}

impl Batch {
    /// Takes as many as go together from those that wait for a reply.
    pub(super) fn fill(&mut self, waiting: &mut VecDeque<Call>, source: &Source) -> io::Result<()> {
        self.headers.clear();
        self.replies.clear();
        (self.sent, self.sent_bytes) = (0, 0);
        let mut data_bytes = 0;
        while self.replies.len() < MAX_REPLIES
            && data_bytes < MAX_DATA_BYTES
            && let Some(call) = waiting.pop_front()
        {
            data_bytes += self.add(&call, data_bytes, source)?;
        }
        Ok(())
    }

    /// Adds the reply to a call behind so many bytes of data; returns how many it has itself.
    fn add(&mut self, call: &Call, behind: usize, source: &Source) -> io::Result<usize> {
        let begin = self.headers.len();
        let mut bytes = 0;
        if is_read(call) {
            let (count, is_end) = source.data(call);
            source.replies.append_read(call, count, is_end, &mut self.headers);
            bytes = count as usize;
        } else {
            source.replies.append(call, &mut self.headers);
        }
        let mut data = 0..bytes;
        if source.way == Way::Copy {
            data = behind..behind + bytes;
            if self.data.len() < data.end {
                self.data.resize(data.end, 0);
            }
            source.file.read_exact_at(&mut self.data[data.clone()], call.offset())?;
        }
        self.replies.push(Reply { header: begin..self.headers.len(), data, offset: call.offset() });
        Ok(bytes)
    }

    /// Sends as much as the socket takes.
    pub(super) fn send(&mut self, stream: &TcpStream, source: &Source) -> io::Result<()> {
        while let Some(next) = self.replies.get(self.sent) {
            let sent_bytes = match source.way {
                Way::Memory | Way::Copy => self.send_together(stream, source)?,
                Way::Sendfile => self.send_next(next, stream, source)?,
            };
            if sent_bytes == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.advance(sent_bytes);
        }
        Ok(())
    }

    fn advance(&mut self, bytes: usize) {
        self.sent_bytes += bytes;
        while let Some(next) = self.replies.get(self.sent)
            && self.sent_bytes >= next.bytes()
        {
            self.sent_bytes -= next.bytes();
            self.sent += 1;
        }
    }

    /// Everything that is left, with one call.
    fn send_together(&self, mut stream: &TcpStream, source: &Source) -> io::Result<usize> {
        let memory = if source.way == Way::Copy { &self.data } else { &source.block };
        let pieces = self.replies[self.sent..].iter().flat_map(|reply| {
            [IoSlice::new(&self.headers[reply.header.clone()]), IoSlice::new(&memory[reply.data.clone()])]
        });
        let mut pieces: Vec<IoSlice<'_>> = pieces.collect();
        let mut rest = pieces.as_mut_slice();
        IoSlice::advance_slices(&mut rest, self.sent_bytes);
        stream.write_vectored(rest)
    }

    /// What is left of the next header or the next data.
    fn send_next(&self, reply: &Reply, stream: &TcpStream, source: &Source) -> io::Result<usize> {
        let header = &self.headers[reply.header.clone()];
        let Some(data_sent) = self.sent_bytes.checked_sub(header.len()) else {
            let flags = if reply.data.is_empty() { SendFlags::NOSIGNAL } else { SendFlags::MORE | SendFlags::NOSIGNAL };
            return Ok(rustix::net::send(stream, &header[self.sent_bytes..], flags)?);
        };
        let mut offset = reply.offset + data_sent as u64;
        Ok(rustix::fs::sendfile(stream, &source.file, Some(&mut offset), reply.data.len() - data_sent)?)
    }
}
