//! Changes of names that a slow server makes after their callers have gone, and after the client has looked at the
//! names again.

use std::sync::Arc;
use std::time::Duration;

use client::Dir;
use fs_fault::{Fault, FaultFs, FaultPlan, Operation, Rule};
use fs_mem::{MemFs, MemOptions};

use crate::dropped::{is_there, mount};
use crate::real::{Export, VERSIONS, until};

/// How long the server takes, and how long somebody waits for it.
const DELAY: Duration = Duration::from_millis(600);
const SHORT: Duration = Duration::from_millis(150);

async fn is_known(dir: &Dir, name: &str) -> bool {
    dir.symlink_metadata(name).await.is_ok()
}

#[tokio::test]
async fn change_that_is_made_after_its_caller_went_is_known_when_it_is_made() {
    let (memory, plan) = (MemFs::new(MemOptions { root_mode: 0o755, ..MemOptions::default() }), FaultPlan::default());
    let export = Export::of(Arc::new(FaultFs::new(Arc::new(memory), plan.clone())));
    for version in VERSIONS {
        // What was known when it looked last is valid for a day.
        let (mine, yours) = (mount(&export, version).await, export.mount(version).await);
        let (root, told) = (mine.root_dir(), yours.root_dir());
        for (what, operation) in
            [("make", Operation::MakeNode), ("move", Operation::Rename), ("remove", Operation::RemoveDir)]
        {
            let (name, other) = (format!("{what}-{version}"), format!("{what}-{version}-other"));
            if what != "make" {
                root.create_dir(&name, 0o755).await.unwrap();
            }
            assert_eq!((is_there(&root, &name).await, is_there(&root, &other).await), (what != "make", false));
            plan.replace(vec![Rule::new(operation, Fault::Delay(DELAY))]);
            let going = async {
                match what {
                    "make" => drop(root.create_dir(&name, 0o755).await),
                    "move" => drop(root.rename(&name, &root, &other).await),
                    _ => drop(root.remove_dir(&name).await),
                }
            };
            let _ = tokio::time::timeout(SHORT, going).await;
            // Revalidated, and valid for as long as no reply says otherwise.
            let _ = (is_known(&root, &name).await, is_known(&root, &other).await);
            until("the server makes the change", async || {
                let now = yours.lookup(told.handle(), name.as_bytes()).await.is_ok();
                now == (what == "make")
            })
            .await;
            until("the change is known", async || {
                let now = (is_known(&root, &name).await, is_known(&root, &other).await);
                now == (what == "make", what == "move")
            })
            .await;
            plan.replace(Vec::<Rule>::new());
        }
    }
}
