//! The final state after all changes of the log.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use vfs::{Attributes, Handle};

use super::sizes::NewSizes;
use crate::record::{Change, KeptAttributes, Make, NamedFile, NodeKind, Record, RecordTime, Write};

/// A name in a directory, which is given by its outer handle.
pub(super) type OuterName = (Handle, Vec<u8>);

#[derive(Debug, Default)]
pub(super) struct Plan {
    /// The file of each changed name; `None`: no file.
    pub(super) names: BTreeMap<OuterName, Option<Handle>>,
    /// Every file that records speak of.
    pub(super) files: HashMap<Handle, Planned>,
    records: u64,
    /// The ends of cancelled records.
    cancelled: HashSet<u64>,
    /// Hashes of the names and files that records speak of together.
    namings: HashSet<u64>,
    hasher: RandomState,
}

/// A file of the plan.
#[derive(Debug, Default)]
pub(super) struct Planned {
    /// How it was created, if the log has that.
    pub(super) born: Option<Born>,
    /// Records of data and attributes before this position are already in storage.
    pub(super) synced_before: u64,
    kept: Option<Kept>,
    modified: Option<Modified>,
    pub(super) sizes: NewSizes,
    /// Storage has what was set before this ctime.
    stored_before: Option<RecordTime>,
    /// The end of the last write by another user than root, which clears set-id bits.
    written_by_others: u64,
    /// Whether a client has removed it or one of its names.
    pub(super) is_removed: bool,
}

/// The attributes in the end, but for the time of modification.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kept {
    pub(super) attributes: KeptAttributes,
    /// The file's ctime with them; the time of its birth if it was made with them.
    pub(super) at: RecordTime,
    /// The end of the record that they are from.
    end: u64,
}

/// The time of modification in the end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Modified {
    at: RecordTime,
    /// The file's ctime with it, or a later one.
    changed: RecordTime,
    /// The end of the record that it is from.
    end: u64,
    /// Whether it is a directory's, of a name that changed about then.
    is_of_names: bool,
}

impl Modified {
    /// The time to set for a file that has the time `now`, and had `before` before the replay if it is a directory. The
    /// replay may not have changed the directory, or others may have changed it later.
    pub(super) fn to_set(self, before: Option<RecordTime>, now: RecordTime) -> Option<RecordTime> {
        let before = before.filter(|_| self.is_of_names);
        let at = before.map_or(self.at, |before| self.at.max(before));
        (before != Some(now) && at != now).then_some(at)
    }
}

/// Attributes that storage may lack.
#[derive(Debug, Clone, Copy)]
pub(super) struct Missing {
    /// All but the time of modification.
    pub(super) kept: Option<Kept>,
    pub(super) modified: Option<Modified>,
}

impl Kept {
    /// Whether the mode has set-id bits that a write of another user than root clears.
    pub(super) fn gives_set_id(&self) -> bool {
        without_set_id(self.attributes.mode) != self.attributes.mode
    }
}

impl Missing {
    pub(super) fn is_empty(&self) -> bool {
        self.kept.is_none() && self.modified.is_none()
    }
}

#[derive(Debug, Clone)]
pub(super) struct Born {
    pub(super) node: NodeKind,
    pub(super) target: Vec<u8>,
    pub(super) fileid: u64,
    pub(super) at: RecordTime,
    /// The end of the record.
    pub(super) end: u64,
}

/// Set-user-id, and set-group-id of a file that its group may execute. Writes of users other than root clear them.
const SET_UID: u32 = 0o4000;
const SET_GID: u32 = 0o2000;
const GROUP_EXECUTES: u32 = 0o010;

/// A mode without the set-id bits that such a write clears.
pub(super) fn without_set_id(mode: u32) -> u32 {
    let set_gid = if mode & GROUP_EXECUTES == 0 { 0 } else { SET_GID };
    mode & !(SET_UID | set_gid)
}

impl Planned {
    /// The attributes that storage may lack. A flush of the file stores its attributes too, with changes that are not
    /// in the log, such as the time of an unstable write.
    pub(super) fn missing_attributes(&self, was_made_again: bool) -> Missing {
        let is_missing = |end: u64| was_made_again || end > self.synced_before;
        Missing {
            kept: self.kept.filter(|kept| is_missing(kept.end)),
            modified: self.modified.filter(|modified| is_missing(modified.end)),
        }
    }

    /// The ctime of the last change of content in the log, or a later one.
    pub(super) fn content_changed(&self) -> Option<RecordTime> {
        self.modified.map(|modified| modified.changed)
    }

