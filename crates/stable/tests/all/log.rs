//! A log in memory: what it keeps, what it refuses, and how its room is used.

use std::sync::Arc;
use std::thread;

use stable::{Device, Log, LogError, MAX_OWNER_BYTES, MAX_RECORD_BYTES, MemoryDevice, Position};

const BLOCK: usize = 4096;
/// Two headers and the smallest ring.
const SMALLEST: usize = 10 * BLOCK;

fn device(bytes: usize) -> Arc<MemoryDevice> {
    Arc::new(MemoryDevice::new(bytes))
}

fn records(log: &Log) -> Vec<(Position, Vec<u8>)> {
    log.records().map(|record| record.expect("the log is whole")).collect()
}

fn put(log: &Log, record: &[u8]) -> Position {
    let position = log.append(&[record]).expect("there is room");
    log.wait(position).expect("the device works");
    position
}

#[test]
fn records_come_back_in_order_with_their_positions() {
    let device = device(1 << 20);
    let log = Log::create(device.clone(), b"exports").unwrap();
    let mut expected = Vec::new();
    for number in 0..100_usize {
        let record = vec![number as u8; number * 97];
        let (front, back) = record.split_at(number);
        expected.push((log.append(&[front, back]).unwrap(), record));
    }
    log.wait(log.end()).unwrap();
    assert_eq!(log.durable(), log.end());
    assert_eq!(records(&log), expected);
    drop(log);

    let log = Log::open(device).unwrap();
    assert_eq!(records(&log), expected);
    assert_eq!(log.end(), expected[99].0);
    assert_eq!(log.owner(), b"exports");
}

#[test]
fn record_is_durable_only_when_somebody_has_waited_for_it() {
    let device = device(1 << 20);
    let log = Log::create(device.clone(), b"").unwrap();
    let first = log.append(&[b"first"]).unwrap();
    let second = log.append(&[b"second"]).unwrap();
    assert!(first < second);
    assert_eq!(log.durable(), Position::START);
    assert_eq!(Log::open(device.clone()).unwrap().records().count(), 0);
    log.wait(first).unwrap();
    assert_eq!(log.durable(), second, "both are in one batch");
    assert_eq!(log.status().largest_group, 2);
    assert_eq!(Log::open(device).unwrap().records().count(), 2);
}

#[test]
fn trimmed_records_do_not_come_back_and_others_of_their_batch_do() {
    let device = device(1 << 20);
    let log = Log::create(device.clone(), b"").unwrap();
    let positions: Vec<Position> = (0..3_u8).map(|number| log.append(&[&[number; 10]]).unwrap()).collect();
    log.trim(positions[1]).unwrap();
    assert_eq!(log.durable(), positions[2], "a trim waits for what it trims");
    assert_eq!(records(&log), [(positions[2], vec![2; 10])]);
    let used_bytes = log.status().used_bytes;
    assert_eq!(used_bytes, BLOCK as u64);

    let log = Log::open(device.clone()).unwrap();
    assert_eq!(log.tail(), positions[1]);
    assert_eq!(records(&log), [(positions[2], vec![2; 10])]);
    log.trim(positions[2]).unwrap();
    assert_eq!((log.status().used_bytes, log.status().oldest_age), (0, None));

    let log = Log::open(device).unwrap();
    assert_eq!(records(&log), []);
    assert_eq!(log.end(), positions[2]);
    assert!(put(&log, b"next") > positions[2]);
}

#[test]
fn ring_goes_round_many_times() {
    let device = device(SMALLEST);
    let mut log = Log::create(device.clone(), b"").unwrap();
    let mut kept: Vec<(Position, Vec<u8>)> = Vec::new();
    for number in 0..500_usize {
        let record = vec![number as u8; number * 53 % (2 * BLOCK)];
        kept.push((put(&log, &record), record));
        while kept.len() > 2 {
            log.trim(kept.remove(0).0).unwrap();
        }
        if number % 7 == 0 {
            log = Log::open(device.clone()).unwrap();
        }
        assert_eq!(records(&log), kept);
    }
    assert!(log.end().bytes() > 50 * SMALLEST as u64);
}

#[test]
fn largest_record_fits_and_a_larger_one_is_refused() {
    let log = Log::create(device(8 << 20), b"").unwrap();
    assert_eq!(log.max_record_bytes(), MAX_RECORD_BYTES);
    let largest = vec![3; MAX_RECORD_BYTES];
    for _ in 0..4 {
        put(&log, &largest);
    }
    assert!(records(&log).iter().all(|(_, record)| *record == largest));
    let refusal = log.append(&[&largest, b"1"]).unwrap_err();
    assert!(matches!(refusal, LogError::RecordTooLarge { bytes, .. } if bytes == MAX_RECORD_BYTES + 1));
    assert!(!log.status().failed);

    let small = Log::create(device(SMALLEST), b"").unwrap();
    let largest = vec![4; small.max_record_bytes()];
    for _ in 0..3 {
        let position = put(&small, &largest);
        assert_eq!(records(&small), [(position, largest.clone())]);
        small.trim(position).unwrap();
    }
    assert!(matches!(small.append(&[&largest, b"1"]), Err(LogError::RecordTooLarge { .. })));
}

