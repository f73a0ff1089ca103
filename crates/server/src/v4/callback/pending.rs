//! What callbacks keep between calls: recalls to repeat, and answers of holders of write delegations.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use state::{Origin, Recall, Stateid};

use crate::tally::Tally;

/// The pending work of callbacks.
#[derive(Debug, Default)]
pub(crate) struct Callbacks {
    pub(super) recalls: LaterRecalls,
    pub(super) attributes: DelegatedAttributes,
}

/// How long an answer is kept for a client that was told to retry: it does so within this time.
const GOOD_FOR: Duration = Duration::from_secs(2);

/// The most answers to keep. Beyond them, a delegation is recalled instead.
const MAX_KEPT: usize = 4096;

/// The recent answers of holders of write delegations. A request uses an answer to a query that began after the request
/// arrived: earlier answers may be older than what its client knows already.
#[derive(Debug, Default)]
pub(crate) struct DelegatedAttributes(Mutex<HashMap<Stateid, AttributeQuery>>);

#[derive(Debug, Clone, Copy)]
struct AttributeQuery {
    asked: Duration,
    answered: Duration,
    answer: HolderAnswer,
    /// Whether a client was told to retry before the answer came: its next request uses the answer.
    is_abandoned: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HolderAnswer {
    /// The answer is pending.
    Missing,
    /// The client has not changed the file.
    Unchanged,
    /// The client has changed the file, which now has this size.
    Changed { size_bytes: u64 },
    /// The client cannot answer: the delegation must be recalled.
    None,
}

impl DelegatedAttributes {
    fn lock(&self) -> MutexGuard<'_, HashMap<Stateid, AttributeQuery>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer for a request that arrived at `now`; if there is none, records that a query begins.
    pub(super) fn find_or_ask(&self, stateid: Stateid, now: Duration) -> Option<HolderAnswer> {
        let mut asked = self.lock();
        if let Some(found) = asked.get_mut(&stateid).filter(|found| found.is_kept(now)) {
            let is_usable = match found.answer {
                HolderAnswer::Missing | HolderAnswer::None => true,
                _ => std::mem::take(&mut found.is_abandoned) || found.asked >= now,
            };
            if is_usable {
                return Some(found.answer);
            }
        } else if asked.len() >= MAX_KEPT {
            return Some(HolderAnswer::None);
        }
        let query = AttributeQuery { asked: now, answered: now, answer: HolderAnswer::Missing, is_abandoned: false };
        asked.insert(stateid, query);
        None
    }

    /// Records an answer.
    pub(super) fn note(&self, stateid: Stateid, answer: HolderAnswer, now: Duration) {
        if let Some(query) = self.lock().get_mut(&stateid) {
            (query.answer, query.answered) = (answer, now.max(query.asked));
        }
    }

    /// Keeps the answer to come for the next request, since this one's client is told to retry.
    pub(super) fn abandon(&self, stateid: Stateid) {
        if let Some(query) = self.lock().get_mut(&stateid) {
            query.is_abandoned = true;
        }
    }

    /// Drops expired answers.
    pub(super) fn forget_old(&self, now: Duration) {
        self.lock().retain(|_, asked| asked.is_kept(now));
    }
}

impl AttributeQuery {
    /// A pending answer does not expire, since its call ends by itself.
    fn is_kept(&self, now: Duration) -> bool {
        self.answer == HolderAnswer::Missing || now < self.answered + GOOD_FOR
    }
}

/// The most recalls that may wait to be repeated; one address may have as many as remain free. Further ones are not
/// repeated, and their delegations are eventually revoked.
const MAX_LATER: usize = 4096;

/// Recalls to repeat.
#[derive(Debug, Default)]
pub(super) struct LaterRecalls(Mutex<Later>);

#[derive(Debug, Default)]
struct Later {
    recalls: Vec<Again>,
    tally: Tally,
}

/// A recall to repeat, with its time.
#[derive(Debug)]
pub(super) struct Again {
    pub(super) at: Duration,
    pub(super) origin: Origin,
    pub(super) recall: Recall,
}

impl LaterRecalls {
    pub(super) fn add(&self, again: Again) {
        let mut later = self.lock();
        if later.tally.has_room(again.origin, MAX_LATER) {
            later.tally.add(again.origin);
            later.recalls.push(again);
        }
    }

    pub(super) fn take_due(&self, now: Duration) -> Vec<Recall> {
        let mut later = self.lock();
        let Later { recalls, tally } = &mut *later;
        let due = recalls.extract_if(.., |again| again.at <= now);
        due.inspect(|again| tally.remove(again.origin)).map(|again| again.recall).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Later> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use state::{ClientId, FileKey, Stateid};

    use super::*;

    const SOON: Duration = Duration::from_secs(1);

    #[test]
    fn recalls_of_one_address_leave_room_to_others() {
        let later = LaterRecalls::default();
        let file = FileKey { export: 1, node: vfs::Handle::from_u64(1) };
        let recall =
            Recall { client: ClientId(1), stateid: Stateid { seqid: 1, other: [0; 12] }, file, handle: Box::default() };
        let add = |host, count| {
            let origin = Origin::of([192, 0, 2, host].into());
            (0..count).for_each(|_| later.add(Again { at: SOON, origin, recall: recall.clone() }));
        };
        add(66, MAX_LATER);
        add(2, 100);
        assert_eq!(later.take_due(Duration::ZERO).len(), 0);
        assert_eq!(later.take_due(SOON).len(), MAX_LATER / 2 + 100);
        add(66, 1);
        assert_eq!(later.take_due(SOON).len(), 1);
    }
}
