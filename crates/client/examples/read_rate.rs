//! Reads or writes blocks of one file at random with many calls in flight, and tells how many there were in a second
//! and what each cost this process, which `crates/client/benches/libnfs/rate.toml` compares with libnfs: `cargo run
//! --release -p wharf-client --example read_rate -- nfs://localhost/export/file [depth] [block] [milliseconds]
//! [read|write]`.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use client::{Follow, Mount, Options, Url};
use vfs::Stability;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let url: Url = arguments.next().ok_or("a URL is wanted")?.parse()?;
    let mut number = |default: u64| arguments.next().map_or(Ok(default), |text| text.parse());
    let (depth, block, milliseconds) = (number(64)?, number(4096)?, number(3000)?);
    let is_writing = arguments.next().is_some_and(|word| word == "write");
    let mount = Mount::connect(&url, &Options::default()).await?;
    let file = mount.walk(mount.path_below(), Follow::Links).await?;
    let blocks = (file.attributes.size_bytes / block).max(1);
    let (start, done) = (Instant::now(), Rc::new(Cell::new(0u64)));
    let end = start + Duration::from_millis(milliseconds);
    let tasks = tokio::task::LocalSet::new();
    for reader in 0..depth {
        let (mount, done) = (mount.clone(), Rc::clone(&done));
        tasks.spawn_local(async move {
            let (mut buffer, mut place) = (vec![0; block as usize], reader + 1);
            let data = Bytes::from(buffer.clone());
            while Instant::now() < end {
                place = place.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let offset = (place >> 33) % blocks * block;
                let result = match is_writing {
                    true => mount.write(&file.handle, offset, data.clone(), Stability::Unstable).await.map(drop),
                    false => mount.read_into(&file.handle, offset, &mut buffer).await.map(drop),
                };
                match result {
                    Ok(()) => done.set(done.get() + 1),
                    Err(error) => return eprintln!("{error}"),
                }
            }
        });
    }
    tasks.await;
    let rate = done.get() as f64 / start.elapsed().as_secs_f64();
    // The first number is the time that this thread, which is all there is, was on a processor (proc(5)).
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let cpu_ns: f64 = schedstat.split(' ').next().unwrap_or_default().parse()?;
    println!("ops/s={rate:.0} cpu_us/op={:.3}", cpu_ns / 1000.0 / done.get() as f64);
    Ok(())
}
