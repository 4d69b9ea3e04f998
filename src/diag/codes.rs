//! The table of diagnostic codes. A code, once given, keeps its meaning.
//!
//! `D0xx` image and descriptor, `R0xx` ring and run, `S0xx` script and command line.
//! `dmadbg explain CODE` and `docs/codes.md` are generated from it.

use super::Severity::{self, Error, Note, Warning};

/// What a code means.
#[derive(Debug, PartialEq, Eq)]
pub struct CodeInfo {
    /// The code.
    pub code: &'static str,
    /// Usual severity.
    pub severity: Severity,
    /// A few words.
    pub title: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// How it arises.
    pub cause: &'static str,
    /// What to do.
    pub fix: &'static str,
}

const fn code(
    (code, severity): (&'static str, Severity),
    title: &'static str,
    meaning: &'static str,
    cause: &'static str,
    fix: &'static str,
) -> CodeInfo {
    CodeInfo { code, severity, title, meaning, cause, fix }
}

/// Finds a code, in any letter case.
pub fn lookup(name: &str) -> Option<&'static CodeInfo> {
    CODES.iter().find(|c| c.code.eq_ignore_ascii_case(name))
}

/// The table, sorted by code.
pub static CODES: &[CodeInfo] = &[
    code(
        ("D001", Error),
        "empty input",
        "There are no bytes to read.",
        "An empty file, or a copy that failed before its first byte.",
        "Copy the ring out again.",
    ),
    code(
        ("D002", Error),
        "size is no multiple of 16",
        "A raw image is a row of 16-byte descriptors; this one ends inside one.",
        "A file cut short, or with a header in front.",
        "Cut the file at a slot boundary, or give the ring's exact bytes.",
    ),
    code(
        ("D003", Error),
        "unknown kind of input",
        "The content is none of the forms that can be read.",
        "Another format, or text whose first word is not known.",
        "`docs/formats.md` lists the forms and how each is recognised.",
    ),
    code(
        ("D004", Error),
        "text expected",
        "The name says text, the content is binary.",
        "A file with the wrong extension, or one that was overwritten.",
        "Rename the file, or give the right one.",
    ),
    code(
        ("D005", Error),
        "format not supported",
        "The content is a known format that cannot be opened yet.",
        "A NEFF, a column log (.colz) or CBOR file.",
        "Extract the descriptor ring or the module from it first.",
    ),
    code(
        ("D006", Error),
        "direction unclear",
        "The words fit neither Tx nor Rx nor alternating pairs.",
        "Word 1 is non-zero in some used slots and zero in others.",
        "Say it: --ring tx, --ring rx or --ring pairs.",
    ),
    code(
        ("D007", Error),
        "cannot be read",
        "The system refused to open or read it.",
        "It does not exist, permission is missing, or the device failed.",
        "See the system's message.",
    ),
    code(
        ("D008", Error),
        "no ring image in the directory",
        "A dump directory needs files named *.tx.bin or *.rx.bin.",
        "An empty directory or other names.",
        "Rename the images, or name them one by one.",
    ),
    code(
        ("D009", Note),
        "larger than a legal ring",
        "The image has more slots than a ring may have (2^24 - 16).",
        "Several rings in one file, or a dump of a whole memory.",
        "It can be browsed and checked; for stepping give a window: --slots A:B.",
    ),
    code(
        ("D010", Warning),
        "reserved bits set",
        "Bits that must be zero are not.",
        "Garbage, another stride, or a newer format.",
        "Clear the bits, or check that the image starts at a slot boundary.",
    ),
    code(
        ("D011", Note),
        "length 0 stands for 65536",
        "The length field is 0, which moves 64 KiB.",
        "A 64 KiB chunk, or a copy of size 0 that nobody refused.",
        "If nothing was to be moved, do not stage it.",
    ),
    code(
        ("D012", Note),
        "META index bit 2 is unknown",
        "The index of a META descriptor is laid over FIRST, so its bit 2 cannot be read back.",
        "How META descriptors are built.",
        "Take the index as one of two.",
    ),
    code(
        ("D013", Note),
        "operation is ambiguous",
        "More than one class fits this word.",
        "ssmae_op 4: min_max puts a data type where the others put their type.",
        "Every reading is listed, the most likely first.",
    ),
    code(
        ("D014", Warning),
        "operation is unknown",
        "No known class has this selector.",
        "Garbage, or an operation that is not publicly known.",
        "Compare with the classes in `docs/wire.md`.",
    ),
    code(
        ("D015", Note),
        "symbolic address",
        "Bit 61 is set: the address names a variable and an offset.",
        "A template that was not resolved yet.",
        "Declare the variable, or resolve the template.",
    ),
    code(
        ("D016", Warning),
        "second buffer pointer set",
        "Word 1 of an Rx descriptor is not zero.",
        "A Tx descriptor in an Rx ring, or garbage: it is zero on memory-to-memory queues.",
        "Check the direction of the image.",
    ),
    code(
        ("D017", Error),
        "phase does not fit",
        "A slot carries another phase than its place in the ring asks for.",
        "A slot of an older lap was taken for a new one, or the ring id was not advanced.",
        "Compare with the slots around it; phases change only where the newest lap ends.",
    ),
    code(
        ("D018", Error),
        "packet flags are wrong",
        "FIRST, LAST and CONCAT do not follow a packet's pattern.",
        "A chain that does not start with FIRST|CONCAT, or does not end with LAST.",
        "Single: FIRST|LAST. Chain: FIRST|CONCAT, CONCAT .., LAST.",
    ),
    code(
        ("D019", Error),
        "too many descriptors in a packet",
        "A packet has more descriptors than the engine was programmed to accept.",
        "Packing with another generation's or profile's limit.",
        "Split the packet.",
    ),
    code(
        ("D020", Error),
        "packet too long",
        "A packet has more than 0xFFFFF bytes.",
        "Packing without the byte cap.",
        "Split the packet.",
    ),
    code(
        ("D021", Error),
        "Tx and Rx disagree",
        "The bytes that a packet streams do not end where an Rx descriptor ends.",
        "Rings authored with different chunk sizes, or one of them shifted by a slot.",
        "Compare the two rings slot by slot.",
    ),
    code(
        ("D022", Note),
        "one direction only",
        "Decoding and checking work, stepping needs the other ring too.",
        "Only one of the two images was given.",
        "Give both: --tx A --rx B.",
    ),
    code(
        ("D023", Warning),
        "bit of a later generation",
        "The notification bit is set, which only v4 has.",
        "An image from v4, or a write barrier put two bits too high.",
        "Say --arch v4 if it is from there.",
    ),
    code(
        ("D024", Warning),
        "strongly ordered write on v2",
        "Only kernel profiles set this bit on v2; user space refuses to.",
        "A ring authored for a later generation.",
        "Use DMB or the write barrier.",
    ),
    code(
        ("D025", Error),
        "limit exceeded",
        "A count or size in the input is beyond what can be read.",
        "A damaged or hostile file.",
        "`docs/limits.md` lists the bounds.",
    ),
    code(
        ("D026", Note),
        "first used slot is not slot 0",
        "The ring's order was inferred from phases or from the first used slot.",
        "An image of a ring that had wrapped, or a window of one.",
        "--start N gives another order.",
    ),
    code(
        ("D027", Warning),
        "strides overlap",
        "Neighbouring descriptors write bytes that the other writes too.",
        "A step smaller than the length.",
        "Check the destination stride.",
    ),
    code(
        ("D028", Note),
        "generation or queue assumed",
        "An image does not name its generation (told from the host window, else v3) or a queue of its own.",
        "A raw image: the bits are the same under every generation and on every queue.",
        "Say it: --arch v2, v3 or v4; --engine, --queue.",
    ),
    code(
        ("D029", Warning),
        "left out of the program",
        "A ring of the input, or a part of one, is shown but not part of what is stepped.",
        "Rings of several generations in one directory, ring sizes that no queue may have, too many batches.",
        "Open it alone, or give a window: --slots A:B.",
    ),
    code(
        ("D030", Error),
        "container version",
        "The program image has a version that this build does not read.",
        "It was written by a newer build.",
        "Use a newer dmadbg.",
    ),
    code(
        ("D031", Error),
        "container is truncated",
        "The program image ends before what it announces.",
        "A copy that was cut, or a file still being written.",
        "Copy it again.",
    ),
    code(
        ("D032", Error),
        "checksum differs",
        "The content is not what was written.",
        "A flipped bit, or an edit by hand.",
        "Copy it again, or edit the assembly and assemble.",
    ),
    code(
        ("D033", Error),
        "container contradicts itself",
        "A count, length or reference inside the program image cannot be true.",
        "A damaged or hostile file.",
        "Write it again with `dmadbg asm`.",
    ),
    code(
        ("D034", Note),
        "unknown section kept",
        "A section of a kind that this build does not know is carried along unread.",
        "It was written by a newer build.",
        "Nothing: it is written back as it was.",
    ),
    code(
        ("D040", Error),
        "bad hex digit",
        "A character that is no hex digit stands where one must.",
        "A line of other text among the hex, or a typing error.",
        "Remove or correct the line.",
    ),
    code(
        ("D041", Error),
        "hex text has a gap",
        "The offset in front of a line does not follow from the lines before.",
        "Lines were left out when copying.",
        "Copy the text whole.",
    ),
    code(
        ("D042", Error),
        "hex text ends inside a word",
        "The digits do not make whole bytes or words.",
        "A line cut short.",
        "Copy the text whole.",
    ),
    code(
        ("D050", Error),
        "assembly syntax",
        "The line is not a statement of the assembly.",
        "A typing error.",
        "`docs/assembly.md` has the grammar.",
    ),
    code(
        ("D051", Error),
        "name does not resolve",
        "A queue, region or variable is used that is not declared.",
        "A typing error, or a missing declaration.",
        "Declare it, or correct the name.",
    ),
    code(
        ("D052", Error),
        "value out of range",
        "A number does not fit the field or limit that it is for.",
        "A typing error, or another unit.",
        "See the message for the range.",
    ),
    code(
        ("D053", Error),
        "declared twice",
        "Two declarations have the same name or id.",
        "A copied line.",
        "Rename one.",
    ),
    code(
        ("D054", Error),
        "regions overlap",
        "Two memory regions, or a region and a ring, share bytes.",
        "A wrong base or length.",
        "Move one of them.",
    ),
    code(
        ("D060", Error),
        "encode request",
        "A line of input for `encode` cannot be understood.",
        "Not a JSON object, a key of the wrong type, or an unknown name.",
        "`docs/json.md` has the form.",
    ),
    code(
        ("R001", Error),
        "engine fault",
        "The engine found a cause that aborts it.",
        "See the cause's name: `dmadbg explain NAME`.",
        "Mend the descriptor that it names; the queue must be initialised again.",
    ),
    code(
        ("R002", Error),
        "timeout",
        "The marker did not appear within the wait's budget.",
        "The engine stalled, faulted, was never rung, or is too slow for the budget.",
        "Look at the engine's state and at what is posted; the batch is not acked and its slots are lost.",
    ),
    code(
        ("R003", Error),
        "driver call failed",
        "A call of the host script returned an error.",
        "See the return code: -22 invalid, -12 no free slot, -1 refused.",
        "`docs/driver.md` lists every code by call.",
    ),
    code(
        ("R004", Error),
        "kernel assertion",
        "The driver would stop at an assertion here.",
        "An RX doorbell of 0, or a ring whose size is no power of two, under 2.24 or 2.25.",
        "Later releases return an error instead; the call is wrong either way.",
    ),
    code(
        ("R005", Warning),
        "TX streams before RX is armed",
        "The Tx ring has work, the Rx ring has no descriptor to put it in. MODEL: the engine stalls.",
        "The RX doorbell is missing or too small.",
        "Ring RX first, for as many descriptors.",
    ),
    code(
        ("R006", Warning),
        "doorbell larger than what was staged",
        "The engine was told of more descriptors than were written.",
        "A wrong count: nobody in the driver checks it.",
        "Ring for what was staged.",
    ),
    code(
        ("R007", Error),
        "ring overrun",
        "A slot was written that the engine had not retired yet, or more is posted than the ring holds.",
        "Slots acked that were never outstanding, or a doorbell above the ring's size.",
        "Ack only what the marker covers.",
    ),
    code(
        ("R008", Warning),
        "no fence before the doorbell",
        "Nothing orders the descriptor writes before the doorbell write.",
        "A doorbell register written directly.",
        "Fence, then ring.",
    ),
    code(
        ("R009", Warning),
        "never written bytes are read",
        "The source has bytes that nobody wrote.",
        "A buffer that was not filled, or a wrong source address.",
        "Fill it first, or correct the address.",
    ),
    code(
        ("R010", Error),
        "address outside every region",
        "No memory is known at this address.",
        "A wrong address, or a region that the program does not declare.",
        "Correct it, or declare the region.",
    ),
    code(
        ("R011", Error),
        "operation is not executed",
        "The model cannot execute this operation class: its payload is not publicly known.",
        "A compute, split or transpose descriptor in a raw ring.",
        "Browse and check the ring; stepping stops here.",
    ),
    code(
        ("R012", Note),
        "source bytes are unknown",
        "The image does not hold the source's bytes; a pattern made from the address stands for them.",
        "A raw ring without memory contents.",
        "Give the contents in a program image.",
    ),
    code(
        ("R013", Warning),
        "a copy of nothing moves 64 KiB",
        "Size 0 was asked for and is encoded as 65536.",
        "Nothing between the caller and the engine refuses size 0.",
        "Do not stage it.",
    ),
    code(
        ("R014", Warning),
        "ack of what is not outstanding",
        "More was acknowledged than is posted.",
        "A wrong count: the driver does not check it.",
        "Ack the batch's count once.",
    ),
    code(
        ("R015", Warning),
        "slots are lost",
        "A batch ended without being acked; its slots stay taken until the queue is initialised again.",
        "A timeout, or a copy that ran out of slots in the middle.",
        "Initialise the queue again.",
    ),
    code(
        ("R016", Warning),
        "marker already set",
        "The marker word held the marker before the batch was rung.",
        "It was not seeded, or an earlier batch's marker is still there.",
        "Seed both words before ringing.",
    ),
    code(
        ("R017", Error),
        "ring is full",
        "A copy found no free slot in the middle of a batch: what it staged is never rung.",
        "More chunks than free slots.",
        "Use a larger ring, or smaller copies.",
    ),
    code(
        ("R018", Warning),
        "cause set but masked",
        "The engine recorded a cause whose abort is masked on this engine, and executed the descriptor.",
        "Ring id checks are masked on the data engines of v3 and v4.",
        "Mend the phase all the same: it aborts on other engines.",
    ),
    code(
        ("R019", Error),
        "symbolic address has no variable",
        "A template names a variable id that the program does not declare.",
        "An unresolved template.",
        "Declare the variable.",
    ),
    code(
        ("R020", Note),
        "order of the slots is assumed",
        "The image does not say where the newest lap starts.",
        "A copied-out ring has no cursors.",
        "--start N gives another start.",
    ),
    code(
        ("R021", Note),
        "last batch has no completion pair",
        "The slots after the last completion pair are staged but not rung.",
        "The image was taken while a batch was being staged.",
        "--batch all rings them all.",
    ),
    code(
        ("R022", Note),
        "first batch may be cut",
        "The ring had wrapped: its oldest batch may have lost its beginning.",
        "Older slots were overwritten by the newest lap.",
        "Judge the first batch with care.",
    ),
    code(
        ("R023", Note),
        "no completion pair in the image",
        "All slots are taken as one batch, acknowledged when the engine is idle; the image does not show whether it was ever rung.",
        "A ring authored in user space, or another way to see completion.",
        "--batch marker|N|all chooses.",
    ),
    code(
        ("R030", Error),
        "marker overtakes data",
        "A poll may see the marker before bytes of its batch are written. MODEL: `docs/order.md`.",
        "No barrier between the batch's data and its marker, or a marker word that an earlier batch also writes.",
        "Put a write barrier or a DMB on the last data descriptor, or SOW on the marker; give each batch in flight a marker of its own.",
    ),
    code(
        ("R031", Error),
        "read after write is not ordered",
        "Bytes are read that an earlier write may not have written yet. MODEL: `docs/order.md`.",
        "A copy whose source another copy in flight writes, or host data stored without a fence.",
        "Put a DMB on the descriptor that reads, or wait for the batch that writes; fence before the doorbell.",
    ),
    code(
        ("R032", Error),
        "write after read is not ordered",
        "Bytes are written that an earlier read may not have read yet. MODEL: `docs/order.md`.",
        "A source or a marker word that is stored to again before its batch is seen complete.",
        "Wait for the batch that reads.",
    ),
    code(
        ("R033", Error),
        "write after write is not ordered",
        "Two writes of the same bytes may come in either order. MODEL: `docs/order.md`.",
        "Two queues, or a queue and the host, that write the same bytes without waiting for each other.",
        "Wait for the one before the other is begun.",
    ),
    code(
        ("R034", Error),
        "slot reuse against fetch",
        "A slot is written again that the engine may not have fetched yet. MODEL: `docs/order.md`.",
        "Slots that are acked or overwritten before a poll saw their batch complete.",
        "Ack only what a poll has seen.",
    ),
    code(
        ("R035", Error),
        "fetch of an old slot",
        "The engine may fetch a slot before the descriptor written there is visible to it. MODEL: `docs/order.md`.",
        "A doorbell register written without a fence after the descriptors.",
        "Fence, then ring.",
    ),
    code(
        ("R036", Warning),
        "check of order is not complete",
        "The check of a run's order met one of its bounds; races beyond it are not listed.",
        "A very long run, or one that touches very many separate stretches of memory.",
        "Check a shorter part of the program.",
    ),
    code(
        ("S001", Error),
        "unknown command",
        "No command has this name or prefix.",
        "A typing error.",
        "`help` lists the commands.",
    ),
    code(
        ("S002", Error),
        "ambiguous command",
        "Several commands begin with this prefix.",
        "Too short a prefix.",
        "Write one more letter.",
    ),
    code(
        ("S003", Error),
        "wrong argument",
        "An argument is missing, superfluous, or not of the kind that the command takes.",
        "A typing error.",
        "`help COMMAND` shows what it takes.",
    ),
    code(
        ("S004", Error),
        "expression syntax",
        "The expression cannot be read.",
        "A missing operand, bracket or operator.",
        "`docs/commands.md` has the grammar.",
    ),
    code(
        ("S005", Error),
        "name in an expression",
        "The name stands for nothing here.",
        "A typing error, or a queue or slot that does not exist.",
        "See the message for what exists.",
    ),
    code(
        ("S006", Error),
        "expression has no value",
        "It divides by zero, or reads bytes that are unknown or were never written.",
        "See the message.",
        "Guard it, or give the memory contents.",
    ),
    code(
        ("S007", Error),
        "assertion failed",
        "An `assert` of the script is not true here.",
        "The program under test is wrong, or the assertion is.",
        "Print its parts at this event.",
    ),
    code(
        ("S008", Error),
        "expectation not met",
        "An `expect` of the script did not come true.",
        "See the message.",
        "See the message.",
    ),
    code(
        ("S009", Error),
        "script cannot be read",
        "A script or an init file does not exist, is too large, or sources itself too deeply.",
        "See the message.",
        "See the message.",
    ),
    code(
        ("S010", Error),
        "cannot step",
        "The program has nothing to run, or not enough of it.",
        "One ring direction only, or an image without a host script.",
        "See the message.",
    ),
    code(
        ("S011", Error),
        "command line",
        "An option's value is wrong, or options contradict each other.",
        "A typing error.",
        "`dmadbg help` shows what it takes.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_sorted_and_unique() {
        assert!(CODES.windows(2).all(|w| w[0].code < w[1].code));
    }

    #[test]
    fn every_code_is_explained() {
        for c in CODES {
            for text in [c.title, c.meaning, c.cause, c.fix] {
                assert!(!text.is_empty(), "{}", c.code);
            }
            assert!(c.meaning.ends_with('.') && c.cause.ends_with('.'), "{}", c.code);
        }
    }
}
