//! The sending side of TCP: how data is cut for segmentation offload, and what of it is seen in packets.
//!
//! - [`Rule`] is a rule for cutting: what one send hands to the network card.
//! - [`sender`] is one end of a TCP connection, without sockets and without a clock, that cuts by such a rule.
//! - [`model`] runs it in virtual time over a path with [`Faults`].
//! - [`trace`] reads packet captures and counts single-MSS packets, super-segments and fractional ones.
//! - [`user`] runs it over a TAP device, with the kernel as the receiver.
//! - [`kernel`] sends streams and requests between the kernels of two hosts.
//! - [`link`] is a wire of a given speed between two networks of this machine.
#![forbid(unsafe_code)]

mod fault;
pub mod kernel;
pub mod link;
pub mod model;
mod rule;
pub mod sender;
mod stream;
pub mod trace;
pub mod user;

pub use fault::Faults;
pub use rule::{Card, Cut, Offer, Rule};
