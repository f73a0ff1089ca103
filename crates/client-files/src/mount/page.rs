//! Pages of directories, from the server and from the cache of listings.

use std::sync::atomic::Ordering;

use client_calls::{DirPosition, Page};
use tokio::time::Instant;

use super::Mount;
use crate::cache::{DirVersion, KeptPart, NameAt, Part, Question};
use crate::{Detail, DirEntry, Entry, Handle, Result, Rights, Status};

impl Mount {
    /// A page of a directory with the requested detail, from the cache while the directory is unchanged.
    pub(crate) async fn page(&self, dir: &Handle, from: DirPosition, detail: Detail) -> Result<Page> {
        self.page_asking(dir, from, detail, detail).await
    }

    /// Like [`Mount::page`], but requests another detail from the server.
    #[doc(hidden)]
    pub async fn page_asking(&self, dir: &Handle, from: DirPosition, detail: Detail, asked: Detail) -> Result<Page> {
        self.judge(dir, |rights| rights.contains(Rights::READ)).await?;
        let version = DirVersion::of(&self.attributes(dir).await?);
        let part = Part { dir, version, from, detail };
        let recorder = &self.0.cache_recorder;
        if from == DirPosition::default() {
            recorder.directory_entries.look(self.caches().directories.is_whole(Instant::now(), part));
        }
        let known = self.kept_page(part);
        recorder.directory_blocks.look(known.is_some());
        match known {
            Some(page) => Ok(page),
            None => {
                let question = Question::Page { dir: *dir, from, detail: asked };
                let part = Part { detail: asked, ..part };
                self.caches().questions.ask(question, self.ask_and_keep(part), || self.kept_page(part).map(Ok)).await
            }
        }
    }

    fn kept_page(&self, part: Part<'_>) -> Option<Page> {
        let kept = self.caches().directories.look(Instant::now(), part)?;
        self.with_attributes(&kept, part.detail)
    }

    async fn ask_and_keep(&self, part: Part<'_>) -> Result<Page> {
        let asked = self.ask();
        let mut page = self.ask_page(part.dir, part.from, part.detail).await?;
        if part.detail == Detail::Entries {
            self.complete(part.dir, &mut page.entries).await?;
        }
        self.caches().directories.learn(asked, part, &page);
        for entry in &page.entries {
            if let Some(file) = &entry.entry {
                let place = NameAt { dir: part.dir, name: &entry.name };
                self.caches().names.learn(asked, place, part.version, Some(file.handle));
            }
        }
        Ok(page)
    }

    /// A cached page in the form of a reply, or `None` if requested attributes have expired.
    fn with_attributes(&self, kept: &KeptPart, detail: Detail) -> Option<Page> {
        let page = &kept.page;
        let entry = |file: &Handle| {
            let attributes = self.caches().attributes.get(Instant::now(), file)?;
            Some(Entry { handle: *file, attributes })
        };
        let mut entries = Vec::with_capacity(page.entries.len() - kept.skipped);
        for known in &page.entries[kept.skipped..] {
            let found = known.file.as_ref().filter(|_| detail == Detail::Entries).map(entry);
            if found == Some(None) {
                return None;
            }
            let (name, entry) = (known.name.clone(), found.flatten());
            entries.push(DirEntry::new(name, known.fileid, known.cookie, entry));
        }
        Some(Page { entries, next: page.next, is_last: page.is_last })
    }

    /// A page of a directory from the server. Takes in the attributes of its entries.
    pub(crate) async fn ask_page(&self, dir: &Handle, from: DirPosition, detail: Detail) -> Result<Page> {
        let asked = self.ask();
        let page = self.ask_with(dir, from, detail).await?;
        for entry in page.entries.iter().filter_map(|entry| entry.entry.as_ref()) {
            self.learn(asked, &entry.handle, &entry.attributes);
        }
        Ok(page)
    }

    async fn ask_with(&self, dir: &Handle, from: DirPosition, detail: Detail) -> Result<Page> {
        if detail == Detail::Entries && self.has_readdirplus() {
            match self.readdirplus(dir, from).await {
                // A server may lack it (RFC 1813 §3.3.17): READDIR and LOOKUP replace it.
                Err(error) if error.status() == Some(Status::NotSupported) => {
                    self.0.has_readdirplus.store(false, Ordering::Relaxed);
                }
                other => return other,
            }
        }
        self.readdir(dir, from).await
    }

    /// Lists a directory that had that version, so that names that it lacks need no call. More than one page would cost
    /// more than it saves. Errors are left to the calls that follow.
    pub(super) async fn learn_all_names(&self, dir: &Handle, version: DirVersion) {
        // Where case does not matter, a name that is not listed may lead to a file all the same.
        let is_exact = self.pathconf(dir).await.is_ok_and(|limits| !limits.case_insensitive);
        if !is_exact {
            return;
        }
        let asked = self.ask();
        if let Ok(page) = self.ask_page(dir, DirPosition::default(), Detail::Names).await
            && page.is_last
        {
            let listed = page.entries.iter().map(|entry| &*entry.name);
            self.caches().names.learn_all(asked, dir, version, listed);
        }
    }

    /// Looks up the entries that lack attributes in a reply. A file that is gone meanwhile stays without.
    pub(crate) async fn complete(&self, dir: &Handle, entries: &mut [DirEntry]) -> Result<()> {
        for entry in entries.iter_mut().filter(|entry| entry.entry.is_none()) {
            match self.lookup(dir, &entry.name).await {
                Ok(found) => entry.entry = Some(found),
                Err(error)
                    if matches!(error.status(), Some(Status::NoEntry | Status::Stale | Status::AccessDenied)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
