//! A connection to a server that is gone, slow, or sends what no server may. Time is the runtime's, and stands still
//! while anybody has something to do.

use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use client::core::Failure;
use client::{Connection, Options, Reason, Transport, Tunnel};
use proto::nfs3::Null;
use rpc::Xid;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::net::UdpSocket;
use tokio::time::Instant;

use crate::fake::{self, Answer, record, reply_message};
use crate::journal::Journal;

const NOWHERE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 9);

/// Options whose streams are served by `serve`, which is told how many there were before.
fn through<F: Future<Output = ()> + Send + 'static>(
    serve: impl Fn(u32, DuplexStream) -> F + Send + Sync + 'static,
) -> Options {
    let count = AtomicU32::new(0);
    let tunnel = Tunnel::new(move |_| {
        let (here, there) = tokio::io::duplex(1 << 16);
        tokio::spawn(serve(count.fetch_add(1, Ordering::Relaxed), there));
        std::future::ready(Ok(here))
    });
    Options { tunnel: Some(tunnel), ..fake::options() }
}

async fn connect(options: &Options) -> Connection {
    Connection::connect(NOWHERE, "liar", options).await.unwrap()
}

async fn next_xid(stream: &mut DuplexStream) -> Option<Xid> {
    let length = stream.read_u32().await.ok()? & 0x7fff_ffff;
    let mut message = vec![0; length as usize];
    stream.read_exact(&mut message).await.ok()?;
    Some(fake::read_question(&message).xid)
}

fn null_reply(xid: Xid) -> Vec<u8> {
    record(&reply_message(xid, &Answer::Results(Vec::new())).unwrap())
}

async fn answer_all(mut stream: DuplexStream) {
    while let Some(xid) = next_xid(&mut stream).await {
        let _ = stream.write_all(&null_reply(xid)).await;
    }
}

async fn hold(mut stream: DuplexStream) {
    while next_xid(&mut stream).await.is_some() {}
}

async fn failure(connection: &Connection) -> Failure {
    let error = connection.call::<Null>(&()).await.unwrap_err();
    let Reason::NoReply(failure) = error.reason() else { panic!("{error}") };
    *failure
}

