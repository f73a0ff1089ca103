use std::time::Duration;

use super::Algorithm;
use crate::{Card, Rule};

/// How a sender works.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// How data is cut.
    pub rule: Rule,
    /// The capabilities of the network card.
    pub card: Card,
    /// The MSS of this side, in bytes, including options (RFC 9293 §3.7.1).
    pub mss: u16,
    /// The maximum of unacknowledged bytes; above 0.
    pub send_buffer_bytes: usize,
    /// The receive buffer in bytes; at most 65 535.
    pub receive_buffer_bytes: usize,
    /// Congestion control.
    pub algorithm: Algorithm,
    /// The congestion window of a new connection, in segments (RFC 6928).
    pub initial_window_segments: u32,
    /// Sends small segments at once, without Nagle's algorithm (RFC 9293 §3.7.4).
    pub no_delay: bool,
    /// Offers timestamps (RFC 7323 §3).
    pub timestamps: bool,
    /// Offers selective acknowledgments (RFC 2018).
    pub sack: bool,
    /// Offers window scaling (RFC 7323 §2).
    pub window_scaling: bool,
    /// The minimum retransmission timeout. RFC 6298 §2.4 requires one second; kernels and this default use less. It
    /// must exceed the receiver's delay of acknowledgments.
    pub min_rto: Duration,
    /// The connection fails after this time without acknowledgments (RFC 9293 §3.8.3).
    pub give_up: Duration,
    /// The duration of TIME-WAIT (RFC 9293 §3.6.1).
    pub time_wait: Duration,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            rule: Rule::Today,
            card: Card::FULL,
            mss: 1460,
            send_buffer_bytes: 1 << 20,
            receive_buffer_bytes: 65_535,
            algorithm: Algorithm::Cubic,
            initial_window_segments: 10,
            no_delay: false,
            timestamps: true,
            sack: true,
            window_scaling: true,
            min_rto: Duration::from_millis(200),
            give_up: Duration::from_secs(100),
            time_wait: Duration::from_secs(60),
        }
    }
}
