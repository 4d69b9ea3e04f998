//! Modules: JSON is any tree as text without loss; what is read is written and read as the same.
#![no_main]

use dmadbg::load::bir::{json_to_text, read_json, read_text, text_to_json, write_json, write_text};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = json_to_text("m", bytes) {
        let back = text_to_json("m", &text).expect("printed text is read");
        assert_eq!(json_to_text("m", back.as_bytes()).ok(), Some(text));
    }
    let loaded = match std::str::from_utf8(bytes) {
        Ok(text) if !text.starts_with('{') => read_text("m", text),
        _ => read_json("m", bytes),
    };
    let Ok(loaded) = loaded else { return };
    let json = write_json(&loaded.module);
    let again = read_json("m", json.as_bytes()).expect("a written module is read");
    assert_eq!(write_json(&again.module), json);
    let text = write_text(&again.module).text;
    assert!(read_text("m", &text).is_ok());
});
