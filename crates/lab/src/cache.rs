//! Whether a server's file is in memory: brought in or taken out, and verified.

use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::net::{Ipv4Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::fs::Advice;

use crate::{processors, sys};

/// What of a file is in memory before a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CacheState {
    /// All of it.
    Warm,
    /// Nothing.
    Cold,
}

/// How much of a file is in memory, in pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Residency {
    /// The pages of the file.
    pub pages: u64,
    /// Those that are in memory.
    pub resident: u64,
}

/// Why a file is not in the state that it must be in.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// The file cannot be read, or its pages not be counted.
    #[error("{}: {source}{}", path.display(), advice(source))]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It stays in memory, so that reading it would say nothing of the disk.
    #[error(
        "{}: {} of {} pages stay in memory, so this is no cold cache; take a directory on a disk, and let nobody else \
         use the file",
        path.display(), left.resident, left.pages
    )]
    StaysInMemory {
        /// The file.
        path: PathBuf,
        /// What is left of it.
        left: Residency,
    },
    /// It does not stay in memory.
    #[error(
        "{}: only {} of {} pages stay in memory, so this is no warm cache; take a smaller file",
        path.display(), found.resident, found.pages
    )]
    LeavesMemory {
        /// The file.
        path: PathBuf,
        /// What is there of it.
        found: Residency,
    },
}

fn advice(source: &io::Error) -> &'static str {
    match source.raw_os_error() {
        Some(libc::ENOSYS) => "; which pages of a file are in memory is told by Linux 6.5 and later (cachestat)",
        _ => "",
    }
}

/// How often, and after which time, it is tried to take a file out of memory: pages that a server reads ahead are busy.
const MAX_TRIES: u32 = 100;
const TRY_AGAIN: Duration = Duration::from_millis(20);
/// How often a file is read to bring it into memory: others may drop all clean pages meanwhile.
const MAX_READS: u32 = 3;
/// How much is read at once.
const CHUNK_BYTES: usize = 1 << 20;

/// Brings a file of this machine into memory, or takes it out, and verifies that.
///
/// # Errors
/// When it is not in this state then.
pub fn bring_to(path: &Path, state: CacheState) -> Result<Residency, CacheError> {
    let failed = |source| CacheError::File { path: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    match state {
        CacheState::Warm => {
            let mut found = Residency { pages: 0, resident: 0 };
            for _ in 0..MAX_READS {
                read_all(&file).map_err(failed)?;
                found = residency(&file).map_err(failed)?;
                if found.resident >= found.pages {
                    return Ok(found);
                }
            }
            Err(CacheError::LeavesMemory { path: path.to_owned(), found })
        }
        CacheState::Cold => {
            let mut left = Residency { pages: 0, resident: 0 };
            for attempt in 0..MAX_TRIES {
                free_sent_buffers();
                left = drop_pages(&file).map_err(failed)?;
                if left.resident == 0 {
                    return Ok(left);
                }
                if attempt == MAX_TRIES / 2 {
                    drop_caches();
                }
                thread::sleep(TRY_AGAIN);
            }
            Err(CacheError::StaysInMemory { path: path.to_owned(), left })
        }
    }
}

/// Takes files of this machine out of memory, and verifies that.
///
/// # Errors
/// When one of them stays.
pub(crate) fn take_out(paths: &[PathBuf]) -> Result<(), CacheError> {
    free_sent_buffers();
    for path in paths {
        let left = File::open(path).and_then(|file| drop_pages(&file));
        if left.map_err(|source| CacheError::File { path: path.clone(), source })?.resident > 0 {
            bring_to(path, CacheState::Cold)?;
        }
    }
    Ok(())
}

/// Writes back what is dirty of a file and drops what nobody uses. Returns what is left.
fn drop_pages(file: &File) -> io::Result<Residency> {
    file.sync_data()?;
    rustix::fs::fadvise(file, 0, None, Advice::DontNeed)?;
    residency(file)
}

/// Has the kernel free the buffers of data that sockets have sent and their peers have received.
///
/// A buffer of sendfile(2) holds pages of the file, which stay in memory meanwhile. A receiver on another processor
/// does not free a buffer itself: it leaves it to the processor that made it, which frees it when it next handles
/// received packets (Linux 5.19, `skb_attempt_defer_free`). A processor that has nothing more to receive would keep the
/// pages for ever. So each one gets a packet.
fn free_sent_buffers() {
    // Without a loopback there is no packet to send, and what is left of the file is counted all the same.
    if let Ok(socket) = socket_to_itself() {
        processors::on_each(|| {
            let _ = socket.send(&[0]).and_then(|_| socket.recv(&mut [0]));
        });
    }
}

fn socket_to_itself() -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    socket.connect(socket.local_addr()?)?;
    socket.set_read_timeout(Some(TRY_AGAIN))?;
    Ok(socket)
}

