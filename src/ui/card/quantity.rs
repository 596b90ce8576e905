//! Durations, sizes and counts as people read them.

use crate::lang::Lang;

/// A duration: tenths of seconds up to ten, then seconds, then minutes.
pub fn duration(lang: &Lang, ms: u64) -> String {
    match ms {
        0..10_000 => {
            let tenths = (ms + 50) / 100;
            lang.format("duration-seconds", &[("seconds", format!("{}.{}", tenths / 10, tenths % 10).into())])
        }
        10_000..60_000 => whole_seconds(lang, ms),
        _ => {
            let seconds = ms / 1000;
            let (minutes, seconds) = ((seconds / 60).to_string(), format!("{:02}", seconds % 60));
            lang.format("duration-minutes", &[("minutes", minutes.into()), ("seconds", seconds.into())])
        }
    }
}

/// A duration in whole seconds, for what counts up.
pub fn whole_seconds(lang: &Lang, ms: u64) -> String {
    if ms >= 60_000 {
        return duration(lang, ms);
    }
    lang.format("duration-seconds", &[("seconds", (ms / 1000).to_string().into())])
}

/// A size in bytes.
#[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
pub fn bytes(size: u64) -> String {
    let size = size as f64;
    match size {
        ..1024.0 => format!("{size:.0} B"),
        ..1_048_576.0 => format!("{:.1} KB", size / 1024.0),
        ..1_073_741_824.0 => format!("{:.1} MB", size / 1_048_576.0),
        _ => format!("{:.1} GB", size / 1_073_741_824.0),
    }
}

/// A count with separators between thousands.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut made = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            made.push(',');
        }
        made.push(digit);
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::Locale;

    #[test]
    fn durations_sizes_and_counts_read_well() {
        let lang = Lang::new(Locale::English);
        assert_eq!(duration(&lang, 120), "0.1 s");
        assert_eq!(duration(&lang, 12_400), "12 s");
        assert_eq!(duration(&lang, 65_000), "1 min 05 s");
        assert_eq!(bytes(17), "17 B");
        assert_eq!(bytes(1536), "1.5 KB");
        assert_eq!(count(1204), "1,204");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_000_000), "1,000,000");
    }
}
