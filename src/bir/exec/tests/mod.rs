#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod control;
mod fixture;
mod interleave;
mod loops;
mod transfers;
mod triggers;
