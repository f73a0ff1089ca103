//! The slots of a session's fore channel (RFC 8881 §2.10.6.1). Each holds one request at a time, under a sequence id
//! that each new request increments.
//!
//! A request without a reply leaves its slot in doubt: the server may or may not have seen the sequence id. Nobody uses
//! such a slot until a request with the same id is answered.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use client_calls::now;
use proto::nfs4::SlotId;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::error::Elapsed;

/// The most slots that a client uses of one session.
pub(super) const MAX_SLOTS: u32 = 1024;
const WORD_BITS: usize = u64::BITS as usize;

/// The slots of one session.
#[derive(Debug)]
pub(super) struct Slots {
    table: Mutex<Table>,
    /// One permit per free slot that may be used.
    permits: Semaphore,
}

#[derive(Debug)]
struct Table {
    /// The sequence id of the next request, by slot.
    sequences: Box<[u32]>,
    /// The free slots, one bit each.
    free: Box<[u64]>,
    /// How many slots the server allows to be used.
    target: u32,
    /// The number of permits to withdraw because the target went down.
    excess: u32,
    /// How often a slot was freed.
    freed: u64,
}

/// A slot in use, until it is completed, released or put in doubt.
#[derive(Debug)]
pub(super) struct Taken<'s> {
    pub(super) slot: SlotId,
    pub(super) sequence: u32,
    /// The highest slot in use.
    pub(super) highest: SlotId,
    /// When the request began to wait for a slot, if it waited.
    pub(super) asked: Option<Instant>,
    permit: SemaphorePermit<'s>,
}

impl Slots {
    /// Makes `count` unused slots. The first request of each has the sequence id 1 (RFC 8881 §2.10.6.1).
    pub(super) fn new(count: u32) -> Slots {
        let count = count.clamp(1, MAX_SLOTS);
        let mut free = vec![0; (count as usize).div_ceil(WORD_BITS)].into_boxed_slice();
        (0..count as usize).for_each(|slot| free[slot / WORD_BITS] |= 1 << (slot % WORD_BITS));
        let table = Table { sequences: vec![1; count as usize].into(), free, target: count, excess: 0, freed: 0 };
        Slots { table: Mutex::new(table), permits: Semaphore::new(count as usize) }
    }

