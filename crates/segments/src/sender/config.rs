use std::time::Duration;

use super::Algorithm;
use crate::{Card, Rule};

/// How a sender works.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// How data is cut.
    pub rule: Rule,
    /// What the network card takes.
    pub card: Card,
    /// The most data that this side takes and sends in one packet, in bytes, options included (RFC 9293 §3.7.1).
    pub mss: u16,
    /// Most bytes that were written and are not acknowledged; above 0.
    pub send_buffer_bytes: usize,
    /// Bytes that this side receives before its application reads them; at most 65 535.
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
    /// The shortest retransmission timeout. RFC 6298 §2.4 has one second; kernels take less, and so does the default.
    /// It must be longer than the receiver's delay of acknowledgments.
    pub min_rto: Duration,
    /// How long nothing may be acknowledged before the connection is given up (RFC 9293 §3.8.3).
    pub give_up: Duration,
    /// How long a connection that this side has closed is remembered (RFC 9293 §3.6.1).
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
