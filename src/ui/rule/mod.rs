//! Rules as they are listed and made by hand: in the chat's panel and in the settings.

pub mod card;
pub mod form;
