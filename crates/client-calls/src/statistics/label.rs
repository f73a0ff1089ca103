use proto::Operation;
use proto::nfs4::OpNumber;

use super::Procedure;

/// How a call is counted: its procedure, and the operations if it is a COMPOUND.
#[derive(Debug, Clone, Copy)]
pub struct Label {
    pub(super) procedure: Procedure,
    /// The numbers of the operations, in order.
    operations: [u8; Label::MAX_OPERATIONS],
    count: u8,
}

impl Label {
    /// The most operations of a COMPOUND that are counted one by one: more than any COMPOUND of this client has.
    const MAX_OPERATIONS: usize = 16;

    /// The label of a call to an unknown program.
    pub const OTHER: Label = Label::new(Procedure::OTHER);

    const fn new(procedure: Procedure) -> Label {
        Label { procedure, operations: [0; Self::MAX_OPERATIONS], count: 0 }
    }

    /// The label of a call other than COMPOUND.
    pub(crate) const fn of<O: Operation>() -> Label {
        Label::new(Procedure::of::<O>())
    }

    /// Whether it has operations.
    pub(super) fn is_compound(&self) -> bool {
        self.count > 0
    }

    /// The numbers of the operations, in order.
    pub(super) fn operations(&self) -> &[u8] {
        &self.operations[..usize::from(self.count)]
    }
}

/// Finds the label of a COMPOUND from its operations.
#[derive(Debug)]
pub(crate) struct CompoundLabel {
    label: Label,
    main: u8,
    /// The weight of the main operation.
    weight: u8,
}

impl CompoundLabel {
    pub(crate) fn new() -> CompoundLabel {
        CompoundLabel { label: Label::OTHER, main: 0, weight: 0 }
    }

    /// Adds the next operation.
    #[inline]
    pub(crate) fn push(&mut self, number: u32) {
        let number = u8::try_from(number).unwrap_or(0);
        if let Some(place) = self.label.operations.get_mut(usize::from(self.label.count)) {
            *place = number;
            self.label.count += 1;
        }
        let weight = WEIGHTS[usize::from(number)];
        if weight >= self.weight {
            (self.main, self.weight) = (number, weight);
        }
    }

    /// The label of a COMPOUND that errors call by this name.
    pub(crate) fn finish(mut self, name: &str) -> Label {
        self.label.procedure = Procedure::of_compound(self.main, name);
        self.label
    }
}

/// The weight of every number, as a table: each operation of each call looks it up.
const WEIGHTS: [u8; 256] = {
    let (mut weights, mut number) = ([0; 256], 0);
    while number < weights.len() {
        weights[number] = weight(number as u8);
        number += 1;
    }
    weights
};

/// How likely a COMPOUND is about this operation rather than others in it: some only select a file. Among equal ones
/// the last counts.
const fn weight(number: u8) -> u8 {
    const SEQUENCE: u8 = OpNumber::Sequence as u8;
    const PUTFH: u8 = OpNumber::Putfh as u8;
    const SAVEFH: u8 = OpNumber::Savefh as u8;
    const RESTOREFH: u8 = OpNumber::Restorefh as u8;
    const GETFH: u8 = OpNumber::Getfh as u8;
    const GETATTR: u8 = OpNumber::Getattr as u8;
    const VERIFY: u8 = OpNumber::Verify as u8;
    const NVERIFY: u8 = OpNumber::Nverify as u8;
    const PUTROOTFH: u8 = OpNumber::Putrootfh as u8;
    const LOOKUP: u8 = OpNumber::Lookup as u8;
    match number {
        0 => 0,
        SEQUENCE => 1,
        PUTFH | SAVEFH | RESTOREFH => 2,
        GETFH | VERIFY | NVERIFY => 3,
        GETATTR => 4,
        PUTROOTFH => 5,
        LOOKUP => 6,
        _ => 7,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(name: &str, operations: &[OpNumber]) -> &'static str {
        let mut label = CompoundLabel::new();
        operations.iter().for_each(|operation| label.push(*operation as u32));
        label.finish(name).procedure.name()
    }

    #[test]
    fn compound_is_about_the_operation_that_does_the_most() {
        use OpNumber::*;
        assert_eq!(name("SEQUENCE", &[Sequence]), "SEQUENCE");
        assert_eq!(name("READ", &[Sequence, Putfh, Read]), "READ");
        assert_eq!(name("GETATTR", &[Sequence, Putfh, Getattr]), "GETATTR");
        assert_eq!(name("FSINFO", &[Sequence, Putfh, Getattr]), "FSINFO");
        assert_eq!(name("LOOKUP", &[Sequence, Putfh, Lookup, Getfh, Getattr]), "LOOKUP");
        assert_eq!(name("PUTROOTFH", &[Sequence, Putrootfh, Getfh, Getattr]), "PUTROOTFH");
        assert_eq!(name("OPEN", &[Sequence, Putfh, Open, Getfh, Getattr]), "OPEN");
        assert_eq!(name("RENAME", &[Sequence, Putfh, Savefh, Putfh, Rename]), "RENAME");
        assert_eq!(name("RMDIR", &[Sequence, Putfh, Lookup, Verify, Putfh, Remove]), "RMDIR");
        assert_eq!(name("MKDIR", &[Sequence, Putfh, Create, Getfh, Getattr]), "MKDIR");
        assert_eq!(name("READDIRPLUS", &[Sequence, Putfh, Readdir]), "READDIRPLUS");
    }

    #[test]
    fn operations_past_the_limit_are_left_out() {
        let mut label = CompoundLabel::new();
        (0..100).for_each(|_| label.push(OpNumber::Getfh as u32));
        assert_eq!(label.finish("GETFH").operations().len(), Label::MAX_OPERATIONS);
    }
}
