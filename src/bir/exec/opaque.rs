//! Instructions that move no data by rules known here: MODEL, a value that depends on what they
//! read, on which one they are, and on how often they have run (`docs/execution.md`, "Opaque
//! instructions").

use super::action::Action;
use super::apply::gather;
use super::control::View;
use super::resolve::{Base, Ctx, Env};
use crate::bir::memory::Read;
use crate::bir::module::{Finding, Inst, Operand, Part};
use crate::bir::{Layout, Walk};

/// What an opaque instruction writes. Operands whose place is not known (an index list, a
/// register that nothing was written to, a pattern outside its location) are left out: their
/// meaning is the engine's, not ours.
///
/// # Errors
/// An operand is too large.
pub(super) fn execute(
    inst: &Inst,
    visit: u64,
    view: &View<'_>,
    layout: &Layout,
    mem: &dyn Read,
) -> Result<Action, Finding> {
    let env: &dyn Env = view;
    let ctx = Ctx { inst, env, layout, mem, oob_is_err: false, can_read_uninit: true };
    let mut seed = mix(u64::from(inst.pos.0), visit);
    for (k, o) in (0u32..).zip(&inst.ins) {
        if let Some(walk) = place(&ctx, Part::In(k), o)? {
            seed = mix(seed, u64::from(k));
            let (bytes, _) = gather(mem, &walk);
            for word in bytes.chunks(8) {
                seed = mix(seed, word.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b)));
            }
        }
    }
    let mut writes = Vec::new();
    for (k, o) in (0u32..).zip(&inst.outs) {
        if let Some(walk) = place(&ctx, Part::Out(k), o)? {
            let seed = mix(seed, u64::from(k));
            let words = (0..walk.bytes().div_ceil(8)).flat_map(|n| mix(seed, n).to_le_bytes());
            let bytes: Vec<u8> = words.take(walk.bytes() as usize).collect();
            writes.push((walk, bytes));
        }
    }
    Ok(Action::Opaque { pos: inst.pos, writes })
}

fn place(ctx: &Ctx<'_>, part: Part, operand: &Operand) -> Result<Option<Walk>, Finding> {
    let Ok(a) = ctx.access(part, operand) else { return Ok(None) };
    let Ok(Base::At(offset, _)) = ctx.base(a) else { return Ok(None) };
    let Ok(walk) = ctx.walk(a, &a.pattern.pairs, offset) else { return Ok(None) };
    ctx.check_size(part, walk.bytes())?;
    Ok(Some(walk))
}

/// Mixes a number into another, so that each bit of either matters.
fn mix(a: u64, b: u64) -> u64 {
    let mut x = a.rotate_left(17) ^ b.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}
