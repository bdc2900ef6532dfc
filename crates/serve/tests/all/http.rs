//! The statistics page, asked as a browser asks.

use crate::support::means;
use nandlab_serve::http::{Block, Kind, Page, PageError, Snapshot, Watched};
use serde_json::{json, Value};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A device with four blocks; one changes from look to look.
#[derive(Default)]
struct Fake(AtomicU32);

impl Watched for Fake {
    fn snapshot(&self) -> Snapshot {
        let look = self.0.fetch_add(1, Ordering::SeqCst);
        let block = |kind, valid, pe_cycles| Block { kind, valid, pe_cycles };
        Snapshot {
            figures: json!({
                "host": { "requests": 7, "written_sectors": 16 }, "waf": 1.5, "waf_in_all": null, "erases": 3,
                "queues": {
                    "rows": [{ "controller": 2, "queue": 1, "requests": 5, "read_bytes": 0, "written_bytes": 8192,
                        "read_latency_us": null, "write_latency_us": { "mean": 200.5, "p99": 210.0 } }],
                    "others": { "requests": 2, "read_bytes": 512, "written_bytes": 0 },
                },
                "handles": { "rows": [{ "group": null, "handle": null, "requests": 7 }], "others": null },
            }),
            pages_per_block: 8,
            blocks: vec![
                block(Kind::Free, 0, 2),
                block(Kind::Data, 8, 4),
                block(Kind::Data, look.min(8), 3),
                block(Kind::Retired, 0, 900),
            ],
        }
    }

    fn record(&self) -> Value {
        json!({ "host": { "requests": 7 } })
    }
}

fn page() -> Page {
    Page::start("127.0.0.1:0", Arc::new(Fake::default())).unwrap()
}

/// An answer's status line and body.
fn get(mut stream: impl Read + Write, path: &str, host: &str) -> (String, String) {
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.lines().next().unwrap().to_owned(), body.to_owned())
}

fn ask(page: &Page, path: &str) -> (String, String) {
    let address = page.address().unwrap();
    get(TcpStream::connect(address).unwrap(), path, &address.to_string())
}

/// A browser tells which page asks. A page of another site gets nothing.
#[test]
fn a_foreign_page_is_refused() {
    let page = page();
    let address = page.address().unwrap();
    let own = format!("Origin: http://{address}");
    for (head, status) in [
        (format!("Host: {address}"), "200"),
        (format!("Host: {address}\r\n{own}\r\nSec-Fetch-Site: same-origin"), "200"),
        (format!("Host: {address}\r\nOrigin: http://example.org"), "403"),
        (format!("Host: {address}\r\nOrigin: http://{}:1", address.ip()), "403"),
        (format!("Host: {address}\r\nOrigin: null"), "403"),
        (format!("Host: {address}\r\nSec-Fetch-Site: cross-site"), "403"),
        ("Accept: */*".to_owned(), "403"),
    ] {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET /record HTTP/1.1\r\n{head}\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{head}: {answer}");
    }
}

#[test]
fn the_page_the_record_and_the_metrics_are_answered() {
    let page = page();
    let (status, html) = ask(&page, "/");
    assert!(status.contains("200") && html.contains("<title>nandlab disk</title>"), "{status}");
    assert!(!html.contains("http://") && !html.contains("https://"), "the page loads nothing from elsewhere");
    let (_, record) = ask(&page, "/record");
    assert_eq!(serde_json::from_str::<Value>(&record).unwrap(), json!({ "host": { "requests": 7 } }));
    let (_, metrics) = ask(&page, "/metrics");
    for line in [
        "# TYPE nandlab_host_requests_total counter",
        "nandlab_host_requests_total 7",
        "nandlab_waf 1.5",
        "nandlab_pe_cycles{of=\"min\"} 2",
        "nandlab_pe_cycles{of=\"mean\"} 3",
        "nandlab_pe_cycles{of=\"max\"} 4",
        "# TYPE nandlab_queue_requests_total counter",
        "nandlab_queue_requests_total{controller=\"2\",queue=\"1\"} 5",
        "nandlab_queue_written_bytes_total{controller=\"2\",queue=\"1\"} 8192",
        "nandlab_queue_read_bytes_total{controller=\"others\",queue=\"others\"} 512",
        "nandlab_queue_latency_us{controller=\"2\",queue=\"1\",op=\"write\",of=\"p99\"} 210",
        "nandlab_handle_requests_total{group=\"none\",handle=\"none\"} 7",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line} is not in {metrics}");
    }
    for unknown in ["waf_in_all", "op=\"read\"", "handle_latency"] {
        assert!(!metrics.contains(unknown), "what is not known has no line");
    }
    assert!(ask(&page, "/other").0.contains("404"));
}

