use crate::limits::BACK_SLOTS;

/// The server's slots of one back channel.
#[derive(Debug, Default)]
pub(crate) struct BackSlots {
    sequences: Vec<u32>,
    busy: u32,
}

impl BackSlots {
    pub(crate) fn new(slots: u32) -> BackSlots {
        BackSlots { sequences: vec![0; slots.clamp(1, BACK_SLOTS) as usize], busy: 0 }
    }

    /// Takes a free slot; returns it with the sequence number of its next request.
    pub(crate) fn begin(&mut self) -> Option<(u32, u32)> {
        let slot = (0..self.sequences.len()).find(|slot| self.busy & 1 << slot == 0)?;
        self.busy |= 1 << slot;
        self.sequences[slot] = self.sequences[slot].wrapping_add(1);
        Some((slot as u32, self.sequences[slot]))
    }

    pub(crate) fn highest(&self) -> u32 {
        31u32.saturating_sub(self.busy.leading_zeros())
    }

    /// Releases a slot; an unsent request returns its sequence number.
    pub(crate) fn end(&mut self, slot: u32, sent: bool) {
        let Some(sequence) = self.sequences.get_mut(slot as usize) else { return };
        self.busy &= !(1 << slot);
        if !sent {
            *sequence = sequence.wrapping_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn back_slots_count_their_own_requests() {
        let mut slots = BackSlots::new(2);
        assert_eq!((slots.begin(), slots.begin(), slots.begin()), (Some((0, 1)), Some((1, 1)), None));
        slots.end(0, true);
        assert_eq!(slots.begin(), Some((0, 2)));
        slots.end(1, false);
        assert_eq!(slots.begin(), Some((1, 1)));
        assert_eq!(slots.highest(), 1);
    }
}