/// How much of a file is in memory.
///
/// # Errors
/// What the system says; kernels before 6.5 cannot tell.
pub fn residency(file: &File) -> io::Result<Residency> {
    let page_bytes = rustix::param::page_size() as u64;
    let pages = file.metadata()?.len().div_ceil(page_bytes);
    Ok(Residency { pages, resident: sys::cachestat(file)?.cached })
}

/// Takes all clean pages out of memory; only root may.
fn drop_caches() {
    let _ = fs::write("/proc/sys/vm/drop_caches", "1");
}

fn read_all(mut file: &File) -> io::Result<()> {
    file.rewind()?;
    let mut chunk = vec![0; CHUNK_BYTES];
    while file.read(&mut chunk)? > 0 {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;
    use crate::data_file;
    use crate::processors::Processor;

    /// Makes a file in the build's folder, which is on a disk nearly everywhere.
    fn with_file(name: &str, work: impl FnOnce(&Path)) {
        let path = std::env::current_exe().unwrap().with_file_name(format!("{name}-{}", std::process::id()));
        data_file::make(&path, 4 << 20).unwrap();
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(&path)));
        fs::remove_file(&path).unwrap();
        outcome.unwrap();
    }

    #[test]
    fn file_on_a_disk_is_brought_in_and_taken_out_page_by_page() {
        with_file("cache-states", |path| match bring_to(path, CacheState::Cold) {
            Ok(cold) => {
                assert_eq!(cold.resident, 0);
                let warm = bring_to(path, CacheState::Warm).unwrap();
                assert_eq!((warm.pages, warm.resident), (cold.pages, cold.pages));
            }
            Err(error) => println!("skipped: {error}"),
        });
    }

    /// Sends a file over a connection whose ends are on different processors.
    fn send_and_receive(path: &Path) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut receiver = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (sender, file) = (listener.accept().unwrap().0, File::open(path).unwrap());
        let sending = thread::spawn(move || {
            processors::on(Processor::First, || {
                let (bytes, mut offset) = (file.metadata().unwrap().len(), 0);
                while offset < bytes {
                    rustix::fs::sendfile(&sender, &file, Some(&mut offset), bytes as usize).unwrap();
                }
            });
        });
        processors::on(Processor::Last, || io::copy(&mut receiver, &mut io::sink()).unwrap());
        sending.join().unwrap();
    }

    #[test]
    fn file_that_was_sent_from_its_pages_gets_cold() {
        with_file("cache-sent", |path| {
            if let Err(error) = bring_to(path, CacheState::Cold) {
                println!("skipped: {error}");
                return;
            }
            for _ in 0..8 {
                bring_to(path, CacheState::Warm).unwrap();
                send_and_receive(path);
                assert_eq!(bring_to(path, CacheState::Cold).unwrap().resident, 0);
            }
        });
    }

    #[test]
    fn file_in_memory_does_not_get_cold_and_the_error_says_so() {
        let path = PathBuf::from(format!("/dev/shm/wharf-cache-test-{}", std::process::id()));
        if data_file::make(&path, 1 << 16).is_err() {
            println!("skipped: /dev/shm cannot be written");
            return;
        }
        let file = File::open(&path).unwrap();
        let found = residency(&file);
        let error = found.is_ok().then(|| bring_to(&path, CacheState::Cold).unwrap_err().to_string());
        fs::remove_file(&path).unwrap();
        match error {
            Some(error) => assert!(error.contains("16 of 16 pages stay in memory"), "{error}"),
            None => println!("skipped: this kernel has no cachestat"),
        }
    }
}
