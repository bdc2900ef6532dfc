//! `nandlab-prove`: reads a request in JSON from standard input, writes the report in JSON to standard output, and progress
//! to standard error. One thread alone, because it forks a process for each case.

use nandlab::prove::{self, Request};
use std::process::ExitCode;

fn main() -> ExitCode {
    let request: Request = match serde_json::from_reader(std::io::stdin().lock()) {
        Ok(request) => request,
        Err(error) => return wrong(&error.to_string()),
    };
    match prove::run(&request) {
        Ok(report) => {
            println!("{}", serde_json::to_string(&report).expect("a report is JSON"));
            ExitCode::from(u8::from(!report.findings.is_empty()))
        }
        Err(sentence) => wrong(&sentence),
    }
}

fn wrong(sentence: &str) -> ExitCode {
    eprintln!("error {sentence}");
    ExitCode::from(2)
}
