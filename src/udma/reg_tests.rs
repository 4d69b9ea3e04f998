//! Tests of the register map.

use super::*;

#[test]
fn no_two_registers_of_one_direction_share_a_byte_save_where_the_map_says_so() {
    for dir in Dir::BOTH {
        let mut last = 0;
        for r in QUEUE_REGS.iter().filter(|r| r.has(dir)) {
            assert!(r.offset >= last, "{dir} {}", r.name);
            last = r.offset + r.bytes;
        }
    }
}

#[test]
fn every_engine_register_resolves_to_itself() {
    for r in ENGINE_REGS {
        for i in 0..r.count {
            let place = name_at(r.offset + i * r.stride).map(|p| (p.name, p.index.unwrap_or(0)));
            assert_eq!(place, Some((r.name, i)));
        }
    }
}

#[test]
fn one_offset_means_two_things() {
    let at = |dir| name_at(queue_block(dir, 2) + 0x64).map(|p| p.to_string());
    assert_eq!(at(Dir::Rx).as_deref(), Some("rx q2 q_sw_ctrl"));
    assert_eq!(at(Dir::Tx).as_deref(), Some("tx q2 rlimit+0x4"));
    assert_eq!(queue_reg(Dir::Tx, "q_sw_ctrl").map(|r| r.offset), Some(0xb0));
    assert_eq!(queue_reg(Dir::Rx, "comp_cfg").map(|r| r.offset), Some(0x54));
    assert_eq!(queue_reg(Dir::Rx, "rlimit_mask"), None);
}

#[test]
fn doorbells_resolve_and_the_gap_after_the_last_queue_does_not() {
    assert_eq!(name_at(0x1038).map(|p| (p.queue, p.name)), Some((Some((Dir::Tx, 0)), "drtp_inc")));
    assert_eq!(name_at(0x3_0038).map(|p| p.to_string()).as_deref(), Some("rx q15 drtp_inc"));
    assert_eq!(queue_at(0x1_1000), None);
    assert_eq!(name_at(0x3_a0d0).map(|p| p.to_string()).as_deref(), Some("irq2_mask[3]"));
    assert_eq!(name_at(ENGINE_BLOCK_BYTES), None);
}

#[test]
fn user_space_is_kept_from_160_offsets() {
    assert_eq!((0..ENGINE_BLOCK_BYTES).filter(|&o| user_write_blocked(o)).count(), 160);
}

#[test]
fn engine_bases_and_back() {
    for arch in Generation::ALL {
        for engine in 0..140 {
            if let Some(base) = engine_base(arch, engine) {
                assert_eq!(engine_at(arch, base + 0x38), Some((engine, 0x38)));
            }
        }
    }
    assert_eq!(engine_base(Generation::V2, 34), None);
    assert_eq!(engine_base(Generation::V3, 131), Some(0x4690_0000));
    assert_eq!(engine_base(Generation::V3, 132), None);
}

#[test]
fn pointers_and_states_read_in_words() {
    let rows = describe_pointer(0x8000_0102);
    assert_eq!((rows[0].value, rows[1].value), (2, 0x102));
    let rows = describe_state(0x2010);
    assert_eq!(rows[0].words, "descriptor prefetch: abort");
    assert_eq!(rows[2].words, "stream: active");
    assert_eq!(rows[3].words, "completion: idle");
}
