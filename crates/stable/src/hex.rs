//! Bytes as hexadecimal digits.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn bytes(hex: &str) -> Option<Vec<u8>> {
    let pairs = hex.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

pub(crate) fn hex_path(path: &Path) -> String {
    hex(path.as_os_str().as_bytes())
}

pub(crate) fn path(hex: &str) -> Option<PathBuf> {
    Some(OsString::from_vec(bytes(hex)?).into())
}
