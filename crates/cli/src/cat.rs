use std::collections::VecDeque;
use std::io::Write;
use std::sync::Arc;

use clap::Args;
use client::{Data, Entry, File, Follow, Handle, Mount, OpenOptions, Url};
use tokio::task::JoinHandle;
use vfs::FileKind;

use crate::failure::{Failure, Failures};
use crate::nfsstat::{OwnFlags, OwnMounts};
use crate::output::Output;
use crate::remote::{self, ConnectFlags, Session, about};

/// Write files to standard output.
#[derive(Debug, Args)]
pub struct Flags {
    /// The files, such as nfs://host/export/file or host:/export/file.
    #[arg(value_name = "URL", required = true, value_parser = remote::url_argument())]
    urls: Vec<Url>,
    #[command(flatten)]
    own: OwnFlags,
    #[command(flatten)]
    connect: ConnectFlags,
}

/// The number of reads in flight.
const READ_AHEAD: usize = 16;

/// Writes the files out.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    let own = OwnMounts::new("cat", flags.own);
    own.tell(remote::run(async {
        let mut output = Output::new();
        let mut failures = Failures::default();
        for url in &flags.urls {
            let written = async {
                let session = Session::open(url, &flags.connect).await?;
                own.add(&session.mount);
                write_file(&session, &mut output).await
            };
            failures.go_on(written.await)?;
        }
        output.finish()?;
        failures.finish()
    }))
}

/// Writes one file out, up to the end that the server reports, so that a growing file is read to its new end.
///
/// # Errors
/// When the name is a directory's, or reading or writing fails.
pub async fn write_file(session: &Session, output: &mut Output) -> Result<(), Failure> {
    let file = session.find(Follow::Links).await?;
    if file.attributes.kind == FileKind::Directory {
        return Err(Failure::NotReadable { file: session.name() });
    }
    let source = Source::open(session, &file).await.map_err(about(session.name()))?;
    let mut ahead = ReadAhead::new(source, file.attributes.size_bytes);
    loop {
        let data = ahead.next().await.map_err(about(session.name()))?;
        output.write_all(&data.bytes)?;
        if data.is_eof {
            return ahead.close().await.map_err(about(session.name()));
        }
    }
}

/// A file that is read in order.
#[derive(Clone)]
struct Source {
    mount: Mount,
    file: Handle,
    /// The file open for READ_PLUS, if it has holes or the URL asks for that. A READ needs no OPEN.
    open: Option<Arc<File>>,
}

impl Source {
    async fn open(session: &Session, file: &Entry) -> client::Result<Source> {
        let mount = &session.mount;
        let has_holes = file.attributes.used_bytes < file.attributes.size_bytes;
        let open = match mount.uses_read_plus() && (has_holes || session.wants_read_plus()) {
            true => Some(Arc::new(mount.open_handle(&file.handle, &OpenOptions::read()).await?)),
            false => None,
        };
        Ok(Source { mount: mount.clone(), file: file.handle, open })
    }

    async fn read(&self, offset: u64, count: u32) -> client::Result<Data> {
        match &self.open {
            Some(file) => file.read(offset, count).await,
            None => self.mount.read(&self.file, offset, count).await,
        }
    }
}

/// Reads a file in order, with several reads in flight.
struct ReadAhead {
    source: Source,
    /// The size of the file when it was opened. Behind it, one read at a time looks for growth.
    size_bytes: u64,
    /// Where the next read begins.
    offset: u64,
    /// Reads in flight, each with its offset.
    reads: VecDeque<(u64, JoinHandle<client::Result<Data>>)>,
}

impl ReadAhead {
    fn new(source: Source, size_bytes: u64) -> ReadAhead {
        ReadAhead { source, size_bytes, offset: 0, reads: VecDeque::new() }
    }

    async fn next(&mut self) -> client::Result<Data> {
        let count = self.source.mount.sizes().read;
        while self.reads.is_empty() || (self.reads.len() < READ_AHEAD && self.offset < self.size_bytes) {
            let (source, offset) = (self.source.clone(), self.offset);
            let read = tokio::spawn(async move { source.read(offset, count).await });
            self.reads.push_back((offset, read));
            self.offset += u64::from(count);
        }
        let Some((offset, read)) = self.reads.pop_front() else { return self.source.read(0, count).await };
        let data = match read.await {
            Ok(data) => data?,
            // The task was lost, and its data with it: read the range again.
            Err(_) => self.source.read(offset, count).await?,
        };
        let end = offset + data.bytes.len() as u64;
        if !data.is_eof && data.bytes.len() < count as usize {
            // A short reply leaves a gap before the reads that follow it.
            self.forget();
            self.offset = end;
        }
        Ok(data)
    }

    fn forget(&mut self) {
        self.reads.drain(..).for_each(|(_, read)| read.abort());
    }

    /// Closes the file. Reads behind the end may still be in flight: the last one closes it then.
    async fn close(mut self) -> client::Result<()> {
        self.forget();
        match self.source.open.take().and_then(Arc::into_inner) {
            Some(file) => file.close().await,
            None => Ok(()),
        }
    }
}

impl Drop for ReadAhead {
    fn drop(&mut self) {
        self.forget();
    }
}
