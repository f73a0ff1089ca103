//! Connections against a server made by hand: loss, disorder, silence and lies on the wire.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use client::core::Failure;
use client::{Options, Reason, Transport};
use proto::nfs3;
use rpc::Rejection;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::fake::{self, Answer, connect, listen, options, read_call, send_reply, serve};

const NOTHING: Answer = Answer::Results(Vec::new());

#[tokio::test]
async fn calls_are_pipelined_and_replies_find_them_in_any_order() {
    let (listener, address) = listen().await;
    let server = tokio::spawn(async move {
        let mut stream = listener.accept().await.unwrap().0;
        let mut questions = Vec::new();
        while questions.len() < 64 {
            questions.push(read_call(&mut stream).await.unwrap());
        }
        // All of them were in flight before the first reply: now the last comes first.
        for question in questions.iter().rev() {
            let arguments = question.arguments::<nfs3::Access>();
            let ok = nfs3::AccessOk { attributes: None, access: arguments.access };
            send_reply(&mut stream, question.xid, &fake::results(nfs3::Res::<_, nfs3::PostOpAttr>::Ok(ok))).await;
        }
    });
    let connection = connect(address, &options()).await;
    let mut calls = tokio::task::JoinSet::new();
    for access in 0..64 {
        let connection = connection.clone();
        calls.spawn(async move {
            let arguments = nfs3::AccessArgs { object: fake::handle(b"x"), access };
            let response = connection.call::<nfs3::Access>(&arguments).await.unwrap();
            assert!(matches!(response.decode().unwrap(), nfs3::Res::Ok(ok) if ok.access == access));
        });
    }
    calls.join_all().await;
    server.await.unwrap();
}

#[tokio::test]
async fn lost_connection_is_replaced_and_calls_go_out_again_with_their_xids() {
    let (listener, address) = listen().await;
    let server = tokio::spawn(async move {
        let mut seen = Vec::new();
        for turn in 0..2 {
            let (mut stream, from) = listener.accept().await.unwrap();
            let mut xids = Vec::new();
            for _ in 0..3 {
                xids.push(read_call(&mut stream).await.unwrap().xid);
            }
            if turn == 1 {
                for xid in &xids {
                    send_reply(&mut stream, *xid, &NOTHING).await;
                }
            }
            seen.push((xids, from));
        }
        seen
    });
    let connection = connect(address, &options()).await;
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..3 {
        let connection = connection.clone();
        calls.spawn(async move { connection.call::<nfs3::Null>(&()).await.unwrap().decode().unwrap() });
    }
    calls.join_all().await;
    let seen = server.await.unwrap();
    assert_eq!(seen[0].0, seen[1].0, "the same calls in the same order");
    assert_eq!((connection.counters().reconnects, connection.counters().retransmissions), (1, 3));
}

#[tokio::test]
async fn silent_stream_is_replaced_after_the_time_out() {
    let (listener, address) = listen().await;
    tokio::spawn(async move {
        let (_silent, _) = listener.accept().await.unwrap();
        let mut stream = listener.accept().await.unwrap().0;
        while let Some(question) = read_call(&mut stream).await {
            send_reply(&mut stream, question.xid, &NOTHING).await;
        }
    });
    let options = Options { timeout: Some(Duration::from_millis(50)), ..options() };
    let connection = connect(address, &options).await;
    connection.call::<nfs3::Null>(&()).await.unwrap();
    assert_eq!(connection.counters().reconnects, 1);
}

#[tokio::test]
async fn dropped_call_is_forgotten_and_the_connection_goes_on() {
    let (listener, address) = listen().await;
    tokio::spawn(async move {
        let mut stream = listener.accept().await.unwrap().0;
        let late = read_call(&mut stream).await.unwrap();
        let next = read_call(&mut stream).await.unwrap();
        send_reply(&mut stream, late.xid, &NOTHING).await;
        send_reply(&mut stream, next.xid, &NOTHING).await;
        let _ = stream.read_u8().await;
    });
    let connection = connect(address, &options()).await;
    let short = Duration::from_millis(50);
    assert!(tokio::time::timeout(short, connection.call::<nfs3::Null>(&())).await.is_err());
    connection.call::<nfs3::Null>(&()).await.unwrap();
    assert_eq!((connection.counters().unexpected, connection.counters().replies), (1, 1));
}

