//! An overlay has no handles that open anything, and makes another file of one that is first changed.

use std::ffi::CString;
use std::fs::File;

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use vfs::{CreateMode, Error, FileSystem, OpenMode, SetAttributes, Stability};
use wharf_fs_host::{HandleForm, HostFs, HostOptions, OpenError};

use testing::disks::{DiskKind, LoopDisk};
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
fn log_in_front_of_an_overlay_is_refused() {
    with_overlay(|export| {
        let options = HostOptions { is_behind_log: true, sync_metadata: false, ..export.options(HandleForm::Auto) };
        let errors = [
            HostFs::examine(&export.path(), &options).unwrap_err(),
            HostFs::open(&export.path(), options).map(drop).unwrap_err(),
        ];
        for error in errors {
            assert!(
                matches!(error, OpenError::HidesErrors { ref file_system, .. } if file_system == "overlay"),
                "{error}"
            );
        }
    });
}

/// An overlay on a disk that fails: its files have no pages of their own.
#[test]
fn commit_on_an_overlay_fails_when_a_local_process_got_the_error() {
    let Some(disk) = LoopDisk::new(DiskKind::EXT4) else { return };
    let layer = |name: &str| disk.dir().join(name);
    ["lower", "upper", "work"].iter().for_each(|name| std::fs::create_dir(layer(name)).unwrap());
    let export = disk.beside("export");
    let [lower, upper, work] = ["lower", "upper", "work"].map(|name| layer(name).display().to_string());
    let data = CString::new(format!("lowerdir={lower},upperdir={upper},workdir={work}")).unwrap();
    if let Err(error) = mount("overlay", &export, "overlay", MountFlags::empty(), Some(data.as_c_str())) {
        eprintln!("skipped: cannot mount an overlay here: {error}");
        return;
    }
    let options = HostOptions { state_dir: Some(disk.beside("state")), workers: 2, ..HostOptions::default() };
    let fs = HostFs::open(&export, options).unwrap();
    let file = touch(&fs, "file").handle;
    disk.fail_new_blocks();
    let data = [7; 64 << 10];
    fs.open(&CX, &file, OpenMode::Write).unwrap().write_at(&CX, 0, &data, Stability::Unstable).unwrap();
    // That writes everything back, and reports the error of the file system, not that of the file.
    let _ = rustix::fs::syncfs(File::open(disk.dir()).unwrap());
    assert!(File::open(layer("upper/file")).unwrap().sync_all().is_err());
    disk.repair();
    assert!(fs.open(&CX, &file, OpenMode::Write).unwrap().sync(&CX).is_err());
    drop(fs);
    unmount(&export, UnmountFlags::empty()).unwrap();
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
