use std::ops::Range;
use std::path::Path;

use crate::{ConfigError, Origin, Position, Reason};

/// The text to which the offsets refer.
pub(super) struct FileText<'a> {
    pub(super) text: &'a str,
    pub(super) path: &'a Path,
}

impl FileText<'_> {
    /// The origin of what is at `span`.
    pub(super) fn origin(&self, span: Range<usize>) -> Origin {
        Origin::file(self.path, Position::of_offset(self.text, span.start))
    }

    /// Makes mistakes at `span`.
    pub(super) fn bad<R: Into<Reason>>(&self, span: Range<usize>) -> impl Fn(R) -> ConfigError {
        move |reason| ConfigError::at(self.origin(span.clone()), reason)
    }

    /// The mistake that the parser found.
    pub(super) fn syntax(&self, error: &toml::de::Error) -> ConfigError {
        let span = error.span().unwrap_or(0..0);
        self.bad(span)(Reason::Toml(error.message().trim_end().replace('\n', "; ")))
    }
}