#[tokio::test]
async fn record_over_the_limit_fails_the_calls_and_takes_no_memory() {
    let (listener, address) = listen().await;
    tokio::spawn(async move {
        let mut stream = listener.accept().await.unwrap().0;
        read_call(&mut stream).await.unwrap();
        stream.write_all(&0xffff_ffffu32.to_be_bytes()).await.unwrap();
        let mut good = listener.accept().await.unwrap().0;
        let question = read_call(&mut good).await.unwrap();
        send_reply(&mut good, question.xid, &NOTHING).await;
        let _ = good.read_u8().await;
    });
    let connection = connect(address, &options()).await;
    let error = connection.call::<nfs3::Null>(&()).await.unwrap_err();
    assert!(matches!(error.reason(), Reason::NoReply(Failure::BrokenStream(_))), "{error}");
    connection.call::<nfs3::Null>(&()).await.unwrap();
}

#[tokio::test]
async fn rejections_and_nonsense_are_errors_of_their_own() {
    let turn = AtomicU32::new(0);
    let address = serve(move |_| match turn.fetch_add(1, Ordering::Relaxed) {
        0 => Answer::Reject(Rejection::ProgramMismatch { low: 4, high: 4 }),
        1 => Answer::Results(vec![0, 0, 0, 0, 0, 0, 0, 9]),
        _ => Answer::Results(77u32.to_be_bytes().to_vec()),
    })
    .await;
    let connection = connect(address, &options()).await;
    let arguments = nfs3::GetattrArgs { object: fake::handle(b"x") };
    let error = connection.call::<nfs3::Getattr>(&arguments).await.unwrap_err();
    assert!(matches!(error.reason(), Reason::Rejected(Rejection::ProgramMismatch { low: 4, high: 4 })));
    assert_eq!((error.operation(), error.server()), ("GETATTR", "fake"));
    for _ in 0..2 {
        let response = connection.call::<nfs3::Getattr>(&arguments).await.unwrap();
        assert!(matches!(response.decode().unwrap_err().reason(), Reason::BadReply(_)));
    }
}

#[tokio::test]
async fn lost_datagram_is_sent_again_and_a_doubled_reply_is_ignored() {
    let xids = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = Arc::clone(&xids);
    let address = serve(move |question| {
        let mut seen = seen.lock().unwrap();
        seen.push(question.xid);
        if seen.len() == 1 { Answer::Silence } else { NOTHING }
    })
    .await;
    let timeout = Some(Duration::from_millis(50));
    let options = Options { transport: Transport::Udp, timeout, ..options() };
    let connection = connect(address, &options).await;
    connection.call::<nfs3::Null>(&()).await.unwrap().decode().unwrap();
    let xids = xids.lock().unwrap();
    assert_eq!(xids.len(), 2);
    assert_eq!(xids[0], xids[1]);
}

#[tokio::test]
async fn soft_call_to_a_silent_server_fails_in_the_stated_time() {
    let address = serve(|_| Answer::Silence).await;
    for transport in [Transport::Udp, Transport::Tcp] {
        let timeout = Some(Duration::from_millis(40));
        let options = Options { transport, timeout, retransmissions: Some(1), ..options() };
        let connection = connect(address, &options).await;
        let error = connection.call::<nfs3::Null>(&()).await.unwrap_err();
        let Reason::NoReply(Failure::TimedOut { waited, .. }) = error.reason() else { panic!("{error}") };
        // Once 40 ms and once 80 ms; the rest is how busy the machine is.
        assert!((Duration::from_millis(120)..Duration::from_secs(10)).contains(waited), "{waited:?}");
    }
}

#[tokio::test]
async fn more_calls_than_places_wait_for_their_turn() {
    let address = serve(|_| NOTHING).await;
    let connection = connect(address, &Options { max_pending: 2, ..options() }).await;
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let connection = connection.clone();
        calls.spawn(async move { connection.call::<nfs3::Null>(&()).await.unwrap().decode().unwrap() });
    }
    assert_eq!(calls.join_all().await.len(), 100);
}

#[tokio::test]
async fn refused_connection_names_the_address() {
    let (listener, address) = listen().await;
    drop(listener);
    let error = client::Connection::connect(address, "fake", &options()).await.unwrap_err();
    assert!(matches!(error.reason(), Reason::Connect { address: named, .. } if *named == address));
    assert!(error.to_string().contains(&address.to_string()), "{error}");
}

#[test]
fn call_ends_when_its_runtime_does() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (driver, caller) = (runtime(), runtime());
    let connection = driver.block_on(async {
        let address = serve(|_| Answer::Silence).await;
        connect(address, &options()).await
    });
    drop(driver);
    let error = caller.block_on(connection.call::<nfs3::Null>(&())).unwrap_err();
    assert!(matches!(error.reason(), Reason::NoReply(Failure::Closed)), "{error}");
}
