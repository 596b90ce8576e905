//! Where the transcript stands: an item, one of its parts, and how far that part is scrolled out at the top. Heights that
//! change elsewhere, and items that come before, move nothing on the screen. Pure: it knows heights, not what they hold.

/// The heights of a list of items that are made of parts.
pub(super) trait Heights {
    /// How many items there are.
    fn items(&self) -> usize;
    /// How many parts an item has; at least one.
    fn parts(&mut self, item: usize) -> usize;
    /// Height of a part, exactly.
    fn height(&mut self, item: usize, part: usize) -> f32;
    /// The item's lasting key.
    fn key(&self, item: usize) -> u64;
}

/// A part and where its top stands on the screen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Place {
    pub(super) item: usize,
    pub(super) part: usize,
    /// Points from the top of the view; negative when it is partly scrolled out.
    pub(super) top: f32,
}

/// Where a list stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Scroll {
    /// At the end, and stays there while it grows.
    End,
    /// With this part at the top.
    At { key: u64, item: usize, part: usize, offset: f32 },
}

impl Scroll {
    /// Whether it follows the end.
    pub(super) fn is_at_end(self) -> bool {
        self == Self::End
    }

    /// Moves by `delta` points (down is positive) and gives the first visible part; `None` for an empty list.
    pub(super) fn settle(&mut self, list: &mut impl Heights, view: f32, delta: f32) -> Option<Place> {
        if list.items() == 0 {
            *self = Self::End;
            return None;
        }
        let mut place = match *self {
            Self::End => from_end(list, view),
            Self::At { key, item, part, offset } => {
                let item = find(list, key, item);
                let part = part.min(list.parts(item) - 1);
                Place { item, part, top: -offset }
            }
        };
        place.top -= delta;
        up(list, &mut place);
        down(list, &mut place);
        let end = from_end(list, view);
        let is_past_end = (place.item, place.part) > (end.item, end.part)
            || ((place.item, place.part) == (end.item, end.part) && place.top <= end.top + 0.5);
        if is_past_end {
            // Only a move upwards leaves the end, and only a move downwards comes back to it.
            if delta > 0.0 || fits(end) || (self.is_at_end() && delta >= 0.0) {
                *self = Self::End;
                return Some(end);
            }
            place = end;
        }
        *self = Self::At { key: list.key(place.item), item: place.item, part: place.part, offset: -place.top };
        Some(place)
    }
}

/// Whether everything is visible at once.
fn fits(end: Place) -> bool {
    end.item == 0 && end.part == 0 && end.top >= 0.0
}

/// The item with the key; near where it was, or where it was when it is gone.
fn find(list: &impl Heights, key: u64, item: usize) -> usize {
    let count = list.items();
    if item < count && list.key(item) == key {
        return item;
    }
    (0..count).find(|index| list.key(*index) == key).unwrap_or(item.min(count - 1))
}

/// The first visible part when the end of the list is at the end of the view (or the list's start at the view's start).
fn from_end(list: &mut impl Heights, view: f32) -> Place {
    let mut rest = view;
    let mut item = list.items() - 1;
    let mut part = list.parts(item) - 1;
    loop {
        rest -= list.height(item, part);
        if rest <= 0.0 {
            return Place { item, part, top: rest };
        }
        if part > 0 {
            part -= 1;
        } else if item > 0 {
            item -= 1;
            part = list.parts(item) - 1;
        } else {
            return Place { item: 0, part: 0, top: 0.0 };
        }
    }
}

/// Goes to parts above until one reaches the top of the view.
fn up(list: &mut impl Heights, place: &mut Place) {
    while place.top > 0.0 {
        if place.part > 0 {
            place.part -= 1;
        } else if place.item > 0 {
            place.item -= 1;
            place.part = list.parts(place.item) - 1;
        } else {
            place.top = 0.0;
            return;
        }
        place.top -= list.height(place.item, place.part);
    }
}