    /// The time of modification in the end, if the log has one.
    pub(super) fn modified(&self) -> Option<RecordTime> {
        self.modified.map(|modified| modified.at)
    }

    fn keep(&mut self, kept: Kept) {
        self.kept = Some(kept);
        let at = kept.attributes.modified;
        self.modified = Some(Modified { at, changed: kept.at, end: kept.end, is_of_names: false });
    }

    /// The file had the attributes and the size that it was made with at this ctime.
    fn note_whole(&mut self, at: RecordTime) {
        self.sizes.set(at);
        let born = self.born.as_ref().map(|born| born.end);
        if let Some(kept) = self.kept.as_mut().filter(|kept| born == Some(kept.end)) {
            kept.at = at;
        }
        if let Some(modified) = self.modified.as_mut().filter(|modified| born == Some(modified.end)) {
            modified.changed = at;
        }
    }

    /// The file got another time of modification by a change of its content, of which the record ends here.
    fn modify(&mut self, at: RecordTime, end: u64, is_of_names: bool) {
        // A client may have set the time before the record was appended: that has a record, too.
        let earlier = [self.kept.map(|kept| kept.at), self.modified.map(|modified| modified.changed)];
        let changed = earlier.into_iter().flatten().fold(at, RecordTime::max);
        self.modified = Some(Modified { at, changed, end, is_of_names });
    }

    /// Storage had these attributes before the replay, and not by a change from after the loss. It has a file's
    /// attributes as they were at one moment, so that what was set before their ctime is there, or was changed since.
    pub(super) fn note_stored(&mut self, found: &Attributes) {
        let (before, is) = (RecordTime::from(found.changed), KeptAttributes::of(found));
        if let Some(kept) = self.kept.as_mut().filter(|kept| kept.at < before) {
            *kept = Kept { attributes: is, at: before, ..*kept };
            if self.written_by_others > kept.end {
                kept.attributes.mode = without_set_id(kept.attributes.mode);
            }
        }
        if let Some(modified) = self.modified.as_mut().filter(|modified| modified.changed < before) {
            modified.at = is.modified;
        }
        self.sizes.note_stored(before);
        self.stored_before = Some(before);
    }

    /// Whether storage has what was set at this time, or it was changed since.
    pub(super) fn has_stored(&self, at: RecordTime) -> bool {
        self.stored_before.is_some_and(|before| at < before)
    }

    /// Records of data and attributes before a position are in storage. Of flushes that overlapped, the one that began
    /// first may be recorded last.
    pub(super) fn synced(&mut self, before: u64) {
        self.synced_before = self.synced_before.max(before);
    }

    /// Takes over what another export's plan has of the same file, which then sets no attributes itself.
    pub(super) fn take_over(&mut self, other: &mut Planned) {
        self.synced(other.synced_before);
        self.sizes.take_over(&mut other.sizes);
        self.written_by_others = self.written_by_others.max(other.written_by_others);
        let kept_end = |kept: Option<Kept>| kept.map_or(0, |kept| kept.end);
        if let Some(kept) = other.kept.take().filter(|kept| kept.end > kept_end(self.kept)) {
            self.kept = Some(kept);
        }
        let end = |modified: Option<Modified>| modified.map_or(0, |modified| modified.end);
        if let Some(modified) = other.modified.take().filter(|modified| modified.end > end(self.modified)) {
            self.modified = Some(modified);
        }
        if self.written_by_others > kept_end(self.kept) {
            self.clear_set_id();
        }
    }

    fn clear_set_id(&mut self) {
        if let Some(Kept { attributes, .. }) = &mut self.kept {
            attributes.mode = without_set_id(attributes.mode);
        }
    }

    /// Whether a file with these attributes may be this one. A recreated file has another time of birth.
    pub(super) fn may_be(&self, attributes: &Attributes, was_made_again: bool) -> bool {
        let Some(born) = &self.born else { return true };
        let is_of_its_time =
            attributes.created.is_none_or(|at| born.at == RecordTime::default() || born.at == at.into());
        attributes.kind == born.node.kind() && (was_made_again || is_of_its_time)
    }
}

impl Plan {
    pub(super) fn records(&self) -> u64 {
        self.records
    }

    /// Notes a record that cancels another one. All of these come first.
    pub(super) fn note_cancelled(&mut self, record: &Record<'_>) {
        if let Change::Cancelled(end) = record.change {
            self.cancelled.insert(end);
        }
    }

    /// Whether the change whose record ends here was cancelled.
    pub(super) fn is_cancelled(&self, end: u64) -> bool {
        self.cancelled.contains(&end)
    }

