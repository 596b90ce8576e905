//! A path's text: whatever is typed, what comes out is inside its folder in normal form, or refused; and what is read
//! once more is the same.
#![no_main]

use std::path::PathBuf;

use libfuzzer_sys::fuzz_target;
use nod::ir::{Code, Failure};
use nod::policy::{Lexical, NameVerdict, Platform, RelPath, Surroundings, blocked_path, judge_name, lexical};

fuzz_target!(|text: &str| {
    for (platform, home, roots) in [
        (Platform::Linux, "/home/me", ["/projects/ws", "/home/me/work"]),
        (Platform::MacOs, "/Users/me", ["/Projects/ws", "/Users/me/Work"]),
        (Platform::Windows, r"C:\Users\me", [r"C:\projects\ws", r"D:\work"]),
    ] {
        let data_dir = PathBuf::from(home).join("nod-data");
        let surroundings = Surroundings { home: Some(home.into()), data_dir: Some(data_dir), platform };
        let roots = roots.map(PathBuf::from);
        let read = |text: &str| lexical(text, &roots, &[], &surroundings);
        let judged = read(text);
        check(&judged, platform, &surroundings, &roots);
        if is_by_name(&judged) {
            // No other letters open what its name closes.
            for other in [text.to_ascii_uppercase(), text.to_ascii_lowercase()] {
                assert!(read(&other).is_err(), "{text:?} is closed, {other:?} is not, on {platform:?}");
            }
        }
        match judged {
            Ok(Lexical::Inside { root: 0, relative }) if !starts_like_a_home(&relative) => {
                let again = if relative.is_empty() { ".".to_owned() } else { relative.to_slash() };
                assert_eq!(read(&again), Ok(Lexical::Inside { root: 0, relative }), "{text:?} on {platform:?}");
            }
            Ok(Lexical::Outside { absolute }) => {
                let again = absolute.to_str().unwrap().to_owned();
                assert_eq!(read(&again), Ok(Lexical::Outside { absolute }), "{text:?} on {platform:?}");
            }
            Ok(Lexical::Inside { .. }) | Err(_) => {}
        }
    }
});

fn check(judged: &Result<Lexical, Failure>, platform: Platform, surroundings: &Surroundings, roots: &[PathBuf]) {
    match judged {
        Ok(Lexical::Inside { root, relative }) => {
            let separators: &[char] = if platform == Platform::Windows { &['/', '\\'] } else { &['/'] };
            for part in relative.parts() {
                assert!(!matches!(part.as_str(), "" | "." | "..") && !part.contains(separators), "{part:?}");
                assert!(!part.contains('\0'));
            }
            assert_eq!(RelPath::from_parts(relative.parts().to_vec()).as_ref(), Some(relative));
            assert!(!matches!(judge_name(relative.parts()), NameVerdict::Sensitive { .. }));
            if platform == Platform::current() {
                assert_eq!(blocked_path(&relative.below(&roots[*root]), surroundings), None);
            }
        }
        Ok(Lexical::Outside { absolute }) => {
            assert_eq!(blocked_path(absolute, surroundings), None);
            assert!(!absolute.to_str().unwrap().contains("/../"));
        }
        Err(failure) => assert!(!failure.message.is_empty()),
    }
}

fn is_by_name(judged: &Result<Lexical, Failure>) -> bool {
    matches!(judged, Err(Failure { code: Code::SensitivePathDenied | Code::BlockedPathDenied, .. }))
}

/// A folder named `~` is only reached by `./~`.
fn starts_like_a_home(relative: &RelPath) -> bool {
    relative.parts().first().is_some_and(|first| first == "~")
}
