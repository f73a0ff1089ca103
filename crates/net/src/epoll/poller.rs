//! Waiting for file descriptors with epoll, level-triggered.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};

use crate::connection::{Interest, Ready};
use crate::slab::SlabKey;

/// How many events one wait brings at most.
const MAX_EVENTS: usize = 256;

/// How long one wait lasts at most, in seconds; a longer one is made of several.
const MAX_WAIT_SECONDS: u64 = 60;

/// What a watched descriptor is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    Connection(SlabKey),
    /// One of the listening sockets.
    Listener(usize),
    /// One of the UDP sockets.
    Datagrams(usize),
    Mailbox,
    /// The poller of the busy connections.
    Busy,
}

impl Token {
    /// The two highest bits say which kind it is; the rest is a key or an index.
    const KIND_SHIFT: u32 = 62;

    fn to_bits(self) -> u64 {
        match self {
            Token::Connection(key) => key.to_bits(),
            Token::Listener(index) => 1 << Self::KIND_SHIFT | index as u64,
            Token::Datagrams(index) => 2 << Self::KIND_SHIFT | index as u64,
            Token::Mailbox => 3 << Self::KIND_SHIFT,
            Token::Busy => 3 << Self::KIND_SHIFT | 1,
        }
    }

    fn from_bits(bits: u64) -> Token {
        let rest = bits & ((1 << Self::KIND_SHIFT) - 1);
        match bits >> Self::KIND_SHIFT {
            0 => Token::Connection(SlabKey::from_bits(rest)),
            1 => Token::Listener(rest as usize),
            2 => Token::Datagrams(rest as usize),
            _ if rest == 0 => Token::Mailbox,
            _ => Token::Busy,
        }
    }
}

/// An epoll instance.
pub(super) struct Poller {
    epoll: OwnedFd,
}

/// The events of one wait.
pub(super) struct Events(Vec<epoll::Event>);

impl Poller {
    pub(super) fn new() -> io::Result<Poller> {
        Ok(Poller { epoll: epoll::create(epoll::CreateFlags::CLOEXEC)? })
    }

    /// Watches another poller, which is readable as long as it has events.
    pub(super) fn add_poller(&self, other: &Poller, token: Token) -> io::Result<()> {
        self.add(&other.epoll, token, Interest { readable: true, writable: false })
    }

    /// Watches a descriptor that no other loop watches.
    pub(super) fn add(&self, descriptor: impl AsFd, token: Token, interest: Interest) -> io::Result<()> {
        epoll::add(&self.epoll, descriptor, epoll::EventData::new_u64(token.to_bits()), flags(interest))?;
        Ok(())
    }

    /// Watches a descriptor that all loops watch; an event wakes one or few of those that wait, not all. What it is
    /// watched for cannot be changed: it has to be removed first.
    pub(super) fn add_shared(&self, descriptor: impl AsFd, token: Token, interest: Interest) -> io::Result<()> {
        let flags = flags(interest) | epoll::EventFlags::EXCLUSIVE;
        epoll::add(&self.epoll, descriptor, epoll::EventData::new_u64(token.to_bits()), flags)?;
        Ok(())
    }

    /// Changes what a descriptor is watched for.
    pub(super) fn modify(&self, descriptor: impl AsFd, token: Token, interest: Interest) -> io::Result<()> {
        epoll::modify(&self.epoll, descriptor, epoll::EventData::new_u64(token.to_bits()), flags(interest))?;
        Ok(())
    }

    /// Watches a descriptor no more. (One that is closed is forgotten by itself.)
    pub(super) fn remove(&self, descriptor: impl AsFd) -> io::Result<()> {
        epoll::delete(&self.epoll, descriptor)?;
        Ok(())
    }

    /// Waits until something happens, at most for `timeout`. Returns how many events there are.
    pub(super) fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<usize> {
        let timeout = timeout.map(rounded_up);
        events.0.clear();
        match epoll::wait(&self.epoll, spare_capacity(&mut events.0), timeout.as_ref()) {
            Ok(count) => Ok(count),
            Err(rustix::io::Errno::INTR) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }
}

impl Events {
    /// Makes room for the events of a wait.
    pub(super) fn new() -> Events {
        Events(Vec::with_capacity(MAX_EVENTS))
    }

    /// One of the last wait's events.
    pub(super) fn get(&self, index: usize) -> (Token, Ready) {
        let event = self.0[index];
        let flags = event.flags;
        let ready = Ready {
            readable: flags.contains(epoll::EventFlags::IN),
            writable: flags.contains(epoll::EventFlags::OUT),
            hangup: flags.intersects(epoll::EventFlags::HUP | epoll::EventFlags::ERR),
        };
        (Token::from_bits(event.data.u64()), ready)
    }
}

fn flags(interest: Interest) -> epoll::EventFlags {
    let mut flags = epoll::EventFlags::empty();
    flags.set(epoll::EventFlags::IN, interest.readable);
    flags.set(epoll::EventFlags::OUT, interest.writable);
    flags
}

/// Whole milliseconds, which is what plain `epoll_pwait` takes; rounded up, lest a timer fires early again and again.
fn rounded_up(timeout: Duration) -> Timespec {
    let ms = i64::from(timeout.subsec_nanos().div_ceil(1_000_000));
    let seconds = timeout.as_secs().min(MAX_WAIT_SECONDS) as i64;
    Timespec { tv_sec: seconds + ms / 1000, tv_nsec: (ms % 1000) * 1_000_000 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_survive_the_kernel() {
        let mut slab = crate::slab::Slab::new();
        let (one, two) = (slab.insert(()), slab.insert(()));
        let tokens =
            [Token::Connection(one), Token::Connection(two), Token::Listener(7), Token::Datagrams(7), Token::Mailbox];
        for token in tokens.into_iter().chain([Token::Busy]) {
            assert_eq!(Token::from_bits(token.to_bits()), token);
        }
    }
}
