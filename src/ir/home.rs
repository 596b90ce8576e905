//! Where a session lives: in this computer's own store, or on a server, and then its id names both the server and the
//! server's own name for it.

use super::SessionId;

/// Between a server's address and its own name for a conversation: an address in normal form holds none.
const MARK: char = '#';
/// In every server's address, and in no id of a session that lives here.
const SCHEME: &str = "://";

impl SessionId {
    /// The session that a server at `url` (http(s), in normal form) calls `thread`.
    pub fn on_server(url: &str, thread: &str) -> Self {
        Self(format!("{url}{MARK}{thread}"))
    }

    /// The server that the session lives on, and the server's name for it; `None` for one that lives here.
    pub fn home(&self) -> Option<(&str, &str)> {
        self.0.split_once(MARK).filter(|(url, thread)| url.contains(SCHEME) && !thread.is_empty())
    }

    /// Whether the session lives on a server.
    pub fn is_on_server(&self) -> bool {
        self.home().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_says_where_its_session_lives() {
        let far = SessionId::on_server("https://nod.example/", "t#1");
        assert_eq!(far.home(), Some(("https://nod.example/", "t#1")));
        for here in ["ses_0190", "ses_link_00#1", "https://nod.example/", "https://nod.example/#"] {
            assert_eq!(SessionId::new(here).home(), None, "{here}");
        }
    }
}
