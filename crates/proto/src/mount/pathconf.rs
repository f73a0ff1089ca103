//! PATHCONF returns the limits of names and links (version 2 only; no RFC has it, but Sun's mount.x does).

use xdr::{Decode, Encode};

use super::{DirPath, PROGRAM};
use crate::Operation;

/// The results of PATHCONF (`ppathcnf`). C's short and char numbers take a whole word each in XDR.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct PathconfReply {
    /// The most names that one file can have.
    pub max_links: u32,
    /// The longest line of a terminal in canonical mode, in bytes.
    pub max_canonical_bytes: u32,
    /// The most unread bytes of a terminal.
    pub max_input_bytes: u32,
    /// The longest name, in bytes.
    pub max_name_bytes: u32,
    /// The longest path, in bytes.
    pub max_path_bytes: u32,
    /// The most bytes in an atomic write to a pipe.
    pub pipe_buffer_bytes: u32,
    /// The character that disables a terminal's special characters.
    pub disabling_character: u32,
    /// Padding; 0.
    pub padding: u32,
    /// Two halves of a set, 16 bits each; the bits below are in the first.
    pub mask: [u32; 2],
}

/// The path is unknown.
pub const PC_ERROR: u32 = 1 << 0;
/// Names that are too long are refused, not truncated.
pub const PC_NO_TRUNC: u32 = 1 << 7;
/// Only the superuser may change owners.
pub const PC_CHOWN_RESTRICTED: u32 = 1 << 9;

/// PATHCONF returns the limits of names and links.
#[derive(Debug, Clone, Copy)]
pub struct Pathconf;

impl Operation for Pathconf {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = 2;
    const PROCEDURE: u32 = 7;
    const NAME: &'static str = "PATHCONF";
    type Arguments<'a> = DirPath<'a>;
    type Reply<'a> = PathconfReply;
}
