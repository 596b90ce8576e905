//! What each command of a front end asks for, sent to the room that does it.

use std::sync::Arc;

use crate::port::{Command, Event, TurnOptions};
use crate::provider::memory::memory;

use super::super::confirm::Answered;
use super::super::fault::Fault;
use super::super::link::{self, Wish};
use super::super::provider::origin_of;
use super::super::turn::Begin;
use super::super::{
    audit, complete, confinement, connection, export, model, remote_image, rule, sent, session, setting, setup, shield,
    undo,
};
use super::Dispatcher;

/// Most hits of a search.
const HITS: usize = 50;

impl Dispatcher {
    /// Does what a command asks for, or sends it on an errand.
    pub(super) async fn take(&mut self, command: Command) -> Result<(), Fault> {
        let Some(command) = self.conversations.take(command).await? else { return Ok(()) };
        let shared = Arc::clone(&self.shared);
        match command {
            Command::ListSessions => session::list(&shared).await,
            Command::CreateSession => {
                let id = session::create(&shared).await?;
                self.transcript(&id).open().await
            }
            Command::OpenSession(id) => self.transcript(&id).open().await,
            Command::LoadOlder { session, before } => self.transcript(&session).load_older(&before).await,
            Command::RenameSession { session, title } => self.change(&session, |session| session.title = title).await,
            Command::PinSession { session, pinned } => self.change(&session, |session| session.pinned = pinned).await,
            Command::DeleteSession(id) => {
                self.stop(&id);
                self.purge_later();
                session::delete(&shared, &id).await
            }
            Command::RestoreSession(id) => session::restore(&shared, &[id]).await,
            Command::DeleteAllSessions => {
                for session in shared.store.list_sessions().await? {
                    self.stop(&session.id);
                }
                self.purge_later();
                session::delete_all(&shared).await
            }
            Command::RestoreSessions(ids) => session::restore(&shared, &ids).await,
            Command::ForkSession { session, at } => {
                let id = session::fork(&shared, &session, &at).await?;
                self.transcript(&id).open().await
            }
            Command::ExportSession { session, path } => {
                self.errand(async move { export::export(&shared, session, path).await });
                Ok(())
            }
            Command::ExportAllSessions { path } => {
                self.errand(async move { export::export_all(&shared, path).await });
                Ok(())
            }
            Command::BackUp { path } => {
                self.errand(async move { export::back_up(&shared, path).await });
                Ok(())
            }
            Command::ImportSession { path } => {
                let imported = export::import(&shared, path).await?;
                let first = imported.first().cloned();
                if imported.len() > 1 {
                    session::list(&shared).await?;
                }
                shared.publish(Event::SessionsImported(imported)).await;
                match first {
                    Some(first) => self.transcript(&first).open().await,
                    None => Ok(()),
                }
            }
            Command::SetModel { session, provider, model } => {
                setting::adopt_model(&shared, &provider, &model).await?;
                self.change(&session, |session| (session.provider, session.model) = (provider, model)).await
            }
            Command::SetThinking { session, thinking } => {
                self.change(&session, |session| session.thinking = thinking).await
            }
            Command::SetMode { session, mode } => self.change(&session, |session| session.mode = mode).await,
            Command::AddFolder { session, path } => {
                session::add_folder(&shared, &self.transcript(&session), path).await
            }
            Command::RemoveFolder { session, path } => {
                session::remove_folder(&shared, &self.transcript(&session), &path).await
            }
            Command::SaveDraft { session, text } => Ok(shared.store.save_draft(&session, &text).await?),
            Command::Send { session, text, images } => self.say(&session, text, images, TurnOptions::default()).await,
            Command::Unqueue { session, index } => self.unqueue(&session, index).await,
            Command::EditMessage { session, message, text } => {
                self.must_be_idle(&session)?;
                let images = session::before(&shared, &session, &message).await?;
                // Front ends leave the old branch before the new one grows.
                self.transcript(&session).open().await?;
                self.begin(&session, Begin::Say { text, images }, TurnOptions::default());
                Ok(())
            }
            Command::Regenerate { session, message } => {
                self.must_be_idle(&session)?;
                let rounds_done = session::step_back(&shared, &session, &message).await?;
                self.transcript(&session).open().await?;
                self.begin(&session, Begin::Answer { rounds_done }, TurnOptions::default());
                Ok(())
            }
            Command::SelectVersion { session, message, version } => {
                self.must_be_idle(&session)?;
                session::select_version(&shared, &session, &message, version).await?;
                self.transcript(&session).open().await
            }
            Command::DeleteMessage { session, message } => {
                self.must_be_idle(&session)?;
                session::before(&shared, &session, &message).await?;
                self.transcript(&session).open().await
            }
            Command::Continue(id) => self.go_on(&id).await,
            Command::Stop(id) => {
                self.stop(&id);
                Ok(())
            }
            Command::Answer { confirm, answer, decider } => {
                let answered = Answered { answer, decider, at: shared.now() };
                if !shared.confirms.answer(&confirm, answered) {
                    tracing::info!(%confirm, "an answer came after its question was closed");
                }
                Ok(())
            }
            Command::NoteScreenLock { is_locked } => {
                shared.confirms.note_screen_lock(is_locked);
                Ok(())
            }
            Command::RevokeRule { session, rule } => {
                rule::revoke(&shared, session.as_ref(), &rule).await?;
                self.show_rules(session).await
            }
            Command::MakeRule { session, effect, scope } => {
                rule::make(&shared, session.clone(), effect, scope).await?;
                self.show_rules(session).await
            }
            Command::ListStandingRules => rule::show_standing(&shared).await,
            Command::LoadAudit { filter, offset, number } => {
                self.errand(async move { audit::load(&shared, filter, offset, number).await });
                Ok(())
            }
            Command::CheckAudit { number } => {
                self.errand(async move { audit::check(&shared, number).await });
                Ok(())
            }
            Command::ExportAudit { filter, path } => {
                self.errand(async move { audit::export(&shared, filter, path).await });
                Ok(())
            }
            Command::LiftSensitive { session, path } => {
                shared.store.lift(&session, &path).await?;
                rule::show_lifted(&shared, &session).await
            }
            Command::TakeLiftBack { session, path } => {
                shared.store.take_lift_back(&session, &path).await?;
                rule::show_lifted(&shared, &session).await
            }
            Command::ReleaseSecret { session, secret, is_released } => {
                shield::release(&shared, &session, &secret, is_released).await
            }
            Command::SetLocalOnly { session, is_local_only } => {
                self.transcript(&session).set_local_only(is_local_only).await
            }
            Command::ShowSent(session) => {
                let last = self.transcript(&session).last_request();
                self.errand(async move {
                    let laid_out =
                        tokio::task::spawn_blocking(move || last.as_ref().map(sent::parts).unwrap_or_default());
                    let parts = laid_out.await.unwrap_or_default();
                    shared.publish(Event::SentShown { session, parts }).await;
                    Ok(())
                });
                Ok(())
            }
            Command::ShowModels => {
                model::begin(&shared).await;
                Ok(())
            }
            Command::RefreshSessionModels { session, provider } => {
                let traffic = self.transcript(&session).traffic().await;
                model::refresh_for(&shared, provider, &traffic);
                Ok(())
            }
            Command::LoadImage { session, url } => {
                let traffic = self.transcript(&session).traffic().await;
                shared.errands.spawn(remote_image::load(Arc::clone(&shared), traffic, session, url));
                Ok(())
            }
            Command::RefreshModels { provider } => {
                model::refresh(&shared, provider);
                Ok(())
            }
            Command::FindConfinement => {
                self.errand(async move {
                    confinement::show(&shared).await;
                    Ok(())
                });
                Ok(())
            }
            Command::PullModel { provider, model } => {
                self.pulls.start(&shared, provider, model);
                Ok(())
            }
            Command::CancelPull { provider, model } => {
                self.pulls.stop(&provider, &model);
                Ok(())
            }
            Command::PutProvider(record) => setup::put(&shared, *record).await,
            // The keyring may wait for the person.
            Command::RemoveProvider { id } => {
                self.errand(async move { setup::remove(&shared, &id).await });
                Ok(())
            }
            Command::SetKey { provider, key } => {
                self.errand(async move { setup::set_key(&shared, &provider, key).await });
                Ok(())
            }
            Command::RemoveKey { provider } => {
                self.errand(async move { setup::remove_key(&shared, &provider).await });
                Ok(())
            }
            Command::TestProvider { provider, model } => {
                self.errand(async move {
                    let (source, settings) = (Arc::clone(&shared.providers), shared.settings());
                    // Whoever tests a connection has changed something, here or there.
                    if let Some(origin) = origin_of(&provider, &settings) {
                        memory().forget(&origin).await;
                        shared.store.forget_refusals(&origin).await?;
                    }
                    let found = connection::diagnose(source.as_ref(), &provider, model.as_deref(), &settings).await;
                    shared.publish(Event::ProviderTested(Box::new(found))).await;
                    Ok(())
                });
                Ok(())
            }
            Command::SetSetting { key, value } => setting::set(&shared, &key, value).await,
            Command::ResetSetting { key } => setting::reset(&shared, &key).await,
            Command::Search { query, number } => {
                let conversations = Arc::clone(&self.conversations);
                self.errand(async move {
                    let hits = shared.store.search(&query, HITS).await?;
                    let hits = conversations.found_too(&query, hits, HITS).await;
                    shared.publish(session::found(number, hits)).await;
                    Ok(())
                });
                Ok(())
            }
            Command::CompletePath { session, prefix, number } => {
                self.errand(async move { complete::complete(&shared, session, prefix, number).await });
                Ok(())
            }
            Command::StopCall { session, call } => {
                self.stop_call(&session, &call);
                Ok(())
            }
            Command::RunTool { session, call, options } => self.run_tool(*session, call, options).await,
            Command::RunTurn { session, text, images, options } => {
                let id = session.id.clone();
                session::keep(&shared, *session).await?;
                self.say(&id, text, images, options).await
            }
            Command::PlanUndo { scope, direction } => {
                self.errand(async move { undo::plan(&shared, scope, direction).await });
                Ok(())
            }
            Command::ApplyUndo { scope, direction, choices, plan_hash } => {
                let order = undo::Order { scope, direction, choices, plan_hash };
                self.errand(async move { undo::apply(&shared, order).await });
                Ok(())
            }
            Command::ShowUndo(id) => {
                self.errand(async move { undo::show(&shared, id).await });
                Ok(())
            }
            Command::StartLinks => self.wish(Wish::Start),
            Command::PutLink { url, workspace, token } => self.wish(Wish::Put { url, workspace, token }),
            Command::RunLink { url, workspace, token } => self.wish(Wish::Run { url, workspace, token }),
            Command::StopLink { url } => self.wish(Wish::Stop { url }),
            Command::PauseLink { url, is_paused } => self.wish(Wish::Pause { url, is_paused }),
            Command::RetryLink { url } => self.wish(Wish::Retry { url }),
            Command::RemoveLink { url } => self.wish(Wish::Remove { url }),
            Command::ListLinkCalls { url } => {
                self.errand(async move { link::list_calls(&shared, url).await });
                Ok(())
            }
            Command::Raise => {
                shared.publish(Event::Raised).await;
                Ok(())
            }
            // Taken by `run`, or by the conversations.
            Command::Quit | Command::ListThreads { .. } | Command::BeginThread { .. } => Ok(()),
        }
    }
}
