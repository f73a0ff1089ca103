//! The real server among hostile peers: those that send what makes no sense, and those that take all they can get.
//!
//! A program of its own, since it raises the limit of descriptors of the process and nothing else may load the machine
//! while a server is under attack.
//!
//! To add an attack, write a function in `attacks.rs` and put it into the table there; `frame.rs` does the rest.

#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

mod attacks;
mod frame;
mod nonsense;
