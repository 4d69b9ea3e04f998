//! Loads a module of the compiler, lowers it, proves its stages, steps its rings and asserts what
//! must hold: what a test of a compiler or of a driver does with this library.
//!
//! `cargo run --example assert_ring` takes a sample; `cargo run --example assert_ring FILE` takes
//! a module of yours. It ends with status 1 where something does not hold.

use dmadbg::bir::exec;
use dmadbg::diag::Severity;
use dmadbg::engine::program::Blob;
use dmadbg::engine::session::Session;
use dmadbg::engine::validate::validate;
use dmadbg::learn::bundled::Sample;
use dmadbg::load::{self, LoadOptions, Loaded};
use dmadbg::script::{evaluate, execute};
use std::error::Error;
use std::path::PathBuf;

/// Opens a file, or the sample where none is named.
fn input() -> Result<Loaded, Box<dyn Error>> {
    if let Some(file) = std::env::args_os().nth(1) {
        return Ok(load::open(&[PathBuf::from(file)], &LoadOptions::default())?);
    }
    let sample = Sample::find("loop").ok_or("the sample is missing")?;
    let blob = Blob::from_vec(sample.text.as_bytes().to_vec());
    Ok(load::load_bytes(sample.name, blob, &LoadOptions::default())?)
}

fn main() -> Result<(), Box<dyn Error>> {
    // Load. A module is lowered as it is loaded, and becomes a program on rings.
    let loaded = input()?;
    let module = loaded.module.ok_or("this is no module")?;
    let program = loaded.program.ok_or("it has no form on rings")?;
    assert!(!module.is_wrong(), "the verifier found an error");

    // Lower: every stage must leave the same memory as the module that was loaded, and so must
    // the descriptors.
    let options = exec::Options::default();
    let proof = validate(&module.lowered, Some(&program), &module.memory, &options)
        .map_err(|why| why.into_iter().next().map_or_else(String::new, |d| d.to_string()))?;
    for (stage, verdict) in &proof.stages {
        println!("{:<10} {}", stage.name(), verdict.words());
    }
    assert!(proof.first_bad().is_none(), "a stage changed what the module does");

    // Step, with the commands of the screen.
    let mut session = Session::new(program);
    execute(&mut session, "doorbell")?;
    for line in execute(&mut session, "step")?.into_text() {
        println!("{line}");
    }

    // Assert, with the expressions of the screen ..
    execute(&mut session, "assert tx[0].first && tx[0].last, \"a packet of one descriptor\"")?;
    execute(&mut session, "goto end")?;

    // .. or on the values themselves.
    let length = evaluate(&session, "tx[0].length")?;
    println!("event {}, tx[0].length = {length}", session.position());
    assert_eq!(session.end(), Some(session.position()));
    let errors =
        session.machine().findings.iter().filter(|d| d.severity == Severity::Error).count();
    assert_eq!(errors, 0, "the run found something wrong");
    Ok(())
}
