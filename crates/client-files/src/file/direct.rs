//! Reading and writing past the cache, in pieces of the transfer size, with several of them in flight.

use std::collections::VecDeque;
use std::io::IoSliceMut;
use std::sync::Arc;

use bytes::Bytes;
use client_calls::core::Failure;
use tokio::task::JoinHandle;
use vfs::Stability;

use super::Io;
use crate::{Reason, Result};

/// The most pieces of one read or write in flight.
const MAX_UNDER_WAY: usize = 16;

/// Fills `buffer` unless the file ends. Returns how many bytes were read.
pub(crate) async fn read(io: &Arc<Io>, offset: u64, buffer: &mut [u8]) -> Result<usize> {
    let piece_bytes = io.mount.sizes().read as usize;
    if buffer.len() <= piece_bytes {
        return io.read_into(offset, buffer).await.map(|read| read.count);
    }
    read_pieces(io, offset, buffer.chunks_mut(piece_bytes)).await
}

/// Fills buffers one after another unless the file ends. Returns how many bytes were read.
pub(super) async fn read_vectored(io: &Arc<Io>, offset: u64, buffers: &mut [IoSliceMut<'_>]) -> Result<usize> {
    let piece_bytes = io.mount.sizes().read as usize;
    read_pieces(io, offset, buffers.iter_mut().flat_map(|buffer| buffer.chunks_mut(piece_bytes))).await
}

/// Fills pieces of the transfer size one after another, with several READs in flight.
async fn read_pieces<'b>(io: &Arc<Io>, offset: u64, mut pieces: impl Iterator<Item = &'b mut [u8]>) -> Result<usize> {
    let (mut under_way, mut next, mut done) = (VecDeque::new(), offset, 0);
    loop {
        while under_way.len() < MAX_UNDER_WAY {
            let Some(piece) = pieces.next() else { break };
            let (reader, start, count) = (Arc::clone(io), next, piece.len() as u32);
            next += u64::from(count);
            under_way.push_back((piece, Piece::start(async move { reader.fill(start, count).await })));
        }
        let Some((piece, read)) = under_way.pop_front() else { return Ok(done) };
        let segments = read.end(io).await?;
        segments.place(offset + done as u64, piece);
        done += segments.length() as usize;
        if segments.length() < piece.len() as u64 {
            return Ok(done);
        }
    }
}

/// Reads `count` bytes, or fewer where the file ends, with as many calls as it takes.
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

/// Writes all of `data`, with as many WRITEs as it takes.
async fn write_piece(io: &Io, mut offset: u64, mut data: Bytes) -> Result<()> {
    while !data.is_empty() {
        let written = io.write(offset, data.clone(), Stability::File).await?;
        offset += u64::from(written.count);
        // A count above the length of the data was refused before.
        drop(data.split_to(written.count as usize));
    }
    Ok(())
}

/// A call in flight beside others. Dropping it aborts its task.
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
