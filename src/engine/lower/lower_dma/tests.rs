use super::*;
use crate::bir::generate;
use crate::engine::lower::{Options, Stage, lower};
use proptest::prelude::*;

/// The stage alone, on a module that went through those before it, and the operands that it
/// shares with the transfers.
fn both(module: &Module) -> (usize, usize) {
    let before = lower(module, &Options::default(), Stage::Check);
    let module = before.module().unwrap();
    // Every transfer takes the long way where a fault is asked for, here one of a stage that
    // does not run again.
    let by = |mutation| {
        let options = Options { mutation, ..Options::default() };
        let mut cx = Context::new(&options, module.arch);
        let out = run(module, &mut cx);
        (out, cx.take_findings())
    };
    let (short, long) = (by(None), by(Some(Mutation::LostRemainder)));
    assert_eq!(short, long);
    let mut loaded = BTreeSet::new();
    module.visit(&mut |i| {
        loaded.insert(i.ins.as_ptr());
    });
    let shared = |m: &Module| {
        let mut n = 0;
        let known = |i: &Inst| i.opcode.is_descriptor() && loaded.contains(&i.ins.as_ptr());
        m.visit(&mut |i| n += usize::from(known(i)));
        n
    };
    (shared(&short.0), shared(&long.0))
}

proptest! {
    #[test]
    fn a_transfer_that_is_one_descriptor_is_lowered_as_the_long_way_does(seed: u64, plain: bool) {
        let options = if plain { generate::Options::plain() } else { generate::Options::default() };
        both(&generate::module(seed, &options).module);
    }
}

#[test]
fn descriptors_share_the_operands_of_their_transfers() {
    let shared =
        (0..20).map(|seed| both(&generate::module(seed, &generate::Options::plain()).module));
    let sum = shared.fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
    assert!(sum.0 > 20, "the short way is taken: {sum:?}");
}