#[tokio::test(start_paused = true)]
async fn bytes_that_are_no_records_end_the_call_and_the_next_stream_is_a_new_chance() {
    let endless_fragments = [0, 0, 0, 1, b'x'].repeat(5000);
    let empty_fragments = vec![0; 64 * 1024];
    for bytes in [vec![0xff; 4], vec![0x7f, 0xff, 0xff, 0xff], endless_fragments, empty_fragments] {
        let options = through(move |count, mut stream| {
            let bytes = bytes.clone();
            async move {
                if count == 0 && next_xid(&mut stream).await.is_some() {
                    let _ = stream.write_all(&bytes).await;
                }
                answer_all(stream).await;
            }
        });
        let connection = connect(&options).await;
        assert!(matches!(failure(&connection).await, Failure::BrokenStream(_)));
        connection.call::<Null>(&()).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn replies_that_nobody_asked_for_and_messages_that_are_none_are_counted_and_pass_by() {
    let options = through(|_, mut stream| async move {
        while let Some(xid) = next_xid(&mut stream).await {
            for other in 1..1000 {
                let _ = stream.write_all(&null_reply(Xid(xid.0.wrapping_add(other)))).await;
            }
            for text in [&b""[..], b"\0", b"\0\0\0\0\0\0\0\x02", &xid.0.to_be_bytes()] {
                let _ = stream.write_all(&record(text)).await;
            }
            let _ = stream.write_all(&null_reply(xid)).await;
        }
    });
    let connection = connect(&options).await;
    connection.call::<Null>(&()).await.unwrap();
    assert_eq!((connection.counters().unexpected, connection.counters().invalid), (999, 4));
}

#[tokio::test(start_paused = true)]
async fn call_outlives_streams_that_end_after_any_number_of_bytes() {
    let length = null_reply(Xid(0)).len() as u32;
    let xids: Arc<Mutex<Vec<Xid>>> = Arc::default();
    let seen = Arc::clone(&xids);
    let options = through(move |count, mut stream| {
        let seen = Arc::clone(&seen);
        async move {
            let Some(xid) = next_xid(&mut stream).await else { return };
            seen.lock().unwrap().push(xid);
            let _ = stream.write_all(&null_reply(xid)[..count.min(length) as usize]).await;
        }
    });
    let connection = connect(&Options { is_hard: true, ..options }).await;
    connection.call::<Null>(&()).await.unwrap();
    let xids = xids.lock().unwrap();
    assert_eq!(xids.len() as u32, length + 1);
    assert!(xids.iter().all(|xid| *xid == xids[0]), "one call has one xid");
}

#[tokio::test(start_paused = true)]
async fn soft_call_over_a_stream_fails_when_its_stated_time_is_over() {
    let options = through(|_, stream| hold(stream));
    let options = Options { timeout: Some(Duration::from_secs(3)), retransmissions: Some(2), ..options };
    let (connection, began) = (connect(&options).await, Instant::now());
    let Failure::TimedOut { sends, .. } = failure(&connection).await else { panic!("another failure") };
    assert_eq!((sends, began.elapsed().as_secs(), options.patience()), (3, 3 + 6 + 9, Some(began.elapsed())));
}

#[tokio::test]
async fn soft_call_over_datagrams_fails_when_its_stated_time_is_over() {
    let silent = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let options = Options { transport: Transport::Udp, ..fake::options() };
    let connection = Connection::connect(silent.local_addr().unwrap(), "silent", &options).await.unwrap();
    tokio::time::pause();
    let began = Instant::now();
    let Failure::TimedOut { sends, .. } = failure(&connection).await else { panic!("another failure") };
    assert_eq!((sends, began.elapsed().as_secs(), options.patience()), (5, 34, Some(Duration::from_millis(34_100))));
}

#[tokio::test(start_paused = true)]
async fn soft_call_fails_in_time_while_every_stream_is_cut() {
    let options = through(|_, mut stream| async move {
        next_xid(&mut stream).await;
        let _ = stream.write_all(&[0x80, 0, 0]).await;
    });
    let (connection, began) = (connect(&options).await, Instant::now());
    assert!(matches!(failure(&connection).await, Failure::TimedOut { .. }));
    assert_eq!(began.elapsed(), options.patience().unwrap());
    assert!(connection.counters().reconnects < 100, "{:?}", connection.counters());
}

#[tokio::test(start_paused = true)]
async fn calls_that_wait_for_room_behind_a_silent_server_fail_too() {
    let options = Options { max_pending: 1, ..through(|_, stream| hold(stream)) };
    let (connection, began) = (connect(&options).await, Instant::now());
    let calls: Vec<_> = (0..10)
        .map(|_| {
            let connection = connection.clone();
            tokio::spawn(async move { failure(&connection).await })
        })
        .collect();
    for call in calls {
        assert!(matches!(call.await.unwrap(), Failure::TimedOut { .. }));
    }
    assert!(began.elapsed() <= 2 * options.patience().unwrap(), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn hard_call_goes_on_when_the_server_is_back_and_says_so_once_for_all_connections() {
    let journal = Journal::begin();
    let is_back = Arc::new(tokio::sync::Notify::new());
    let back = Arc::clone(&is_back);
    let options = through(move |_, stream| {
        let back = Arc::clone(&back);
        async move {
            back.notified().await;
            answer_all(stream).await;
        }
    });
    let options = Options { is_hard: true, ..options };
    let mut calls = Vec::new();
    for _ in 0..3 {
        let connection = connect(&options).await;
        calls.push(tokio::spawn(async move { connection.call::<Null>(&()).await.map(drop) }));
    }
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert!(calls.iter().all(|call| !call.is_finished()));
    assert_eq!(journal.warnings(), ["server not responding, still trying"]);
    let waking = tokio::spawn(async move {
        loop {
            is_back.notify_waiters();
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    });
    for call in calls {
        call.await.unwrap().unwrap();
    }
    waking.abort();
    assert_eq!(journal.warnings(), ["server not responding, still trying", "server OK"]);
}

#[tokio::test(start_paused = true)]
async fn hard_call_to_a_server_that_is_gone_says_so_before_its_timeout() {
    let journal = Journal::begin();
    let dials = AtomicU32::new(0);
    let tunnel = Tunnel::new(move |_| {
        let is_first = dials.fetch_add(1, Ordering::Relaxed) == 0;
        let refused = || Err(std::io::ErrorKind::ConnectionRefused.into());
        std::future::ready(if is_first { Ok(tokio::io::duplex(1).0) } else { refused() })
    });
    let options = Options { tunnel: Some(tunnel), is_hard: true, ..fake::options() };
    let connection = connect(&options).await;
    let call = tokio::spawn(async move { connection.call::<Null>(&()).await.map(drop) });
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert!(journal.warnings().is_empty(), "a server that restarts is no news");
    tokio::time::sleep(Duration::from_secs(16)).await;
    assert_eq!(journal.warnings(), ["server not responding, still trying"]);
    assert!(!call.is_finished());
    call.abort();
}

#[tokio::test]
async fn server_that_takes_no_connections_is_given_up_in_the_time_for_that() {
    use rustix::net::{AddressFamily, SocketType, bind, connect, getsockname, listen, socket};
    let listener = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&listener, &NOWHERE_IN_PARTICULAR).unwrap();
    listen(&listener, 0).unwrap();
    let address = SocketAddr::try_from(getsockname(listener.as_fd()).unwrap()).unwrap();
    // A queue of none has room for one; who comes then hears nothing.
    let first = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    connect(&first, &address).unwrap();
    let options = Options { connect_timeout: Duration::from_millis(200), ..fake::options() };
    let error = Connection::connect(address, "full", &options).await.unwrap_err();
    let Reason::Connect { source, .. } = error.reason() else { panic!("{error}") };
    assert_eq!(source.kind(), std::io::ErrorKind::TimedOut);
}

const NOWHERE_IN_PARTICULAR: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);
