//! Reading and writing past the cache: each byte is the server's, in pieces of the transfer size, several of them under way.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use tokio::task::JoinHandle;
use vfs::Stability;

use super::Io;
use crate::core::Failure;
use crate::{Reason, Result};

/// The most pieces of one read or write that are under way.
const MAX_UNDER_WAY: usize = 16;

/// Fills `buffer` unless the file ends; how many bytes were read.
pub(crate) async fn read(io: &Arc<Io>, offset: u64, buffer: &mut [u8]) -> Result<usize> {
    let piece_bytes = io.mount.sizes().read as usize;
    if buffer.len() <= piece_bytes {
        return io.read_into(offset, buffer).await.map(|read| read.count);
    }
    let whole = buffer.len();
    let mut starts = (0..whole).step_by(piece_bytes).map(|start| (start, piece_bytes.min(whole - start)));
    let (mut under_way, mut done) = (VecDeque::new(), 0);
    loop {
        while under_way.len() < MAX_UNDER_WAY {
            let Some((start, count)) = starts.next() else { break };
            let (reader, offset) = (Arc::clone(io), offset + start as u64);
            let piece = Piece::start(async move { reader.fill(offset, count as u32).await });
            under_way.push_back((count, piece));
        }
        let Some((count, piece)) = under_way.pop_front() else { return Ok(done) };
        let segments = piece.end(io).await?;
        segments.place(offset + done as u64, &mut buffer[done..done + count]);
        done += segments.length() as usize;
        if segments.length() < count as u64 {
            return Ok(done);
        }
    }
}

/// Reads `count` bytes, or fewer where the file ends, however many calls the server makes of it.
pub(crate) async fn read_piece(io: &Io, offset: u64, count: usize) -> Result<Bytes> {
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    io.fill(offset, count).await.map(|segments| segments.into_data().bytes)
}

/// Writes all of `data` to stable storage.
pub(super) async fn write(io: &Arc<Io>, offset: u64, data: &[u8]) -> Result<()> {
    let piece_bytes = io.mount.sizes().write as usize;
    let mut pieces = data.chunks(piece_bytes).zip((offset..).step_by(piece_bytes));
    let mut under_way = VecDeque::new();
    loop {
        while under_way.len() < MAX_UNDER_WAY {
            let Some((piece, offset)) = pieces.next() else { break };
            let (writer, piece) = (Arc::clone(io), Bytes::copy_from_slice(piece));
            under_way.push_back(Piece::start(async move { write_piece(&writer, offset, piece).await }));
        }
        let Some(piece) = under_way.pop_front() else { return Ok(()) };
        piece.end(io).await?;
    }
}

/// Writes all of `data`, however many WRITEs the server makes of it.
async fn write_piece(io: &Io, mut offset: u64, mut data: Bytes) -> Result<()> {
    while !data.is_empty() {
        let written = io.write(offset, data.clone(), Stability::File).await?;
        offset += u64::from(written.count);
        // A server that says that it wrote more than it was given was found out before.
        drop(data.split_to(written.count as usize));
    }
    Ok(())
}

/// A call that is under way beside others, and ends with whoever waits for it.
struct Piece<T>(JoinHandle<Result<T>>);

impl<T: Send + 'static> Piece<T> {
    fn start(work: impl Future<Output = Result<T>> + Send + 'static) -> Piece<T> {
        Piece(tokio::spawn(work))
    }

    async fn end(mut self, io: &Io) -> Result<T> {
        (&mut self.0).await.map_err(|_| io.mount.error("connection", Reason::NoReply(Failure::Closed)))?
    }
}

impl<T> Drop for Piece<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
