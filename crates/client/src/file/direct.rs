//! Reading and writing past the cache: each byte is the server's, in pieces of the transfer size, several of them under way.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use tokio::task::JoinHandle;
use vfs::Stability;

use super::Io;
use crate::core::Failure;
use crate::{Reason, Result};

/// The most pieces of one read or write that are under way.
const MAX_UNDER_WAY: usize = 16;

/// Fills `buffer` unless the file ends; how many bytes were read.
pub(super) async fn read(io: &Arc<Io>, offset: u64, buffer: &mut [u8]) -> Result<usize> {
    let piece_bytes = io.mount.sizes().read as usize;
    if buffer.len() <= piece_bytes {
        return copy(&read_piece(io, offset, buffer.len()).await?, buffer);
    }
    let whole = buffer.len();
    let mut starts = (0..whole).step_by(piece_bytes).map(|start| (start, piece_bytes.min(whole - start)));
    let (mut under_way, mut done) = (VecDeque::new(), 0);
    loop {
        while under_way.len() < MAX_UNDER_WAY {
            let Some((start, count)) = starts.next() else { break };
            let (reader, offset) = (Arc::clone(io), offset + start as u64);
            let piece = Piece::start(async move { read_piece(&reader, offset, count).await });
            under_way.push_back((count, piece));
        }
        let Some((count, piece)) = under_way.pop_front() else { return Ok(done) };
        let bytes = piece.end(io).await?;
        done += copy(&bytes, &mut buffer[done..])?;
        if bytes.len() < count {
            return Ok(done);
        }
    }
}

fn copy(bytes: &[u8], buffer: &mut [u8]) -> Result<usize> {
    buffer[..bytes.len()].copy_from_slice(bytes);
    Ok(bytes.len())
}

/// Reads `count` bytes, or fewer where the file ends, however many READs the server makes of it.
pub(crate) async fn read_piece(io: &Io, offset: u64, count: usize) -> Result<Bytes> {
    let asked = u32::try_from(count).unwrap_or(u32::MAX);
    let first = io.read(offset, asked).await?;
    if first.bytes.len() == count || first.is_eof {
        return Ok(first.bytes);
    }
    let mut all = BytesMut::from(&first.bytes[..]);
    // Each turn brings at least one byte or ends: no data without the end of the file is an error.
    while all.len() < count {
        let rest = u32::try_from(count - all.len()).unwrap_or(u32::MAX);
        let next = io.read(offset + all.len() as u64, rest).await?;
        all.extend_from_slice(&next.bytes);
        if next.is_eof || next.bytes.is_empty() {
            break;
        }
    }
    Ok(all.freeze())
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
