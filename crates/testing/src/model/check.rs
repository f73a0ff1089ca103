//! Compares a file system with the model.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use vfs::{Detail, DirEntry, FileKind, FileSystem, Handle, OpenMode, ReadDir, XattrName};

use super::change::{CX, NOTE, place, unknown};
use super::{File, Model, Part};

/// Why the file system is not as the model says, if it is not.
pub fn check(fs: &dyn FileSystem, model: &Model) -> Option<String> {
    if let Some(handle) = model.gone.iter().find(|gone| fs.attributes(&CX, gone).is_ok()) {
        return Some(format!("{handle:?} is gone, and reaches a file"));
    }
    for (handle, file) in &model.files {
        let handle = if *handle == unknown() { find_unknown(fs, model)? } else { *handle };
        if let Some(wrong) = check_file(fs, model, &handle, file) {
            return Some(format!("{handle:?}: {wrong}"));
        }
    }
    if let Some(wrong) = model.part.as_ref().and_then(|part| part.content.differs_from(&content_of_part(fs, part))) {
        return Some(format!("shared file: {wrong}"));
    }
    for (spot, handle) in model.names.iter().filter(|(_, handle)| **handle != unknown()) {
        match fs.lookup(&CX, place(spot)) {
            Ok(entry) if entry.handle == *handle => {}
            other => return Some(format!("{spot:?} is {other:?}, not {handle:?}")),
        }
    }
    None
}

fn find_unknown(fs: &dyn FileSystem, model: &Model) -> Option<Handle> {
    let (spot, _) = model.names.iter().find(|(_, handle)| **handle == unknown())?;
    fs.lookup(&CX, place(spot)).ok().map(|entry| entry.handle).or_else(|| Handle::new(b"missing"))
}

fn check_file(fs: &dyn FileSystem, model: &Model, handle: &Handle, file: &File) -> Option<String> {
    let attributes = match fs.attributes(&CX, handle) {
        Ok(attributes) => attributes,
        Err(error) => return Some(error.to_string()),
    };
    let is_link = file.kind == FileKind::Symlink;
    if attributes.kind != file.kind || !is_link && attributes.mode != file.mode {
        return Some(format!("{:?} {:o}, not {:?} {:o}", attributes.kind, attributes.mode, file.kind, file.mode));
    }
    match file.kind {
        FileKind::Regular => file.differs_from(&content(fs, handle)).or_else(|| check_note(fs, handle, file)),
        FileKind::Symlink => (fs.read_link(&CX, handle).unwrap() != file.target).then(|| "another target".to_owned()),
        _ => {
            let expected: BTreeSet<_> =
                model.names.keys().filter(|(dir, _)| dir == handle).map(|(_, name)| name.clone()).collect();
            let found = names(fs, handle);
            (found != expected).then(|| format!("names {found:?}, not {expected:?}"))
        }
    }
}

fn check_note(fs: &dyn FileSystem, handle: &Handle, file: &File) -> Option<String> {
    let found = file.note.as_ref().map(|_| fs.get_xattr(&CX, handle, XattrName::new(NOTE).unwrap()).unwrap());
    (found.as_ref() != file.note.as_ref().map(|note| Some(note.clone())).as_ref())
        .then(|| format!("note {found:?}, not {:?}", file.note))
}

fn content(fs: &dyn FileSystem, handle: &Handle) -> Vec<u8> {
    let file = fs.open(&CX, handle, OpenMode::Read).unwrap();
    let mut bytes = vec![0; file.attributes(&CX).unwrap().size_bytes as usize];
    let count = file.read_at(&CX, 0, &mut bytes).unwrap();
    bytes.truncate(count);
    bytes
}

fn content_of_part(fs: &dyn FileSystem, part: &Part) -> Vec<u8> {
    let all = content(fs, &part.file);
    let end = (part.start + part.content.data.len()).min(all.len());
    all.get(part.start..end).unwrap_or_default().to_vec()
}

/// The names in a directory.
pub fn names(fs: &dyn FileSystem, dir: &Handle) -> BTreeSet<Vec<u8>> {
    let mut names = BTreeSet::new();
    let mut each = |entry: DirEntry<'_>| {
        assert!(names.insert(entry.name.to_vec()), "a name is listed twice");
        ControlFlow::Continue(())
    };
    fs.read_dir(&CX, ReadDir { dir, after: 0, detail: Detail::Names }, &mut each).unwrap();
    names
}

/// The model of what is there now: what was not sure has been decided.
pub fn settle(fs: &dyn FileSystem, mut model: Model) -> Model {
    if let Some(handle) = find_unknown(fs, &model) {
        let spot = model.names.iter().find(|(_, handle)| **handle == unknown()).map(|(spot, _)| spot.clone()).unwrap();
        let file = model.files.remove(&unknown()).unwrap();
        model.files.insert(handle, file);
        model.names.insert(spot, handle);
    }
    for (handle, file) in model.files.iter_mut().filter(|(_, file)| file.kind == FileKind::Regular) {
        file.settle(content(fs, handle));
    }
    if let Some(part) = &mut model.part {
        part.content.settle(content_of_part(fs, part));
    }
    model
}
