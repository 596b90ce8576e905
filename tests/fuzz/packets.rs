//! One input, whole and cut: its first byte says how many packets there are, the next ones how long each is.

/// The body of an input as one packet, and as several.
pub fn of(data: &[u8]) -> (Vec<&[u8]>, Vec<&[u8]>) {
    let Some((count, rest)) = data.split_first() else { return (Vec::new(), Vec::new()) };
    let (sizes, body) = rest.split_at(usize::from(count % 16).min(rest.len()));
    let mut cut = Vec::new();
    let mut left = body;
    for size in sizes {
        let (packet, after) = left.split_at(usize::from(*size).min(left.len()));
        cut.push(packet);
        left = after;
    }
    cut.push(left);
    (vec![body], cut)
}
