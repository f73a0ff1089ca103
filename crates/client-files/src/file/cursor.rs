use std::fmt;
use std::io::{self, SeekFrom};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};

use super::File;

/// The most bytes of one read or write; a caller's larger buffer takes several.
const MAX_BYTES: usize = 1 << 20;

/// A file with a position, for code that uses tokio's I/O traits. A file may have any number of cursors.
///
/// As with tokio's own files, a write ends when its bytes are taken; the next write, flush or shutdown returns its
/// error. Flush sends everything to the server, and shutdown brings it to stable storage. A cursor dropped before that
/// may lose its last bytes.
///
/// ```no_run
/// # async fn example(mount: client::Mount) -> std::io::Result<()> {
/// use std::sync::Arc;
///
/// use client::{Cursor, OpenOptions};
/// use tokio::io::{AsyncBufReadExt, AsyncSeekExt, AsyncWriteExt, BufReader};
///
/// let log = Arc::new(mount.root_dir().open("log", &OpenOptions::both().making(0o644)).await?);
/// let mut lines = BufReader::new(Cursor::new(Arc::clone(&log))).lines();
/// while let Some(line) = lines.next_line().await? {
///     println!("{line}");
/// }
/// let mut end = Cursor::new(log);
/// end.seek(std::io::SeekFrom::End(0)).await?;
/// end.write_all(b"one more line\n").await?;
/// end.shutdown().await
/// # }
/// ```
pub struct Cursor {
    file: Arc<File>,
    position: u64,
    step: Option<Step>,
    /// Bytes read at the position and not returned yet.
    ready: Vec<u8>,
    /// The offset of a seek from the end, until the length is known.
    from_end: Option<i64>,
}

/// The operation in flight. It owns its data, because callers may drop their futures.
enum Step {
    Reading(Work<Vec<u8>>),
    Writing(Work<()>),
    Flushing { is_synced: bool, work: Work<()> },
    Measuring(Work<u64>),
}

type Work<T> = Pin<Box<dyn Future<Output = crate::Result<T>> + Send>>;

impl Cursor {
    /// Starts at the beginning of a file.
    pub fn new(file: impl Into<Arc<File>>) -> Cursor {
        Cursor { file: file.into(), position: 0, step: None, ready: Vec::new(), from_end: None }
    }

    /// The file.
    pub fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// The offset of the next byte to read or write.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Waits for writes and flushes in flight, and drops reads and seeks.
    fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let done = match &mut self.step {
            Some(Step::Writing(work) | Step::Flushing { work, .. }) => ready!(work.as_mut().poll(cx)),
            Some(Step::Reading(_) | Step::Measuring(_)) | None => Ok(()),
        };
        self.step = None;
        Poll::Ready(Ok(done?))
    }

    fn read(&self, count: usize) -> Step {
        let (file, position) = (Arc::clone(&self.file), self.position);
        Step::Reading(Box::pin(async move {
            let mut bytes = vec![0; count];
            let count = file.read_at(position, &mut bytes).await?;
            bytes.truncate(count);
            Ok(bytes)
        }))
    }

    fn write(&self, data: &[u8]) -> Step {
        let (file, position, data) = (Arc::clone(&self.file), self.position, data.to_vec());
        Step::Writing(Box::pin(async move { file.write_at(position, &data).await.map(drop) }))
    }

    fn flush(&self, is_synced: bool) -> Step {
        let file = Arc::clone(&self.file);
        let work = Box::pin(async move { if is_synced { file.sync().await } else { file.flush().await } });
        Step::Flushing { is_synced, work }
    }

    fn measure(&self) -> Step {
        let file = Arc::clone(&self.file);
        Step::Measuring(Box::pin(async move { Ok(file.getattr().await?.size_bytes) }))
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>, is_wanted_synced: bool) -> Poll<io::Result<()>> {
        loop {
            let is_it = matches!(&self.step, Some(Step::Flushing { is_synced, .. }) if *is_synced == is_wanted_synced);
            ready!(self.poll_idle(cx))?;
            if is_it {
                return Poll::Ready(Ok(()));
            }
            self.step = Some(self.flush(is_wanted_synced));
        }
    }

    /// Moves to another position.
    fn go(&mut self, position: Option<u64>) -> io::Result<()> {
        self.position = position.ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::InvalidInput,
                "a place before the beginning of the file, or past the last there is",
            )
        })?;
        Ok(())
    }
}

impl AsyncRead for Cursor {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            let count = self.ready.len().min(buf.remaining());
            if count > 0 || buf.remaining() == 0 {
                buf.put_slice(&self.ready[..count]);
                self.ready.drain(..count);
                self.position += count as u64;
                return Poll::Ready(Ok(()));
            }
            if let Some(Step::Reading(work)) = &mut self.step {
                let read = ready!(work.as_mut().poll(cx));
                self.step = None;
                self.ready = read?;
                if self.ready.is_empty() {
                    return Poll::Ready(Ok(()));
                }
            } else {
                ready!(self.poll_idle(cx))?;
                self.step = Some(self.read(buf.remaining().min(MAX_BYTES)));
            }
        }
    }
}

impl AsyncWrite for Cursor {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_idle(cx))?;
        self.ready.clear();
        let data = &data[..data.len().min(MAX_BYTES)];
        self.step = Some(self.write(data));
        // Usually the cache takes it at once.
        if let Poll::Ready(done) = self.poll_idle(cx) {
            done?;
        }
        self.position += data.len() as u64;
        Poll::Ready(Ok(data.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_finish(cx, false)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_finish(cx, true)
    }
}

impl AsyncSeek for Cursor {
    fn start_seek(mut self: Pin<&mut Self>, to: SeekFrom) -> io::Result<()> {
        if matches!(self.step, Some(Step::Reading(_))) {
            self.step = None;
        }
        self.ready.clear();
        self.from_end = None;
        match to {
            SeekFrom::Start(position) => self.go(Some(position)),
            SeekFrom::Current(by) => {
                let position = self.position.checked_add_signed(by);
                self.go(position)
            }
            SeekFrom::End(by) => {
                self.from_end = Some(by);
                Ok(())
            }
        }
    }

    fn poll_complete(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        while let Some(by) = self.from_end {
            if let Some(Step::Measuring(work)) = &mut self.step {
                let size_bytes = ready!(work.as_mut().poll(cx));
                (self.step, self.from_end) = (None, None);
                self.go(size_bytes?.checked_add_signed(by))?;
            } else {
                ready!(self.poll_idle(cx))?;
                self.step = Some(self.measure());
            }
        }
        Poll::Ready(Ok(self.position))
    }
}

impl fmt::Debug for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cursor").field("file", &self.file).field("position", &self.position).finish_non_exhaustive()
    }
}