    /// Adds the next record, which ends at this position.
    pub(super) fn add(&mut self, record: &Record<'_>, end: u64) {
        self.records += 1;
        if self.is_cancelled(end) {
            return;
        }
        let at = RecordTime::from_ns(record.at_ns);
        for dir in record.change.dirs() {
            let dir = self.file(dir);
            // Of changes at the same time, the earlier one may be recorded last.
            let earlier = dir.modified.filter(|modified| modified.is_of_names).map_or(at, |modified| modified.at);
            dir.modify(at.max(earlier), end, true);
        }
        match &record.change {
            Change::Write(write) => self.wrote(write, at, end),
            Change::Set(set) => {
                let file = self.file(set.file.0);
                file.sizes.set(at);
                file.keep(Kept { attributes: set.after, at, end });
            }
            Change::Whole(file) => self.file(file.0).note_whole(at),
            Change::Make(make) => self.made(make, record.payload, end),
            Change::Link(named) => self.named(named),
            Change::Remove(named) => {
                self.unnamed(named);
                self.file(named.file.0).is_removed = true;
            }
            Change::Move(moved) => {
                self.unnamed(&moved.from);
                let (dir, name) = (moved.to_dir, moved.to_name);
                if !moved.replaced.is_none() {
                    self.unnamed(&NamedFile { dir, name, file: moved.replaced });
                    self.file(moved.replaced.0).is_removed = true;
                }
                self.named(&NamedFile { dir, name, file: moved.from.file });
            }
            Change::SetXattr(xattr) | Change::RemoveXattr(xattr) => drop(self.file(xattr.file.0)),
            Change::SetAcls(file) => drop(self.file(file.0)),
            Change::Synced(synced) => self.file(synced.file.0).synced(synced.before.min(end)),
            Change::Resize(resize) => self.file(resize.file.0).sizes.announce(resize.size_bytes, end),
            Change::Cancelled(_) => {}
        }
    }

    /// The final names of each file, as far as they changed.
    pub(super) fn spots_of(&self) -> HashMap<Handle, Vec<OuterName>> {
        let mut spots: HashMap<Handle, Vec<OuterName>> = HashMap::new();
        for (outer_name, file) in &self.names {
            if let Some(file) = file {
                spots.entry(*file).or_default().push(outer_name.clone());
            }
        }
        spots
    }

    /// A file of the plan.
    pub(super) fn planned(&mut self, file: &Handle) -> &mut Planned {
        self.file(*file)
    }

    fn file(&mut self, file: Handle) -> &mut Planned {
        self.files.entry(file).or_default()
    }

    fn made(&mut self, make: &Make<'_>, target: &[u8], end: u64) {
        self.named(&make.named);
        let file = self.file(make.named.file.0);
        file.born = Some(Born { node: make.node, target: target.to_vec(), fileid: make.fileid, at: make.born, end });
        if let NodeKind::RegularOfSize(size_bytes) = make.node {
            file.sizes.announce(size_bytes, end);
        }
        // Another client may have set attributes of the new file before this record was appended.
        if file.kept.is_none() {
            let modified = file.modified;
            file.keep(Kept { attributes: make.after, at: make.born, end });
            file.modified = modified.or(file.modified);
        }
    }

    fn named(&mut self, named: &NamedFile<'_>) {
        self.file(named.dir.0);
        self.file(named.file.0);
        let outer_name = (named.dir.0, named.name.to_vec());
        self.namings.insert(self.naming(&outer_name, &named.file.0));
        self.names.insert(outer_name, Some(named.file.0));
    }

    fn naming(&self, outer_name: &OuterName, file: &Handle) -> u64 {
        self.hasher.hash_one((outer_name, file))
    }

    /// Whether the file may have the name by changes of the log, or as it was before them. Else another program has
    /// given it the name.
    pub(super) fn may_be_named(&self, outer_name: &OuterName, file: &Handle) -> bool {
        self.namings.contains(&self.naming(outer_name, file))
    }

    fn unnamed(&mut self, named: &NamedFile<'_>) {
        self.named(named);
        self.names.insert((named.dir.0, named.name.to_vec()), None);
    }

    fn wrote(&mut self, write: &Write, at: RecordTime, end: u64) {
        let file = self.file(write.file.0);
        file.modify(at, end, false);
        if !write.by_root {
            file.written_by_others = end;
            file.clear_set_id();
        }
    }
}

#[cfg(test)]
mod tests {
    use vfs::{FileKind, Timestamp};