#[test]
fn append_to_a_full_log_waits_for_a_trim() {
    let log = Log::create(device(SMALLEST), b"").unwrap();
    let first = put(&log, &[1; 2 * BLOCK]);
    put(&log, &[2; 2 * BLOCK]);
    let waited_for_by_nobody = log.append(&[&[0; 9]]).unwrap();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| log.append(&[&[3; 2 * BLOCK]]));
        while log.durable() < waited_for_by_nobody {
            thread::yield_now();
        }
        assert_eq!(log.status().stalls, 1, "the append without room has written what gathered");
        assert!(!waiting.is_finished());
        log.trim(first).unwrap();
        waiting.join().unwrap().unwrap();
    });
    assert_eq!(log.status().stalls, 1);
    log.wait(log.end()).unwrap();
    assert_eq!(records(&log).iter().map(|(_, record)| record.len()).collect::<Vec<_>>(), [2 * BLOCK, 9, 2 * BLOCK]);
}

#[test]
fn batch_that_is_full_is_written_by_the_next_append() {
    let log = Log::create(device(32 << 20), b"").unwrap();
    for _ in 0..10 {
        log.append(&[&[1; 1 << 20]]).unwrap();
    }
    assert!(log.durable() > Position::START);
    assert!(log.durable() < log.end());
    log.wait(log.end()).unwrap();
    assert_eq!(log.records().count(), 10);
}

#[test]
fn owner_is_replaced() {
    let device = device(1 << 20);
    let log = Log::create(device.clone(), b"first").unwrap();
    let position = put(&log, b"record");
    for length in [0, 5, MAX_OWNER_BYTES] {
        log.set_owner(&vec![7; length]).unwrap();
        let log = Log::open(device.clone()).unwrap();
        assert_eq!(log.owner(), vec![7; length]);
        assert_eq!(records(&log), [(position, b"record".to_vec())]);
    }
    let too_long = vec![7; MAX_OWNER_BYTES + 1];
    assert!(matches!(log.set_owner(&too_long), Err(LogError::OwnerTooLarge { .. })));
}

#[test]
fn position_that_was_never_returned_is_refused() {
    let log = Log::create(device(1 << 20), b"").unwrap();
    let end = put(&log, b"record");
    let behind = Position::new(end.bytes() + 1);
    assert!(matches!(log.wait(behind), Err(LogError::NoSuchPosition { .. })));
    assert!(matches!(log.trim(behind), Err(LogError::NoSuchPosition { .. })));
}

#[test]
fn log_is_made_only_where_nothing_is() {
    let blank = device(1 << 20);
    assert!(matches!(Log::open(blank.clone()), Err(LogError::Blank { .. })));
    drop(Log::create(blank.clone(), b"").unwrap());
    assert!(matches!(Log::create(blank, b""), Err(LogError::NotBlank { .. })));

    let foreign = device(1 << 20);
    foreign.write_at(64 << 10, &[1; BLOCK]).unwrap();
    assert!(matches!(Log::create(foreign.clone(), b""), Err(LogError::NotBlank { .. })));
    foreign.write_at(0, &[1; BLOCK]).unwrap();
    assert!(matches!(Log::open(foreign), Err(LogError::NotALog { .. })));
    assert!(matches!(Log::create(device(SMALLEST - BLOCK), b""), Err(LogError::Size { .. })));
}

#[test]
fn many_threads_share_writes_and_each_finds_its_records() {
    const THREADS: usize = 8;
    const RECORDS: usize = 200;
    let device = device(16 << 20);
    let log = Log::create(device.clone(), b"").unwrap();
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let log = &log;
            scope.spawn(move || {
                for number in 0..RECORDS {
                    put(log, &[thread as u8, number as u8, 0]);
                }
            });
        }
    });
    assert_eq!(log.status().records, (THREADS * RECORDS) as u64);
    let found = records(&Log::open(device).unwrap());
    assert!(found.is_sorted_by(|(first, _), (second, _)| first < second));
    for thread in 0..THREADS {
        let own = found.iter().filter(|(_, record)| record[0] == thread as u8);
        assert_eq!(own.map(|(_, record)| record[1]).collect::<Vec<_>>(), (0..RECORDS as u8).collect::<Vec<_>>());
    }
}

#[test]
fn threads_that_trim_make_room_for_threads_that_append() {
    const THREADS: usize = 6;
    const RECORDS: usize = 60;
    let log = Log::create(device(SMALLEST), b"").unwrap();
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let log = &log;
            scope.spawn(move || {
                for number in 0..RECORDS {
                    let position = put(log, &vec![thread as u8; (number * 331 + thread * 97) % (7 * BLOCK)]);
                    log.trim(position).unwrap();
                }
            });
        }
    });
    assert_eq!(log.status().used_bytes, 0);
    assert_eq!(log.status().records, (THREADS * RECORDS) as u64);
}
