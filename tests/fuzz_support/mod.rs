//! Seeds made of the samples, a mutator that always does the same, and an allocator that counts.

mod twins;

use dmadbg::load::{asm, bir, container, disasm};
use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Bytes that are allocated, and the most that were.
static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

struct Counting;

fn more(n: usize) {
    MOST.fetch_max(NOW.fetch_add(n, Relaxed) + n, Relaxed);
}

// SAFETY: everything is handed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, l: Layout) -> *mut u8 {
        more(l.size());
        unsafe { System.alloc(l) }
    }
    unsafe fn alloc_zeroed(&self, l: Layout) -> *mut u8 {
        more(l.size());
        unsafe { System.alloc_zeroed(l) }
    }
    unsafe fn dealloc(&self, p: *mut u8, l: Layout) {
        NOW.fetch_sub(l.size(), Relaxed);
        unsafe { System.dealloc(p, l) }
    }
    unsafe fn realloc(&self, p: *mut u8, l: Layout, size: usize) -> *mut u8 {
        more(size);
        NOW.fetch_sub(l.size(), Relaxed);
        unsafe { System.realloc(p, l, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// The most bytes that are allocated at a time while `f` runs, beyond those before.
pub fn peak_of(f: impl FnOnce()) -> usize {
    let before = NOW.load(Relaxed);
    MOST.store(before, Relaxed);
    f();
    MOST.load(Relaxed).saturating_sub(before)
}

/// Files of a folder by their endings, in order.
fn files(folder: &str, ending: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == ending));
    paths.sort();
    paths.iter().map(|p| std::fs::read(p).unwrap()).collect()
}

fn texts(folder: &str, ending: &str) -> Vec<String> {
    files(folder, ending).into_iter().map(|b| String::from_utf8(b).unwrap()).collect()
}

/// Every program of the samples.
fn programs() -> Vec<dmadbg::engine::program::Program> {
    texts("sample-programs", "dma").iter().map(|t| asm::assemble(t).unwrap().program).collect()
}

/// A ring of pairs as a driver would leave it: copies, and completions.
fn pairs(n: u64) -> Vec<u8> {
    let mut out = Vec::new();
    for i in 0..n {
        let last = i % 4 == 3;
        let len = if last { 4u32 } else { 512 };
        let (src, dst) = match last {
            true => (0x4000_6000_1000, 0x4000_6000_1004),
            false => (0x4000_0100_0000 + i * 512, 0x10_0000_0000 + i * 512),
        };
        out.extend((0x0d00_0000 | len).to_le_bytes());
        out.extend(0x0108_0003u32.to_le_bytes());
        out.extend(u64::to_le_bytes(src));
        out.extend((0x0100_0000 | len).to_le_bytes());
        out.extend(0u32.to_le_bytes());
        out.extend(u64::to_le_bytes(dst));
    }
    out
}

/// Hex text in every form that is read.
fn hex_forms(bytes: &[u8]) -> Vec<String> {
    let words = |b: &[u8]| -> Vec<String> {
        b.chunks(4).map(|w| format!("{:08x}", u32::from_le_bytes(w.try_into().unwrap()))).collect()
    };
    let plain = |b: &[u8]| b.iter().map(|b| format!("{b:02x}")).collect::<String>();
    let spaced = |b: &[u8]| b.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(" ");
    let lines = |f: &dyn Fn(usize, &[u8]) -> String| {
        bytes.chunks(16).enumerate().map(|(i, b)| f(i * 16, b) + "\n").collect::<String>()
    };
    vec![
        lines(&|at, b| {
            let groups: Vec<String> = b.chunks(2).map(plain).collect();
            format!("{at:08x}: {}  ................", groups.join(" "))
        }),
        lines(&|_, b| plain(b)),
        lines(&|at, b| {
            format!("{at:08x}  {}  {}  |................|", spaced(&b[..8]), spaced(&b[8..]))
        }),
        lines(&|at, b| format!("{at:07o} {}", words(b).join(" "))),
        lines(&|at, b| format!("[    1.0] neuron: desc {}: {}", at / 16, words(b).join(" "))),
        lines(&|_, b| words(b).join(" ")),
        lines(&|_, b| {
            words(b).iter().map(|w| format!("0x{w}")).collect::<Vec<_>>().join(", ")
        }),
        "00000000  00 10 00 0d 03 00 08 01  00 00 00 00 00 40 00 00  |................|\n*\n00000400\n"
            .to_owned(),
    ]
}

/// The sections of a program image one after the other, each behind its word of four letters.
fn sections(image: &[u8]) -> Vec<u8> {
    let number = |at: usize| u64::from_le_bytes(image[at..at + 8].try_into().unwrap()) as usize;
    let all = image[32..].chunks(32).take(image[12].into()).enumerate();
    let part = |(k, entry): (usize, &[u8])| {
        let (at, len) = (number(k * 32 + 40), number(k * 32 + 48));
        [&entry[..4], &image[at..at + len]].concat()
    };
    all.flat_map(part).collect()
}

/// What a target begins with, made of the samples.
pub fn seeds(target: &str) -> Vec<Vec<u8>> {
    let of = |texts: Vec<String>| texts.into_iter().map(String::into_bytes).collect::<Vec<_>>();
    // The first byte of some targets chooses how the rest is read.
    let chosen = |all: Vec<Vec<u8>>, ways: u8| {
        all.into_iter()
            .enumerate()
            .map(|(n, mut b)| {
                b.insert(0, n as u8 % ways);
                b
            })
            .collect::<Vec<_>>()
    };
    let images =
        || programs().iter().map(|p| container::write(p).unwrap()).collect::<Vec<Vec<u8>>>();
    let listings =
        || programs().iter().filter_map(|p| disasm::disassemble(p).ok()).map(|l| l.text).collect();
    let modules = || texts("sample-programs", "bir");
    let jsons = || {
        let all = modules();
        let read = all.iter().filter_map(|t| bir::read_text("m", t).ok());
        read.map(|l| bir::write_json(&l.module)).collect::<Vec<String>>()
    };
    let scripts = || {
        let mut all = texts("sample-programs", "dbg");
        all.extend(texts("tests/scenarios", "dbg"));
        all.push(
            "break marker\ncommands\n  step\n  print event\nend\ncontinue\nsource b.dbg\n".into(),
        );
        all.push("step 3 event\nnext\ninfo rings\nx/4wx 0\nmark a\ngoto a\nreverse-step\n".into());
        all.push("set tx[0].length = 64\ninject PREFETCH_RING_ID\nundo\nredo\nwhere\nwhy\n".into());
        all.push("find tx length > 64\nlast-write tx[1]\norigin 0x10000000\ninfo regs\n".into());
        all
    };
    match target {
        "load" => {
            let mut all = of(texts("sample-programs", "dma"));
            all.extend(images());
            all.extend(of(modules()));
            all.push(pairs(24));
            all
        }
        "raw" => {
            let half = |parity| {
                let all = pairs(16);
                all.chunks(16).skip(parity).step_by(2).flatten().copied().collect::<Vec<u8>>()
            };
            let all = [pairs(16), half(0), half(1), vec![0; 512], pairs(33)];
            (0..64u8)
                .map(|n| [vec![n * 4 + n % 4], all[usize::from(n) % 5].clone()].concat())
                .collect()
        }
        "hex" => of(hex_forms(&pairs(4))),
        "container" => images().into_iter().flat_map(|i| [sections(&i), i]).collect(),
        "assembly" => {
            let mut all = texts("sample-programs", "dma");
            let listings: Vec<String> = listings();
            all.extend(listings);
            of(all)
        }
        "bir_text" | "lower" => of(modules()),
        "bir_json" => of(jsons()),
        "script" => of(scripts()),
        "expression" => of(vec![
            "tx[0].length > 64 && rx[1].first".into(),
            "q0.tx[3].address + 0x10 == $x * 2".into(),
            "sum(tx[0..4].length)".into(),
            "reg(0x38) & ~1 | 3 << 2".into(),
            "event == 4 || fault".into(),
            "-1 / 0 % 3".into(),
            "((((1))))".into(),
        ]),
        "session" => chosen(of(scripts()), 4),
        "config" => {
            let page = dmadbg::ui::config::Config::default().to_toml();
            of(vec![page, "[keys]\nX = \"goto 41\"\nF5 = \"step\"\n".into()])
        }
        "lesson" => of(texts("lessons", "toml")),
        "file_test" => {
            let mut all = modules();
            all.extend(texts("sample-programs", "dma"));
            all.push("; test: check --allow D011\n; expect: error[D011]: tx[3]\n".into());
            all.push("bir gen3 ; test: run\n; prints:\n; | a\n; status: 1\n".into());
            chosen(of(all), 4)
        }
        "memory" => of(vec![
            "{\"a\": \"00ff10\", \"b\": \"\"}".into(),
            "{\"x\\u0041\": \"0011 2233\"}".into(),
        ]),
        "keys" => of(vec!["dd<Tab><Ctrl-p>:goto 4<Enter><Less>".into(), "<F5><PgDn>gG".into()]),
        "kept" => of(vec![
            "lesson words 1 3\n# mine\nlesson other x\n".into(),
            dmadbg::ui::arrange::Arrangement::default().to_text() + "tx rx 4\nsource 8\n",
        ]),
        "screen" => vec![
            b"\x00\x78\x24dssScc?\x1b:break marker\rc:goto 4\r\t\tjjjkk/1\r\x10step\r".to_vec(),
            b"\x01\x50\x18\t\t\x80\x81\x82\x83 \x90\x95\x9fGgzZq".to_vec(),
            b"\x02\xa0\x2d:find tx length > 4\rnN\x1b:x/4wx 0\r\xa0\r\x01\x02\x03\x04\x05".to_vec(),
            b"\x03\xc7\x3c:info checks\r\x1b\t\t\t\r\x1bw:why\r:undo\r".to_vec(),
        ],
        _ => twins::seeds(target, &texts("sample-programs", "dma"), &modules()),
    }
}

/// Words that stand in the way of parsers and of arithmetic.
const WORDS: &[&str] = &[
    "0",
    "1",
    "-1",
    "16",
    "255",
    "65535",
    "65536",
    "4294967295",
    "0x100000000",
    "9223372036854775807",
    "18446744073709551615",
    "0xfffffffffffffff0",
    "99999999999999999999",
    "1e308",
    "*",
    "\"",
    "\\",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "\n",
    "\u{feff}",
    "\u{202e}",
    "\u{1b}[31m",
    "\u{9b}2J",
    "\0",
    "é",
    "\u{1f980}",
    ";",
    "#",
    "=",
    ":",
    "..",
    "end",
    "repeat",
    "<",
    ">",
    "%",
    "~",
    "true",
    "null",
];

/// Changes of what is known, the same every time.
pub struct Mutator(u64);

impl Mutator {
    pub fn new(seed: u64) -> Mutator {
        Mutator(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.bits() >> 33) as usize % n.max(1)
    }

    /// One of those that are known, changed in a few places.
    pub fn change(&mut self, known: &[Vec<u8>]) -> Vec<u8> {
        let mut b = known[self.below(known.len())].clone();
        for _ in 0..=self.below(4) {
            let at = self.below(b.len() + 1);
            let some = 1 + self.below(16);
            match self.below(9) {
                0 if at < b.len() => b[at] = self.bits() as u8,
                1 if at < b.len() => b[at] ^= 1 << self.below(8),
                2 => {
                    let word = WORDS[self.below(WORDS.len())];
                    b.splice(at..at, word.bytes());
                }
                3 => {
                    // A number, or a word, for another.
                    let from = b[..at].iter().rposition(|c| !c.is_ascii_alphanumeric());
                    let to = b[at..].iter().position(|c| !c.is_ascii_alphanumeric());
                    let (from, to) = (from.map_or(0, |n| n + 1), to.map_or(b.len(), |n| at + n));
                    let word = WORDS[self.below(WORDS.len())];
                    b.splice(from..to.max(from), word.bytes());
                }
                4 => drop(b.drain(at..(at + some).min(b.len()))),
                5 => {
                    let part = b[at..(at + some * 8).min(b.len())].to_vec();
                    let times = 1 + self.below(20);
                    for _ in 0..times {
                        b.splice(at..at, part.iter().copied());
                    }
                }
                6 => {
                    let other = &known[self.below(known.len())];
                    let from = self.below(other.len() + 1);
                    let part = other[from..(from + some * 16).min(other.len())].to_vec();
                    b.splice(at..at, part);
                }
                7 => b.truncate(at),
                _ if at + 8 <= b.len() => {
                    const EDGES: [u64; 6] = [0, u64::MAX, 1 << 60, 1 << 31, 0xffff_fff0, 1 << 24];
                    let n = [1, 2, 4, 8][self.below(4)];
                    b[at..at + n].copy_from_slice(&EDGES[self.below(6)].to_le_bytes()[..n]);
                }
                _ => {}
            }
        }
        b.truncate(64 << 10);
        b
    }
}
