//! Arguments of a call: what the strict reader takes has one meaning, and its canonical form keeps it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nod::tool::schema::{args_hash, canonical, coerce, coerce_text, parse_strict, validate};
use serde_json::Value;

const MOST: usize = 64 * 1024;

fuzz_target!(|text: &str| {
    let Ok(value) = parse_strict(text, MOST) else { return };
    if !text.trim().is_empty() {
        // A lax reader, which is what runs elsewhere, reads the same.
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), value);
    }
    let sorted = canonical(&value);
    let again = parse_strict(&sorted, usize::MAX).unwrap();
    assert_eq!(again, value, "{sorted}");
    assert_eq!((canonical(&again), args_hash(&again)), (sorted, args_hash(&value)));
    for tool in nod::tool::all() {
        let def = tool.definition();
        if validate(&def, &value).is_ok() {
            // Whatever fits the schema can be taken apart, or is refused.
            if let Ok(request) = tool.parse(&value) {
                assert!(!request.paths.is_empty() || request.command.is_some());
            }
            let (kept, _) = coerce(&def, value.clone());
            assert!(validate(&def, &kept).is_ok(), "what fits fits still: {}", def.name);
        }
        let (mended, _) = coerce_text(&def, value.clone(), text);
        let (settled, is_mended) = coerce(&def, mended.clone());
        assert_eq!((settled, is_mended), (mended, false), "mended once is mended: {}", def.name);
    }
});
