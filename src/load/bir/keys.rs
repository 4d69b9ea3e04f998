//! The keys of instructions that are understood, as numbers: a span per key is kept for each.

macro_rules! keys {
    ($($variant:ident $text:literal,)*) => {
        /// A key of an instruction.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Key {
            $(#[doc = $text] $variant,)*
            /// Any other.
            Unknown,
        }

        impl Key {
            /// All of them by their texts.
            pub const ALL: &'static [(&'static str, Key)] = &[$(($text, Key::$variant),)*];

            /// By its text.
            pub fn of(text: &str) -> Key {
                let mut at = place(text.as_bytes());
                loop {
                    match TABLE[at % TABLE.len()] {
                        Some((known, key)) if known == text => return key,
                        Some(_) => at += 1,
                        None => return Key::Unknown,
                    }
                }
            }
        }

        /// Each key where its text says, or at the next free place.
        static TABLE: [Option<(&str, Key)>; PLACES] = {
            let all = [$(($text, Key::$variant),)*];
            let mut table = [None; PLACES];
            let mut n = 0;
            while n < all.len() {
                let mut at = place(all[n].0.as_bytes());
                while table[at % PLACES].is_some() {
                    at += 1;
                }
                table[at % PLACES] = Some(all[n]);
                n += 1;
            }
            table
        };
    };
}

/// Places of the table: several for each key, so that the first look mostly tells.
const PLACES: usize = 256;

/// Where a text is looked for.
const fn place(text: &[u8]) -> usize {
    let n = text.len();
    if n == 0 {
        return 0;
    }
    let (first, middle, last) = (text[0] as usize, text[n / 2] as usize, text[n - 1] as usize);
    (n * 7 + first * 31 + middle * 13 + last * 3) % PLACES
}

keys! {
    Name "name", Opcode "opcode", Engine "engine", Ins "ins", Outs "outs",
    Dependencies "dependencies", LoopDependencies "loop_carried_dependencies",
    SyncInfo "sync_info", OnWait "on_wait", OnUpdate "on_update", Debug "debug", Queue "queue",
    DgeType "dge_type", Mode "mode", OobIsErr "oob_is_err", TransposeOp "transpose_op",
    Constants "constants", CceOp "cce_op", CanReadUninit "can_read_uninit", DmaQos "dma_qos",
    RemoteNotification "remote_notification", DmaBlocks "dma_blocks", BlockId "block_id",
    SectionStart "section_start", DmaTrigger "dma_trigger",
    RemoteNotifications "remote_notifications", Op "op", LoopAxis "LoopAxis",
    DynamicAxis "DynamicForLoopAxis", Lb "lb", Ub "ub", Stride "stride", Cond "cond",
    Blocks "blocks", CompOp "comp_op", OnTrue "on_true", OnTrueOld "onTrue", OnFalse "on_false",
    OnFalseOld "onFalse", Target "target", Is64bit "is_64bit", SemaGroup "sema_group",
    NumTilingDimensions "num_tiling_dimensions", Predicates "predicates", Duplicate "duplicate",
    ReplicaGroups "replica_groups", EngineId "engine_id",
}