#[test]
fn frames_have_the_blocks_that_changed() {
    let page = page();
    let address = page.address().unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET /events HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    let mut frames = BufReader::new(stream).lines().map_while(Result::ok).filter_map(|line| {
        let text = line.strip_prefix("data: ")?.to_owned();
        Some(serde_json::from_str::<Value>(&text).unwrap())
    });
    let first = frames.next().unwrap();
    assert_eq!((&first["blocks"], &first["pages_per_block"]), (&json!(4), &json!(8)));
    assert_eq!(first["changed"], json!([[0, 0, 0, 2], [1, 1, 8, 4], [2, 1, 0, 3], [3, 3, 0, 900]]));
    let second = frames.next().unwrap();
    assert_eq!(second["changed"], json!([[2, 1, 1, 3]]));
    assert_eq!(second["figures"]["erases"], json!(3));
}

#[test]
fn other_machines_and_names_are_refused() {
    let start = |at: &str| Page::start(at, Arc::new(Fake::default())).map(drop);
    for at in ["0.0.0.0:0", "192.0.2.1:80", "[::]:0"] {
        assert!(matches!(start(at), Err(PageError::NotLoopback(_))), "{at}");
    }
    for at in ["8080", "localhost", "127.0.0.1"] {
        assert!(matches!(start(at), Err(PageError::NoAddress(_))), "{at}");
    }
    let page = page();
    for host in ["example.com", "127.0.0.1.example.com:80", ""] {
        let (status, _) = get(TcpStream::connect(page.address().unwrap()).unwrap(), "/record", host);
        assert_eq!(status.contains("403"), !host.is_empty(), "{host}: {status}");
    }
}

/// A client's connection, and a page with little patience.
fn impatient() -> (Page, impl Fn() -> TcpStream) {
    let page = Page::start_with("127.0.0.1:0", Arc::new(Fake::default()), means(None).0).unwrap();
    let address = page.address().unwrap();
    (page, move || {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    })
}

#[test]
fn a_body_is_refused_and_one_request_answered_of_many() {
    let (page, connect) = impatient();
    let mut stream = connect();
    stream.write_all(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10000000000\r\n\r\nabc").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    let mut stream = connect();
    stream.write_all(&b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(2000)).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert_eq!(answer.matches("HTTP/1.1 200 OK").count(), 1, "the connection ends behind the first one");
    let mut stream = connect();
    // The page stops reading at 16 KiB.
    let _ = stream.write_all(&[b'a'; 40_000]);
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    assert!(ask(&page, "/record").0.contains("200"));
}

#[test]
fn clients_that_send_and_take_nothing_are_cut_off() {
    let (_page, connect) = impatient();
    for begun in [&b""[..], b"GET / HT"] {
        let mut stream = connect();
        stream.write_all(begun).unwrap();
        assert_eq!(stream.read(&mut [0; 1]).unwrap_or(0), 0, "the page ends the connection");
    }
}

#[test]
fn thirty_two_clients_are_served_at_once_and_the_end_waits_for_none() {
    let page = page();
    let address = page.address().unwrap();
    let mut silent: Vec<_> = (0..32).map(|_| TcpStream::connect(address).unwrap()).collect();
    let mut answer = String::new();
    // The refusal may be lost behind the end of the connection.
    let _ = TcpStream::connect(address).unwrap().read_to_string(&mut answer);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 503 "), "{answer}");
    drop(silent.pop());
    let is_served = || {
        let mut stream = TcpStream::connect(address).unwrap();
        let mut answer = String::new();
        let _ = write!(stream, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
            .and_then(|()| stream.read_to_string(&mut answer));
        answer.starts_with("HTTP/1.1 200 ")
    };
    assert!((0..1000).any(|_| is_served() || {
        std::thread::sleep(Duration::from_millis(5));
        false
    }));
    let mut long = silent.pop().unwrap();
    write!(long, "POST / HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n").unwrap();
    let start = Instant::now();
    drop(page);
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

#[test]
fn a_page_without_a_thread_for_a_client_tells_it_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page");
    let (means, said) = means(Some(0));
    let _page = Page::start_with(path.to_str().unwrap(), Arc::new(Fake::default()), means).unwrap();
    let mut answer = String::new();
    UnixStream::connect(&path).unwrap().read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("no thread can be made"), "{answer}");
    let (status, _) = get(UnixStream::connect(&path).unwrap(), "/metrics", "localhost");
    assert!(status.contains("200"), "{status}");
    assert_eq!(said.lock().unwrap().len(), 1);
}

#[test]
fn a_socket_serves_the_page_too_and_goes_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page");
    let page = Page::start(path.to_str().unwrap(), Arc::new(Fake::default())).unwrap();
    let (status, _) = get(UnixStream::connect(&path).unwrap(), "/metrics", "localhost");
    assert!(status.contains("200"), "{status}");
    assert!(Page::start(path.to_str().unwrap(), Arc::new(Fake::default())).is_err(), "it is in use");
    drop(page);
    assert!(!path.exists());
}
