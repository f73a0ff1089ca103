//! A wire between client and server that loses replies while it is told to.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use super::wire::LAST_FRAGMENT;

/// The wire. Its threads end with the test's process.
pub struct Deaf {
    pub address: SocketAddr,
    ear: Arc<Ear>,
}

#[derive(Default)]
struct Ear {
    is_deaf: AtomicBool,
    /// How many replies were lost.
    lost: AtomicUsize,
}

impl Deaf {
    /// Stands in front of the server at `server`, which may come and go. A connection ends with the server's.
    pub fn start(server: SocketAddr) -> Deaf {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, ear) = (listener.local_addr().unwrap(), Arc::<Ear>::default());
        let shared = Arc::clone(&ear);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect(server) else { continue };
                let ear = Arc::clone(&shared);
                thread::spawn(move || carry(&client, &server, &ear));
            }
        });
        Deaf { address, ear }
    }

    /// Loses replies from now on, or no longer.
    pub fn set(&self, is_deaf: bool) {
        self.ear.lost.store(0, Ordering::Relaxed);
        self.ear.is_deaf.store(is_deaf, Ordering::Relaxed);
    }

    /// How many replies were lost since.
    pub fn lost(&self) -> usize {
        self.ear.lost.load(Ordering::Relaxed)
    }
}

fn carry(client: &TcpStream, server: &TcpStream, ear: &Ear) {
    thread::scope(|scope| {
        scope.spawn(|| {
            let _ = std::io::copy(&mut &*client, &mut &*server);
            let _ = server.shutdown(Shutdown::Both);
        });
        while let Some(fragment) = fragment(server) {
            let is_last = fragment[0] & (LAST_FRAGMENT >> 24) as u8 != 0;
            if ear.is_deaf.load(Ordering::Relaxed) {
                ear.lost.fetch_add(is_last.into(), Ordering::Relaxed);
            } else if (&*client).write_all(&fragment).is_err() {
                break;
            }
        }
        let _ = client.shutdown(Shutdown::Both);
    });
}

/// A fragment behind its mark.
fn fragment(mut from: &TcpStream) -> Option<Vec<u8>> {
    let mut mark = [0; 4];
    from.read_exact(&mut mark).ok()?;
    let length = u32::from_be_bytes(mark) & !LAST_FRAGMENT;
    let mut fragment = mark.to_vec();
    fragment.resize(4 + length as usize, 0);
    from.read_exact(&mut fragment[4..]).ok()?;
    Some(fragment)
}
