//! An overlay has no handles that open anything, and makes another file of one that is first changed.

use std::ffi::CString;

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use vfs::{CreateMode, Error, FileSystem, SetAttributes};
use wharf_fs_host::HandleForm;

use testing::host_export::*;

/// Runs `test` on an export that is an overlay with one file, `low`, in its lower layer.
fn with_overlay(test: impl FnOnce(&Export)) {
    let export = Export::in_memory();
    let layer = |name: &str| export.outside().join(name);
    ["lower", "upper", "work"].iter().for_each(|name| std::fs::create_dir(layer(name)).unwrap());
    std::fs::write(layer("lower").join("low"), "from below").unwrap();
    let [lower, upper, work] = ["lower", "upper", "work"].map(|name| layer(name).display().to_string());
    let data = CString::new(format!("lowerdir={lower},upperdir={upper},workdir={work}")).unwrap();
    if let Err(error) = mount("overlay", export.path(), "overlay", MountFlags::empty(), Some(data.as_c_str())) {
        eprintln!("skipped: cannot mount an overlay here: {error}");
        return;
    }
    test(&export);
    unmount(export.path(), UnmountFlags::DETACH).unwrap();
}

#[test]
fn handle_survives_the_first_change_of_a_file_of_a_lower_layer() {
    with_overlay(|export| {
        let fs = export.open(HandleForm::Auto);
        let file = fs.lookup(&CX, at(&fs.root(), "low")).unwrap().handle;
        assert_eq!(read(&fs, &file), b"from below");
        write(&fs, &file, b"changed");
        drop(fs);
        let fs = export.open(HandleForm::Auto);
        assert_eq!(read(&fs, &file), b"changedlow");
        assert_eq!(fs.lookup(&CX, at(&fs.root(), "low")).unwrap().handle, file);
        fs.rename(&CX, at(&fs.root(), "low"), at(&fs.root(), "high")).unwrap();
        drop(fs);
        let fs = export.open(HandleForm::Auto);
        assert_eq!(read(&fs, &file), b"changedlow");
    });
}

#[test]
fn each_kind_of_first_change_keeps_the_handle() {
    with_overlay(|export| {
        let file = {
            let fs = export.open(HandleForm::Auto);
            let file = fs.lookup(&CX, at(&fs.root(), "low")).unwrap().handle;
            let set = SetAttributes { mode: Some(0o600), ..SetAttributes::default() };
            fs.set_attributes(&CX, &file, &set).unwrap();
            file
        };
        assert_eq!(export.open(HandleForm::Auto).attributes(&CX, &file).unwrap().mode, 0o600);
    });
    with_overlay(|export| {
        let file = {
            let fs = export.open(HandleForm::Auto);
            let file = fs.lookup(&CX, at(&fs.root(), "low")).unwrap().handle;
            fs.rename(&CX, at(&fs.root(), "low"), at(&fs.root(), "renamed")).unwrap();
            assert!(fs.attributes(&CX, &file).is_ok());
            file
        };
        assert_eq!(read(&export.open(HandleForm::Auto), &file), b"from below");
    });
}

#[test]
fn file_of_an_overlay_that_was_replaced_is_stale() {
    with_overlay(|export| {
        let file = touch(&export.open(HandleForm::Auto), "f").handle;
        std::fs::remove_file(export.path().join("f")).unwrap();
        std::fs::write(export.path().join("f"), "other").unwrap();
        assert!(matches!(export.open(HandleForm::Auto).attributes(&CX, &file), Err(Error::Stale)));
    });
}

#[test]
fn exclusive_create_that_is_sent_again_finds_its_file() {
    with_overlay(|export| {
        let create = |set| {
            let fs = export.open(HandleForm::Auto);
            fs.create(&CX, at(&fs.root(), "new"), CreateMode::Exclusive(*b"verifier"), &set).unwrap().handle
        };
        let made = create(mode(0o600));
        assert_eq!(create(mode(0o600)), made);
        let fs = export.open(HandleForm::Auto);
        write(&fs, &made, b"bytes");
        assert_eq!(fs.lookup(&CX, at(&fs.root(), "new")).unwrap().handle, made);
        assert_eq!(std::fs::read(export.path().join("new")).unwrap(), b"bytes");
    });
}
