//! The assembler of streamed calls, and what reads their arguments: any fragments in any order end in calls with a name, each
//! of a place of its own, and in arguments that are an object.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nod::provider::arguments::parse_arguments;
use nod::provider::assembly::{Assembler, Fragment, Piece};

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let mut assembler = Assembler::new(vec!["ls".into(), "read_file".into()]);
    let mut places = 0;
    // One fragment a line: index, id, name, kind and arguments, with tabs between.
    for line in text.lines() {
        let mut fields = line.splitn(5, '\t');
        let mut next = || fields.next().unwrap_or_default();
        let (index, id, name, kind, arguments) = (next(), next(), next(), next(), next());
        let arguments = match kind {
            "" => Piece::Nothing,
            "o" => Piece::Object(arguments),
            _ => Piece::Text(arguments),
        };
        match assembler.push(Fragment { index: index.parse().ok(), id, name, arguments }) {
            Ok(place) => {
                assert!(place <= places, "places have no holes");
                places = places.max(place + 1);
            }
            Err(_) => return,
        }
    }
    let calls = assembler.finish();
    assert!(calls.windows(2).all(|pair| pair[0].slot < pair[1].slot), "calls keep their order");
    for call in calls {
        assert!(!call.name.is_empty() && call.slot < places);
        let arguments = parse_arguments(&call.arguments);
        assert!(arguments.args.is_object());
        assert!(arguments.error.is_none() || arguments.raw.is_some(), "what did not parse is kept");
    }
});
