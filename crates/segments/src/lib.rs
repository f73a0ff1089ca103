//! The sending side of TCP: how data is cut for segmentation offload, and the resulting packets.
//!
//! - [`Rule`] is a cutting rule: it decides what one send hands to the network card.
//! - [`sender`] is one end of a TCP connection that uses such a rule, without sockets and without a clock.
//! - [`model`] runs it in virtual time over a path with [`Faults`].
//! - [`trace`] reads packet captures and classifies packets: single-MSS, super-segments and fractional.
//! - [`user`] runs it over a TAP device, with the kernel as the receiver.
//! - [`kernel`] sends streams and requests between the kernels of two hosts.
//! - [`link`] is a wire of a given speed between two networks of this machine.

mod fault;
pub mod kernel;
pub mod link;
pub mod model;
mod rule;
pub mod sender;
mod stream;
#[allow(unsafe_code)]
mod sys;
pub mod trace;
pub mod user;

pub use fault::Faults;
pub use rule::{Card, Cut, Offer, Rule};
