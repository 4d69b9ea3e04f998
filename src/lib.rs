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
//! use dmadbg::script::{parse_command, parse_expr};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let text = include_str!("../sample-programs/copy-4k.dma");
//! let loaded = load_bytes("copy-4k.dma", Blob::from_vec(text.into()), &LoadOptions::default())?;
//! let mut session = Session::new(loaded.program.ok_or("nothing to run")?);
//!
//! let line = "until tx.posted > 0";
//! let command = parse_command(line).map_err(|all| all[0].clone())?.ok_or("an empty line")?;
//! session.execute(&command)?;
//! assert_eq!(session.value(&parse_expr("tx[0].length")?)?, 4096);
//! assert_eq!(session.value(&parse_expr("marker")?)?, 0, "the engine has not begun");
//!
//! // The same event is the same state, whichever way one came there.
//! let here = session.position();
//! session.execute(&parse_command("goto end").map_err(|all| all[0].clone())?.ok_or("")?)?;
//! assert_eq!(session.state_at(here).n, here);
//! # Ok(())
//! # }
//! ```
//!
//! `examples/assert_ring.rs` lowers a module of the compiler, proves its stages and steps its
//! rings. One descriptor needs none of it: [`udma::Desc`] and [`udma::field`] are tables and pure
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