/// Goes to parts below until one is not wholly scrolled out.
fn down(list: &mut impl Heights, place: &mut Place) {
    loop {
        let bottom = place.top + list.height(place.item, place.part);
        if bottom > 0.0 {
            return;
        }
        if place.part + 1 < list.parts(place.item) {
            place.part += 1;
        } else if place.item + 1 < list.items() {
            place.item += 1;
            place.part = 0;
        } else {
            return;
        }
        place.top = bottom;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct List {
        items: Vec<(u64, Vec<f32>)>,
        measured: usize,
    }

    impl Heights for List {
        fn items(&self) -> usize {
            self.items.len()
        }

        fn parts(&mut self, item: usize) -> usize {
            self.items[item].1.len()
        }

        fn height(&mut self, item: usize, part: usize) -> f32 {
            self.measured += 1;
            self.items[item].1[part]
        }

        fn key(&self, item: usize) -> u64 {
            self.items[item].0
        }
    }

    fn list(count: u64) -> List {
        List { items: (0..count).map(|key| (key, vec![30.0, 70.0])).collect(), measured: 0 }
    }

    #[test]
    fn at_the_end_the_last_part_ends_with_the_view_and_stays_there_while_it_grows() {
        let mut list = list(10);
        let mut scroll = Scroll::End;
        assert_eq!(scroll.settle(&mut list, 250.0, 0.0), Some(Place { item: 7, part: 1, top: -20.0 }));
        list.items[9].1.push(15.0);
        assert_eq!(scroll.settle(&mut list, 250.0, 0.0), Some(Place { item: 7, part: 1, top: -35.0 }));
        assert!(scroll.is_at_end());
    }

    #[test]
    fn a_short_list_begins_at_the_top() {
        let mut scroll = Scroll::End;
        assert_eq!(scroll.settle(&mut list(1), 500.0, 0.0), Some(Place { item: 0, part: 0, top: 0.0 }));
        assert_eq!(scroll.settle(&mut list(1), 500.0, -40.0), Some(Place { item: 0, part: 0, top: 0.0 }));
        assert!(scroll.is_at_end(), "there is nowhere else to be");
    }

    #[test]
    fn scrolled_up_nothing_moves_while_the_end_grows() {
        let mut list = list(10);
        let mut scroll = Scroll::End;
        scroll.settle(&mut list, 250.0, 0.0);
        let place = scroll.settle(&mut list, 250.0, -100.0);
        assert_eq!(place, Some(Place { item: 6, part: 1, top: -20.0 }));
        list.items[9].1.push(500.0);
        assert_eq!(scroll.settle(&mut list, 250.0, 0.0), place);
        assert!(!scroll.is_at_end());
    }

    #[test]
    fn older_items_before_move_nothing() {
        let mut list = list(10);
        let mut scroll = Scroll::End;
        scroll.settle(&mut list, 250.0, 0.0);
        let place = scroll.settle(&mut list, 250.0, -300.0).unwrap();
        for key in 100..150 {
            list.items.insert(0, (key, vec![41.0]));
        }
        let after = scroll.settle(&mut list, 250.0, 0.0).unwrap();
        assert_eq!(after, Place { item: place.item + 50, ..place });
    }

    #[test]
    fn scrolling_to_the_end_follows_it_again() {
        let mut list = list(10);
        let mut scroll = Scroll::End;
        scroll.settle(&mut list, 250.0, -300.0);
        assert!(!scroll.is_at_end());
        scroll.settle(&mut list, 250.0, 1000.0);
        assert!(scroll.is_at_end());
    }

    #[test]
    fn there_is_no_way_above_the_first_part() {
        let mut list = list(10);
        let mut scroll = Scroll::End;
        let place = scroll.settle(&mut list, 250.0, -100_000.0);
        assert_eq!(place, Some(Place { item: 0, part: 0, top: 0.0 }));
    }

    #[test]
    fn up_and_down_by_the_same_way_is_the_same_place() {
        let mut list = list(100);
        let mut scroll = Scroll::End;
        let start = scroll.settle(&mut list, 250.0, -2000.0);
        for delta in [-37.0, -500.0, 12.5, 524.5] {
            scroll.settle(&mut list, 250.0, delta);
        }
        assert_eq!(scroll.settle(&mut list, 250.0, 0.0), start);
    }

    #[test]
    fn the_work_does_not_grow_with_the_list() {
        let work = |count| {
            let mut list = list(count);
            let mut scroll = Scroll::End;
            scroll.settle(&mut list, 250.0, 0.0);
            scroll.settle(&mut list, 250.0, -100.0);
            list.measured
        };
        assert_eq!(work(100), work(10_000));
    }

    #[test]
    fn an_item_that_is_gone_leaves_the_view_where_it_was() {
        let mut list = list(10);
        let mut scroll = Scroll::At { key: 5, item: 5, part: 1, offset: 10.0 };
        list.items.remove(5);
        let place = scroll.settle(&mut list, 250.0, 0.0).unwrap();
        assert_eq!((place.item, place.part), (5, 1));
    }

    #[test]
    fn an_empty_list_shows_nothing() {
        assert_eq!(Scroll::End.settle(&mut list(0), 250.0, 0.0), None);
    }
}
