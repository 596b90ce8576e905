//! What the state asks of the window: dialogs, the clipboard, links, the end. Everything that could wait runs on a thread of
//! its own and comes back as an arrival.

use egui::{Context, OpenUrl, UserAttentionType, ViewportCommand};

use super::Window;
use crate::app::HostAction;
use crate::ui::task;

impl Window {
    pub(super) fn act_on(&mut self, action: HostAction, ctx: Option<&Context>) {
        match action {
            HostAction::FocusComposer => self.view.focus_composer = true,
            HostAction::ScrollTo(message) => {
                if let Some(transcript) = &mut self.view.transcript {
                    transcript.scroll_to(message);
                }
            }
            HostAction::ScrollToEnd => {
                if let Some(transcript) = &mut self.view.transcript {
                    transcript.scroll_to_end();
                }
            }
            HostAction::Restart(choice) => self.launch(Some(choice)),
            HostAction::PickPath { purpose, suggested_name } => {
                let title = self.lang.text(task::dialog_title(&purpose)).to_owned();
                task::spawn("nod dialog", &self.arrived, &self.wake, move || {
                    task::pick_path(purpose, &title, &suggested_name)
                });
            }
            HostAction::ReadFiles(paths) => {
                task::spawn("nod files", &self.arrived, &self.wake, move || task::read_files(&paths));
            }
            HostAction::Measure(folder) => {
                task::spawn("nod measure", &self.arrived, &self.wake, move || task::measure(&folder));
            }
            HostAction::CopyText(text) => {
                if let Some(ctx) = ctx {
                    ctx.copy_text(text);
                }
            }
            HostAction::OpenLink(url) => open(ctx, url),
            HostAction::OpenFile(path) => {
                task::spawn("nod open", &self.arrived, &self.wake, move || task::open_path(&path));
            }
            HostAction::ShowInFolder(path) => {
                task::spawn("nod folder", &self.arrived, &self.wake, move || task::show_in_folder(&path));
            }
            HostAction::Raise => {
                if let Some(ctx) = ctx {
                    ctx.send_viewport_cmd(ViewportCommand::Minimized(false));
                    ctx.send_viewport_cmd(ViewportCommand::Focus);
                    ctx.send_viewport_cmd(ViewportCommand::RequestUserAttention(UserAttentionType::Informational));
                }
            }
            HostAction::Quit => {
                self.may_close = true;
                if let Some(ctx) = ctx {
                    ctx.send_viewport_cmd(ViewportCommand::Close);
                }
            }
        }
    }
}

fn open(ctx: Option<&Context>, url: String) {
    if let Some(ctx) = ctx {
        ctx.open_url(OpenUrl::new_tab(url));
    }
}
