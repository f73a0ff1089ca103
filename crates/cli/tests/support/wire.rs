//! Calls as bytes, for connections that no client would make.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::io::{self, Read};
use std::net::TcpStream;

/// The last fragment of a record begins with this bit (RFC 5531 §11).
pub const LAST_FRAGMENT: u32 = 1 << 31;
/// NFS version 3 and two of its procedures (RFC 1813 §3).
pub const NULL: u32 = 0;
pub const READ: u32 = 6;

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// A message behind its mark.
pub fn record(message: &[u8]) -> Vec<u8> {
    [&(LAST_FRAGMENT | message.len() as u32).to_be_bytes(), message].concat()
}

/// A call of a procedure of NFS version 3 without credentials.
pub fn call(xid: u32, procedure: u32, arguments: &[u8]) -> Vec<u8> {
    [&words(&[xid, 0, 2, 100_003, 3, procedure, 0, 0, 0, 0]), arguments].concat()
}

/// The arguments of a READ from the beginning of a file.
pub fn read_arguments(handle: &[u8], count: u32) -> Vec<u8> {
    let mut arguments = words(&[handle.len() as u32]);
    arguments.extend_from_slice(handle);
    arguments.resize(arguments.len().next_multiple_of(4), 0);
    arguments.extend(words(&[0, 0, count]));
    arguments
}

/// Reads a reply of one fragment: its xid and all that follows.
pub fn reply(stream: &mut TcpStream) -> io::Result<(u32, Vec<u8>)> {
    let mut word = || -> io::Result<u32> {
        let mut bytes = [0; 4];
        stream.read_exact(&mut bytes)?;
        Ok(u32::from_be_bytes(bytes))
    };
    let (mark, xid) = (word()?, word()?);
    let mut rest = vec![0; (mark & !LAST_FRAGMENT) as usize - 4];
    stream.read_exact(&mut rest)?;
    Ok((xid, rest))
}

/// The bytes that stand in hexadecimal in `text`.
pub fn unhex(text: &str) -> Vec<u8> {
    text.as_bytes().chunks(2).map(|digits| u8::from_str_radix(str::from_utf8(digits).unwrap(), 16).unwrap()).collect()
}
