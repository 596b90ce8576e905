//! Images from elsewhere that the person asked for, for as long as the chat is open.

use std::sync::Arc;

use crate::ir::SessionId;
use crate::port::{Command, ImageFault};

use super::{AppState, Reaction};

/// Most that are kept of one chat; the oldest go first.
const KEPT: usize = 16;

/// The images of the open chat, by their addresses.
#[derive(Debug, Clone, Default)]
pub struct RemoteImages {
    states: Vec<(String, RemoteImage)>,
    /// Changes whenever one of them does.
    pub revision: u64,
}

/// What became of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RemoteImage {
    Loading,
    /// As a `data:` address.
    Loaded(Arc<str>),
    Failed(ImageFault),
}

/// A link that waits for the person's word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingLink {
    pub url: String,
    /// Whether it is the address of an image, which can be shown in the chat.
    pub is_image: bool,
}

impl RemoteImages {
    /// What is known of the image at this address; nothing until the person asks for it.
    pub fn get(&self, url: &str) -> Option<&RemoteImage> {
        self.states.iter().find_map(|(known, state)| (known == url).then_some(state))
    }

    pub(super) fn put(&mut self, url: String, state: RemoteImage) {
        self.states.retain(|(known, _)| *known != url);
        self.states.push((url, state));
        let surplus = self.states.len().saturating_sub(KEPT);
        self.states.drain(..surplus);
        self.revision += 1;
    }
}

impl AppState {
    /// The person has seen the address and wants the image.
    pub(super) fn load_image(&mut self) -> Reaction {
        let Some(PendingLink { url, is_image: true }) = self.link.take() else { return Reaction::none() };
        let Some(session) = self.selected.clone() else { return Reaction::none() };
        if let Some(view) = self.view_of(&session) {
            view.images.put(url.clone(), RemoteImage::Loading);
        }
        Command::LoadImage { session, url }.into()
    }

    pub(super) fn image_loaded(&mut self, session: &SessionId, url: String, image: Result<String, ImageFault>) {
        if let Some(view) = self.view_of(session) {
            let state = image.map_or_else(RemoteImage::Failed, |address| RemoteImage::Loaded(address.into()));
            view.images.put(url, state);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_so_many_are_kept_and_each_change_is_told() {
        let mut images = RemoteImages::default();
        for number in 0..20 {
            images.put(number.to_string(), RemoteImage::Loading);
        }
        images.put("19".to_owned(), RemoteImage::Failed(ImageFault::Locked));
        assert_eq!((images.states.len(), images.revision), (KEPT, 21));
        assert_eq!(images.get("3"), None);
        assert_eq!(images.get("19"), Some(&RemoteImage::Failed(ImageFault::Locked)));
    }
}
