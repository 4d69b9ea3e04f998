//! `dmadbg`: a debugger for DMA descriptor rings, as a library.
//!
//! A program is loaded ([`load`]), becomes rings and a script of host calls
//! ([`engine::program::Program`]), and is run by a [`Session`](engine::session::Session), which
//! goes to any event, forwards and backwards, and takes the commands of the screen:
//!
//! ```
//! use dmadbg::engine::program::Blob;
//! use dmadbg::engine::session::Session;
//! use dmadbg::load::{LoadOptions, load_bytes};
//! use dmadbg::script::{evaluate, execute};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // Load; a file is opened by `load::open`.
//! let text = include_str!("../sample-programs/copy-4k.dma");
//! let loaded = load_bytes("copy-4k.dma", Blob::from_vec(text.into()), &LoadOptions::default())?;
//! let mut session = Session::new(loaded.program.ok_or("nothing to run")?);
//!
//! // Step, and assert: in Rust, or in the command language.
//! execute(&mut session, "until tx.posted > 0")?;
//! assert_eq!(evaluate(&session, "tx[0].length")?, 4096);
//! execute(&mut session, "assert marker == 0, \"the engine has not begun\"")?;
//!
//! // The same event is the same state, whichever way one came there.
//! let here = session.position();
//! execute(&mut session, "goto end")?;
//! execute(&mut session, "expect ret 0")?;
//! assert_eq!(session.state_at(here).n, here);
//! # Ok(())
//! # }
//! ```
//!
//! A module of the compiler is lowered as it is loaded. Each stage can be looked at, and proved to
//! do what the module did; its rings are a program like any other:
//!
//! ```
//! use dmadbg::bir::exec;
//! use dmadbg::engine::program::Blob;
//! use dmadbg::engine::session::Session;
//! use dmadbg::engine::validate::validate;
//! use dmadbg::load::{LoadOptions, load_bytes};
//! use dmadbg::script::execute;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let text = include_str!("../sample-programs/loop.bir");
//! let loaded = load_bytes("loop.bir", Blob::from_vec(text.into()), &LoadOptions::default())?;
//! let (module, rings) = (loaded.module.ok_or("no module")?, loaded.program.ok_or("no rings")?);
//! assert!(!module.is_wrong(), "the verifier found an error: {:?}", module.diagnostics());
//! let stages: Vec<&str> = module.lowered.snapshots.iter().map(|s| s.stage.name()).collect();
//! assert_eq!(stages, ["loaded", "peel", "unroll", "split", "check", "lower_dma"]);
//!
//! let options = exec::Options::default();
//! let proof = validate(&module.lowered, Some(&rings), &module.memory, &options)
//!     .map_err(dmadbg::diag::Report::from)?;
//! assert!(proof.first_bad().is_none(), "a stage changed what the module does");
//!
//! let mut session = Session::new(rings);
//! execute(&mut session, "break %I-1")?;
//! execute(&mut session, "continue")?;
//! execute(&mut session, "expect stop %I-1")?;
//! # Ok(())
//! # }
//! ```
//!
//! `examples/assert_ring.rs` does all of this with a file of yours. One descriptor needs none of it: [`udma::Desc`] and [`udma::field`] are tables and pure
//! functions.
//!
//! # The rooms
//!
//! The crate is a house of rooms. A room uses those above it in this list, never those below
//! (`tests/house.rs`; `docs/house.md` draws it):
//!
//! | room | what lives there |
//! |---|---|
//! | [`limits`] | every bound |
//! | [`udma`] | the wire: fields, descriptors, registers, fault causes, driver profiles |
//! | [`diag`] | diagnostics as values, the table of codes |
//! | [`bir`] | the compiler's IR: model, verifier, interpreter, generator |
//! | [`engine`] | program, lowering, ring model, order, session |
//! | [`check`] | what can be judged of rings without running them |
//! | [`load`] | files and text in and out |
//! | [`script`] | the command language |
//! | [`watch`] | which of a set of files changed |
//! | [`learn`] | lessons, and what comes with the program |
//! | [`ui`], [`cli`] | the screen, the command line |
//!
//! From [`limits`] to [`script`], but for [`load`], nothing does I/O, reads a clock or starts a
//! thread. Errors are [`diag::Diagnostic`] and [`diag::Report`], with a code that `dmadbg explain`
//! knows. Decisions about what is not public say MODEL (`docs/decisions.md`).

pub mod bir;
pub mod check;
pub mod cli;
pub mod diag;
pub mod engine;
pub mod learn;
pub mod limits;
pub mod load;
pub mod script;
pub mod udma;
pub mod ui;
pub mod watch;
