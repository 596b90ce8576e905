//! Colours of a command's output: the SGR sequences, and nothing else. Every other escape stays in the text, where it is
//! drawn as an escape. Pure.

/// How a stretch of output looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AnsiStyle {
    /// One of the sixteen colours.
    pub color: Option<u8>,
    pub is_bold: bool,
    pub is_dim: bool,
}

/// Output without its colour sequences, and the stretches that follow each other in it, in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AnsiText {
    pub text: String,
    pub spans: Vec<(usize, AnsiStyle)>,
}

/// Takes the colour sequences out of a text. `style` is how it begins, and becomes how it ends.
pub fn parse(output: &str, style: &mut AnsiStyle) -> AnsiText {
    let mut made = AnsiText::default();
    let mut rest = output;
    while let Some(escape) = rest.find("\u{1b}[") {
        let (before, after) = rest.split_at(escape);
        made.push(before, *style);
        let sequence = after.get(2..).unwrap_or_default();
        let length = sequence.bytes().take(64).take_while(|byte| matches!(byte, b'0'..=b'9' | b';' | b':')).count();
        if sequence.as_bytes().get(length) == Some(&b'm') {
            apply(style, sequence.get(..length).unwrap_or_default());
            rest = sequence.get(length + 1..).unwrap_or_default();
        } else {
            made.push("\u{1b}[", *style);
            rest = sequence;
        }
    }
    made.push(rest, *style);
    made
}

impl AnsiText {
    fn push(&mut self, text: &str, style: AnsiStyle) {
        if text.is_empty() {
            return;
        }
        self.text.push_str(text);
        match self.spans.last_mut() {
            Some((length, last)) if *last == style => *length += text.len(),
            Some(_) | None => self.spans.push((text.len(), style)),
        }
    }
}

fn apply(style: &mut AnsiStyle, sequence: &str) {
    let mut codes = sequence.split([';', ':']).map(|code| code.parse::<u16>().unwrap_or(0));
    while let Some(code) = codes.next() {
        match code {
            0 => *style = AnsiStyle::default(),
            1 => style.is_bold = true,
            2 => style.is_dim = true,
            22 => (style.is_bold, style.is_dim) = (false, false),
            30..=37 => style.color = u8::try_from(code - 30).ok(),
            90..=97 => style.color = u8::try_from(code - 82).ok(),
            39 => style.color = None,
            38 | 48 => {
                let color = match codes.next() {
                    Some(5) => codes.next().map(of_palette),
                    Some(2) => {
                        let mut part = || codes.next().unwrap_or(0);
                        let (red, green, blue) = (part(), part(), part());
                        Some(nearest(red, green, blue))
                    }
                    Some(_) | None => None,
                };
                if code == 38 {
                    style.color = color;
                }
            }
            _ => {}
        }
    }
}

/// One of the 256 colours as one of the sixteen.
fn of_palette(index: u16) -> u8 {
    match index {
        0..=15 => u8::try_from(index).unwrap_or(7),
        16..=231 => {
            let level = |value: u16| if value == 0 { 0 } else { 55 + 40 * value };
            let index = index - 16;
            nearest(level(index / 36), level(index / 6 % 6), level(index % 6))
        }
        _ => {
            let gray = 8 + 10 * (index.min(255) - 232);
            nearest(gray, gray, gray)
        }
    }
}

/// The nearest of the sixteen: the theme has one of each that can be read on its surface.
fn nearest(red: u16, green: u16, blue: u16) -> u8 {
    let highest = red.max(green).max(blue);
    let lowest = red.min(green).min(blue);
    if highest - lowest < 48 {
        return match highest {
            0..=63 => 0,
            64..=143 => 8,
            144..=215 => 7,
            _ => 15,
        };
    }
    let middle = u16::midpoint(highest, lowest);
    let hue = u8::from(red > middle) | (u8::from(green > middle) << 1) | (u8::from(blue > middle) << 2);
    if highest > 215 && lowest > 80 { hue + 8 } else { hue }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(output: &str) -> AnsiText {
        super::parse(output, &mut AnsiStyle::default())
    }

    fn colored(color: u8) -> AnsiStyle {
        AnsiStyle { color: Some(color), ..AnsiStyle::default() }
    }

    #[test]
    fn colours_become_spans_and_leave_the_text() {
        assert_eq!(
            parse("ok \u{1b}[32mgreen\u{1b}[0m end"),
            AnsiText {
                text: "ok green end".to_owned(),
                spans: vec![(3, AnsiStyle::default()), (5, colored(2)), (4, AnsiStyle::default())],
            }
        );
    }

    #[test]
    fn bold_bright_palette_and_true_colours_are_understood() {
        assert_eq!(parse("\u{1b}[1;91mx").spans, [(1, AnsiStyle { color: Some(9), is_bold: true, is_dim: false })]);
        assert_eq!(parse("\u{1b}[38;5;196mx").spans, [(1, colored(1))]);
        assert_eq!(parse("\u{1b}[38;2;20;200;30mx").spans, [(1, colored(2))]);
        assert_eq!(parse("\u{1b}[48;5;21mx").spans, [(1, AnsiStyle::default())]);
    }

    #[test]
    fn every_other_escape_stays_in_the_text() {
        for text in ["\u{1b}[2J", "\u{1b}]0;title\u{7}", "\u{1b}[1A\u{1b}[K", "\u{1b}", "\u{1b}["] {
            assert_eq!(parse(text).text, text);
        }
    }

    #[test]
    fn broken_sequences_lose_nothing() {
        assert_eq!(parse("\u{1b}[31;").text, "\u{1b}[31;");
        assert_eq!(parse("a\u{1b}[m b").text, "a b");
    }

    #[test]
    fn a_colour_goes_on_in_the_next_line() {
        let mut style = AnsiStyle::default();
        super::parse("\u{1b}[31mred", &mut style);
        assert_eq!(super::parse("still\u{1b}[0m", &mut style).spans, [(5, colored(1))]);
        assert_eq!(style, AnsiStyle::default());
    }
}
