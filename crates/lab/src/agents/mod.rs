//! One load from several hosts in step.
//!
//! An agent listens on each load host ([`Agent`]). A [`Conductor`] connects to all of them, has each prepare the same
//! job, starts all of them at one moment, and merges what they found.
//!
//! # Starting in step
//!
//! The clocks of the hosts need not agree. The conductor asks each agent for its time several times, and takes the
//! exchange with the shortest round trip: the agent's time was read somewhere within it, so the offset of the two
//! clocks is known to half of that ([`Clock`]). It then names the moment of the start in each agent's own time. A round
//! trip that is too long for that is refused.
//!
//! # Peers that are not trusted
//!
//! An agent does what its conductor wants of NFS servers, with its host's address and user. So a conductor must know
//! the agent's token, and until then the agent reads nothing but one short message. Both ends limit the size of each
//! message before they take memory for it. The connection is not encrypted: the token and the figures are readable on
//! the network between them.

mod agent;
mod clock;
mod conductor;
mod error;
mod message;

pub use agent::{Agent, AgentEvent, Interruption};
pub use clock::Clock;
pub use conductor::{Conductor, Found, HostFound};
pub use error::{AgentError, Error};
pub use message::{MessageError, Token, TokenError};
