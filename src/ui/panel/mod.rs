//! The parts of the main window, one file each.

pub mod attachment;
pub mod composer;
pub mod found;
pub mod history;
pub mod model_picker;
pub mod palette;
pub mod session_panel;
pub mod shortcuts;
pub mod sidebar;
pub mod start_fault;
pub mod threads;
pub mod toast;
pub mod top_bar;
pub mod welcome;