    /// Waits for a free slot and takes the lowest, so that the server can drop the high ones. `None` when the session
    /// is lost.
    ///
    /// # Errors
    /// When no slot was freed for `patience`.
    pub(super) async fn take(&self, patience: Option<Duration>) -> Result<Option<Taken<'_>>, Elapsed> {
        if let Ok(permit) = self.permits.try_acquire() {
            return Ok(self.take_lowest(permit, None));
        }
        let (patience, asked) = (patience.unwrap_or(Duration::MAX), Some(now()));
        loop {
            let freed = self.lock().freed;
            match tokio::time::timeout(patience, self.permits.acquire()).await {
                Ok(permit) => return Ok(permit.ok().and_then(|permit| self.take_lowest(permit, asked))),
                Err(_) if self.lock().freed != freed => {}
                Err(elapsed) => return Err(elapsed),
            }
        }
    }

    fn take_lowest<'s>(&'s self, permit: SemaphorePermit<'s>, asked: Option<Instant>) -> Option<Taken<'s>> {
        let mut table = self.lock();
        let slot = table.lowest_free()?;
        table.free[slot / WORD_BITS] &= !(1 << (slot % WORD_BITS));
        let highest = SlotId(table.highest_taken());
        Some(Taken { slot: SlotId(slot as u32), sequence: table.sequences[slot], highest, asked, permit })
    }

    /// Frees a slot whose sequence id is used up.
    pub(super) fn complete(&self, taken: Taken<'_>) {
        let mut table = self.lock();
        table.sequences[taken.slot.0 as usize] = taken.sequence.wrapping_add(1);
        table.release(taken);
    }

    /// Frees a slot whose sequence id is not used up, because the request was refused first.
    pub(super) fn release(&self, taken: Taken<'_>) {
        self.lock().release(taken);
    }

    /// Leaves a slot in doubt; [`Slots::settle`] frees it.
    pub(super) fn doubt(&self, taken: Taken<'_>) {
        taken.permit.forget();
    }

    /// Frees a slot that was in doubt: its sequence id is used up now.
    pub(super) fn settle(&self, slot: SlotId, sequence: u32) {
        let mut table = self.lock();
        table.sequences[slot.0 as usize] = sequence.wrapping_add(1);
        table.set_free(slot);
        if table.excess > 0 {
            table.excess -= 1;
        } else {
            self.permits.add_permits(1);
        }
    }

    /// Follows the server's target for the slots in use (RFC 8881 §2.10.6.1), at least one.
    pub(super) fn aim(&self, target_highest: SlotId) {
        let mut table = self.lock();
        let target = target_highest.0.saturating_add(1).clamp(1, table.sequences.len() as u32);
        if target == table.target {
            return;
        }
        let (wanted, had) = (target, std::mem::replace(&mut table.target, target));
        if wanted < had {
            table.excess += had - wanted;
            let given_up = self.permits.forget_permits(table.excess as usize);
            table.excess -= given_up as u32;
        } else {
            let spared = table.excess.min(wanted - had);
            table.excess -= spared;
            self.permits.add_permits((wanted - had - spared) as usize);
        }
    }

    /// Ends all waiting: the session is lost.
    pub(super) fn close(&self) {
        self.permits.close();
    }

    /// Whether no request is in flight.
    pub(super) fn is_idle(&self) -> bool {
        let table = self.lock();
        table.free.iter().map(|word| word.count_ones()).sum::<u32>() == table.sequences.len() as u32
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn lowest_free(&self) -> Option<usize> {
        let word = self.free.iter().position(|word| *word != 0)?;
        Some(word * WORD_BITS + self.free[word].trailing_zeros() as usize)
    }

    fn highest_taken(&self) -> u32 {
        let count = self.sequences.len();
        let taken = |word: usize| {
            let kept = (count - word * WORD_BITS).min(WORD_BITS) as u32;
            !self.free[word] & (u64::MAX >> (u64::BITS - kept))
        };
        let word = (0..self.free.len()).rev().find(|word| taken(*word) != 0);
        word.map_or(0, |word| (word * WORD_BITS) as u32 + taken(word).ilog2())
    }

    fn release(&mut self, taken: Taken<'_>) {
        self.set_free(taken.slot);
        if self.excess > 0 {
            self.excess -= 1;
            taken.permit.forget();
        }
    }

    fn set_free(&mut self, slot: SlotId) {
        self.free[slot.0 as usize / WORD_BITS] |= 1 << (slot.0 as usize % WORD_BITS);
        self.freed += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn take(slots: &Slots) -> Taken<'_> {
        slots.take(None).await.unwrap().unwrap()
    }

    #[tokio::test]
    async fn lowest_free_slot_is_taken_and_its_sequence_id_goes_up_by_one() {
        let slots = Slots::new(100);
        let (first, second) = (take(&slots).await, take(&slots).await);
        assert_eq!((first.slot, second.slot, second.highest), (SlotId(0), SlotId(1), SlotId(1)));
        slots.complete(first);
        let again = take(&slots).await;
        assert_eq!((again.slot, again.sequence, again.highest), (SlotId(0), 2, SlotId(1)));
        slots.release(again);
        assert_eq!(take(&slots).await.sequence, 2);
    }

    #[tokio::test]
    async fn slot_in_doubt_is_used_by_nobody_until_it_is_settled() {
        let slots = Slots::new(1);
        let taken = take(&slots).await;
        let (slot, sequence) = (taken.slot, taken.sequence);
        slots.doubt(taken);
        let waiting = slots.take(Some(Duration::from_millis(20)));
        assert!(waiting.await.is_err());
        slots.settle(slot, sequence);
        assert_eq!(take(&slots).await.sequence, 2);
    }

    #[tokio::test]
    async fn servers_wish_for_fewer_slots_is_followed_and_taken_back() {
        let slots = Slots::new(4);
        let (a, b, c) = (take(&slots).await, take(&slots).await, take(&slots).await);
        slots.aim(SlotId(0));
        slots.complete(c);
        slots.complete(b);
        assert_eq!(slots.permits.available_permits(), 0);
        slots.complete(a);
        assert_eq!(slots.permits.available_permits(), 1);
        slots.aim(SlotId(9));
        assert_eq!(slots.permits.available_permits(), 4);
    }
}
