//! Calls as bytes, for connections that no client would make.

use std::io::{self, Read};
use std::net::TcpStream;

/// The last fragment of a record begins with this bit (RFC 5531 §11).
pub const LAST_FRAGMENT: u32 = 1 << 31;
/// Procedures of NFS version 3 (RFC 1813 §3).
pub const NULL: u32 = 0;
pub const GETATTR: u32 = 1;
pub const READ: u32 = 6;
pub const CREATE: u32 = 8;
pub const COMMIT: u32 = 21;

/// Operations of NFS version 4 (RFC 7530 §16).
pub const LOCK: u32 = 12;
pub const LOOKUP: u32 = 15;
pub const OPEN: u32 = 18;
pub const OPEN_CONFIRM: u32 = 20;
pub const PUTFH: u32 = 22;
pub const PUTROOTFH: u32 = 24;
pub const READ4: u32 = 25;
pub const SETCLIENTID: u32 = 35;
pub const SETCLIENTID_CONFIRM: u32 = 36;

/// Words in the order of the network.
pub fn words(words: &[u32]) -> Vec<u8> {
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

/// A COMPOUND of NFS version 4.0 without credentials: so many operations, which `operations` holds.
pub fn compound(xid: u32, count: u32, operations: &[u8]) -> Vec<u8> {
    [&words(&[xid, 0, 2, 100_003, 4, 1, 0, 0, 0, 0, 0, 0, count]), operations].concat()
}

/// Bytes behind their length, as XDR has them (RFC 4506 §4.10).
pub fn opaque(bytes: &[u8]) -> Vec<u8> {
    let mut opaque = words(&[bytes.len() as u32]);
    opaque.extend_from_slice(bytes);
    opaque.resize(opaque.len().next_multiple_of(4), 0);
    opaque
}

/// The arguments of a READ from the beginning of a file.
pub fn read_arguments(handle: &[u8], count: u32) -> Vec<u8> {
    [opaque(handle), words(&[0, 0, count])].concat()
}

/// The arguments of a SETCLIENTID with a callback path over TCP.
pub fn setclientid_arguments(name: &str, callback: &str) -> Vec<u8> {
    let program = words(&[0x4000_0000]);
    let (name, callback) = (opaque(name.as_bytes()), opaque(callback.as_bytes()));
    [words(&[0, 1]), name, program, opaque(b"tcp"), callback, words(&[1])].concat()
}

/// The arguments of an UNCHECKED CREATE without attributes.
pub fn create_arguments(dir: &[u8], name: &str) -> Vec<u8> {
    [opaque(dir), opaque(name.as_bytes()), words(&[0; 7])].concat()
}

/// The status that the reply to a call of NFS version 3 tells, behind its head, and what follows.
pub fn status(reply: &[u8]) -> (u32, &[u8]) {
    let (status, rest) = reply[20..].split_first_chunk().unwrap();
    (u32::from_be_bytes(*status), rest)
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
