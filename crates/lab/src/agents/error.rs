use std::io;
use std::time::Duration;

use super::MessageError;

/// Why agents could not do a job in step.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is none.
    #[error("no agent was named")]
    NoAgents,
    /// An agent cannot be reached.
    #[error("agent {agent}: {source}; is `wharf lab agent` running there, and listening on that address?")]
    Unreachable {
        /// The agent.
        agent: String,
        /// Why.
        source: io::Error,
    },
    /// An agent has another token.
    #[error("agent {0} refused the token: give --agent-token the file that its --token has")]
    WrongToken(String),
    /// An agent is of another version.
    #[error("agent {agent} is Wharf {is}, and this is {wanted}: figures of several versions are not merged")]
    OtherVersion {
        /// The agent.
        agent: String,
        /// Its version.
        is: String,
        /// This one.
        wanted: String,
    },
    /// An agent is too far away to start in step.
    #[error(
        "agent {agent}: its clock is known to ±{uncertainty:?} only, since it answers so slowly; ±{max:?} are needed to \
         start in step"
    )]
    Clock {
        /// The agent.
        agent: String,
        /// How exactly its clock is known.
        uncertainty: Duration,
        /// How exactly it must be known.
        max: Duration,
    },
    /// The connection of an agent ended.
    #[error("agent {agent} was lost: {source}; the run has no figures")]
    Lost {
        /// The agent.
        agent: String,
        /// Why.
        source: MessageError,
    },
    /// An agent could not do the job.
    #[error("agent {agent}: {why}")]
    Failed {
        /// The agent.
        agent: String,
        /// Why.
        why: String,
    },
    /// The job was stopped before its start.
    #[error("stopped before anything was measured")]
    Stopped,
    /// An agent answered something else.
    #[error("agent {0} answered something else than what it was asked: is it a Wharf agent?")]
    Disorder(String),
}

/// Why an agent ended the connection of a conductor.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// The conductor does not know the token.
    #[error("wrong token")]
    WrongToken,
    /// The conductor is of another version.
    #[error("it is Wharf {0}")]
    OtherVersion(String),
    /// The conductor sent an order that makes no sense now.
    #[error("an order to start without a job")]
    Disorder,
    /// The conductor stopped the job, or left before its end; or this agent was interrupted.
    #[error("the job was interrupted")]
    Interrupted,
    /// The connection failed.
    #[error(transparent)]
    Message(#[from] MessageError),
}