    use super::*;
    use crate::record::{FileId, Set, Synced};

    fn file(number: u64) -> FileId {
        FileId(Handle::from_u64(number))
    }

    fn with_mode(mode: u32) -> KeptAttributes {
        let time = RecordTime::default();
        KeptAttributes { mode, uid: 0, gid: 0, accessed: time, modified: time }
    }

    /// The plan of records that end at 10, 20 and so on.
    fn plan(changes: &[Change<'_>]) -> Plan {
        let mut plan = Plan::default();
        for (change, end) in changes.iter().zip((10..).step_by(10)) {
            plan.add(&Record { export: 0, at_ns: 0, ticket: &[], change: *change, payload: &[] }, end);
        }
        plan
    }

    fn set(mode: u32) -> Change<'static> {
        Change::Set(Set { file: file(1), after: with_mode(mode) })
    }

    /// What storage has of a file with this mode and ctime.
    fn found(mode: u32, changed_ns: u32) -> Attributes {
        let changed = Timestamp { seconds: 0, nanoseconds: changed_ns };
        Attributes { mode, changed, ..Attributes::new(FileKind::Regular, 1) }
    }

    fn synced(before: u64) -> Change<'static> {
        Change::Synced(Synced { file: file(1), before })
    }

    fn mode(plan: &Plan, was_made_again: bool) -> Option<u32> {
        plan.files[&file(1).0].missing_attributes(was_made_again).kept.map(|kept| kept.attributes.mode)
    }

    #[test]
    fn attributes_that_were_set_before_the_file_was_recorded_as_made_are_kept() {
        let named = NamedFile { dir: file(2), name: b"new", file: file(1) };
        let (node, born) = (NodeKind::Regular, RecordTime::default());
        let make = Make { named, node, fileid: 1, born, after: with_mode(0o644) };
        assert_eq!(mode(&plan(&[set(0o600), Change::Make(make)]), true), Some(0o600));
    }

    #[test]
    fn new_file_that_storage_has_from_before_it_got_its_attributes_gets_them() {
        let named = NamedFile { dir: file(2), name: b"new", file: file(1) };
        let (node, born) = (NodeKind::RegularOfSize(7), RecordTime::from_ns(100));
        let make = Change::Make(Make { named, node, fileid: 1, born, after: with_mode(0o600) });
        let mode_if_stored_at = |changed_ns: u32| {
            let mut plan = plan(&[make]);
            let whole = Record { export: 0, at_ns: 200, ticket: &[], change: Change::Whole(file(1)), payload: &[] };
            plan.add(&whole, 20);
            plan.planned(&file(1).0).note_stored(&found(0o644, changed_ns));
            (mode(&plan, false), plan.files[&file(1).0].sizes.is_stored(10))
        };
        assert_eq!(mode_if_stored_at(150), (Some(0o600), false));
        assert_eq!(mode_if_stored_at(250), (Some(0o644), true));
    }

    #[test]
    fn set_id_bits_that_a_program_has_set_do_not_outlive_a_later_write_of_another_user() {
        let write = Change::Write(Write { file: file(1), offset_bytes: 0, by_root: false });
        let mut plan = plan(&[set(0o600), write]);
        plan.planned(&file(1).0).note_stored(&found(0o4755, 10));
        assert_eq!(mode(&plan, false), Some(0o755));
    }

    #[test]
    fn attributes_before_a_flush_of_the_file_are_in_storage() {
        let plan = plan(&[set(0o4755), synced(10)]);
        assert_eq!((mode(&plan, false), mode(&plan, true)), (None, Some(0o4755)));
    }

    #[test]
    fn write_after_a_flush_brings_back_its_time_and_no_attributes_from_before() {
        let write = |by_root| Change::Write(Write { file: file(1), offset_bytes: 0, by_root });
        let plan = plan(&[set(0o4755), synced(10), write(true), write(false)]);
        let missing = plan.files[&file(1).0].missing_attributes(false);
        assert!(missing.kept.is_none() && missing.modified.is_some(), "{missing:?}");
        assert_eq!(mode(&plan, true), Some(0o755));
    }

    #[test]
    fn attributes_after_a_flush_of_the_file_are_set_again() {
        assert_eq!(mode(&plan(&[set(0o4755), synced(10), set(0o600)]), false), Some(0o600));
        assert_eq!(mode(&plan(&[set(0o4755), set(0o600), synced(10)]), false), Some(0o600));
        assert_eq!(mode(&plan(&[set(0o4755), set(0o600), synced(20), synced(10)]), false), None);
    }
}
