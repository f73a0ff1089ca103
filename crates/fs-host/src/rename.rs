//! Moving names.

use vfs::{Context, Error, Place, Result};

use crate::failure::failed;
use crate::handles::NameAt;
use crate::host::HostFs;
use crate::node::CName;

impl HostFs {
    pub(crate) fn move_name(&self, cx: &Context<'_>, from: Place<'_>, to: Place<'_>) -> Result<()> {
        let from_dir = self.dir_to_change(cx, &from.dir)?;
        let to_dir = self.dir_to_change(cx, &to.dir)?;
        let (from_name, to_name) = (CName::new(from.name), CName::new(to.name));
        let from_site = NameAt { dir: &from.dir, node: &from_dir, name: from_name.as_c_str() };
        let to_site = NameAt { dir: &to.dir, node: &to_dir, name: to_name.as_c_str() };
        self.identity.own()?;
        let moved = self.find(cx, from_site)?;
        let victim = match self.with_room(cx, || self.victim(to_site)) {
            Ok(victim) => {
                victim.check_space(cx)?;
                Some(victim)
            }
            Err(Error::NoEntry) => None,
            Err(error) => return Err(error),
        };
        self.identity.assume(&cx.caller)?;
        rustix::fs::renameat(from_dir.fd(), from_site.name, to_dir.fd(), to_site.name).map_err(failed)?;
        if from.dir == to.dir {
            self.settle_dir(&to_dir)?
        } else if self.volume.rules.flushes_source_first {
            self.settle_dirs(&from_dir, &to_dir)?
        } else {
            self.settle_dirs(&to_dir, &from_dir)?
        }
        if let Some(stored) = self.handles.stored() {
            stored.moved(&moved.handle, to_site)?;
        }
        victim.map_or_else(|| self.keep_handles(), |victim| self.bury(victim))
    }
}
