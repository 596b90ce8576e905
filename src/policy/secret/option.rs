//! Passwords among the arguments of a command, each by the option or the place in which that command takes it.

use super::assignment::NAME;
use super::credential::Proof;

/// Each with the value in its first group.
pub(super) fn shapes() -> Vec<(String, Proof)> {
    let name = &*NAME;
    let within = r"[^\r\n|;&]{0,400}?\s";
    // A lone `&` may be part of it, two of them end the command.
    let value = r#"["']?([^\s"'|;&]{4,200}(?:&[^\s"'|;&]+)*)"#;
    vec![
        (r#"(?-u:\b)curl(?-u:\b)(?:[^\r\n]|\\\r?\n){0,600}?\s(?:-[A-Za-z]{0,8}[uU]|--user|--proxy-user)[ \t=]*["']?[^\s:"']{1,80}:([^\s"']{3,200})"#.into(), Proof::Place),
        (format!(r"(?-u:\b)(?:https?|xh)(?:[ \t][^\r\n|;&]{{0,400}}?)?\s(?:-a|--auth)[ =]\S{{1,80}}:{value}"), Proof::Place),
        (format!(r"(?-u:\b)(?:mysql(?:dump|admin|import|sh|check)?|mariadb(?:-[a-z]+)?)(?-u:\b){within}-p{value}"), Proof::Place),
        (format!(r"(?-u:\b)sshpass{within}?-p\s*{value}"), Proof::Place),
        (format!(r"(?-u:\b)redis-cli{within}(?:-a|--pass)[ =]+{value}"), Proof::Place),
        (format!(r"(?-u:\b)ldap[a-z]{{3,10}}{within}-w\s*{value}"), Proof::Place),
        (format!(r"(?-u:\b)(?:7za?|7zr|rar|unrar)(?-u:\b){within}-p{value}"), Proof::Place),
        (format!(r"(?-u:\b)(?:un)?zip(?-u:\b){within}-P\s*{value}"), Proof::Place),
        (format!(r"(?-u:\b)(?:docker|podman|nerdctl|helm|oras|oc|az)(?-u:\b){within}login{within}-p[ =]+{value}"), Proof::Place),
        (format!(r#"-pass(?:in|out)?[ \t]+["']?pass:{value}"#), Proof::Place),
        (format!(r#"(?i)(?:^|\s)--?[a-z0-9-]{{0,40}}?{name}[ \t]+["']?([^\s"'|;&<>()\[\]]{{6,512}})"#), Proof::LooksAlone),
        (format!(r"(?-u:\b)mongo(?:sh|dump|restore|export|import|stat|top)?(?-u:\b){within}-p[ =]*{value}"), Proof::Place),
        (format!(r#"(?-u:\b)(?:smb[a-z]{{2,10}}|rpcclient|winexe|net)(?-u:\b){within}(?:-U|--user)[ =]?["']?[^\s%"']{{1,80}}%{value}"#), Proof::Place),
        (r#"(?i)(?-u:\b)net\s+use(?-u:\b)[^\r\n|;&]{0,400}?\s/user:\S{1,80}[ \t]+["']?([^\s"'|;&/*][^\s"'|;&]{3,200})"#.into(), Proof::Place),
        (r#"(?i)(?-u:\b)net\s+use\s+(?:\S{1,80}\s+)?\\\\\S{1,200}\s+["']?([^\s"'|;&/*][^\s"'|;&]{3,200})["']?\s+/user:"#.into(), Proof::Place),
        (format!(r#"(?m)(?-u:\b)htpasswd(?:[ \t]+-[A-Za-z]+)*?[ \t]+-[A-Za-z]*b[A-Za-z]*(?:[ \t]+-[A-Za-z]+(?:[ \t]+[0-9]+)?)*(?:[ \t]+[^\s-]\S*){{1,2}}?[ \t]+{value}["']?[ \t]*(?:\r?$|[|;&>])"#), Proof::Place),
        (format!(r"(?-u:\b)wpa_passphrase[ \t]+\S{{1,80}}[ \t]+{value}"), Proof::LooksOwn),
        // What a command reads from the one before it.
        (r#"(?-u:\b)(?:echo|printf)[ \t]+(?:-[neE]+[ \t]+|["']%s(?:\\n)?["'][ \t]+)?["']?([^\s"'|;&<>]{4,200})["']?[ \t]*\|[ \t]*(?:sudo[ \t]+(?:-[A-Za-z]+[ \t]+)*-[A-Za-z]*S|su(?-u:\b)|[^\r\n|;&]{1,200}?[ \t](?:--(?:[a-z]+-)?stdin|--with-token|--passphrase-fd|-pass(?:in)?[ \t]+stdin|secret[ \t]+(?:set|put|create)|secrets[ \t]+versions[ \t]+add))"#.into(), Proof::Place),
        (format!(r"(?-u:\b)gh[ \t]+secret[ \t]+set{within}(?:-b|--body)[ =]*{value}"), Proof::Place),
        (r#"--secret-string[ \t=]["']?([^\s"'|;&{]{4,200})"#.into(), Proof::Place),
        (format!(r"(?-u:\b)put-parameter{within}--value[ =]{value}"), Proof::Looks),
        (r#"["']?(?-u:\b)[A-Za-z_][A-Za-z0-9_.-]{0,40}:([^\s"'|]{4,200})["']?\s*\|\s*(?:sudo\s+)?(?:/usr/s?bin/)?chpasswd(?-u:\b)"#.into(), Proof::Place),
        (format!(r#"(?-u:\b)chpasswd[ \t]*<<<[ \t]*["']?[^\s:"']{{1,60}}:{value}"#), Proof::Place),
        (format!(r"(?-u:\b)(?:useradd|usermod)(?-u:\b){within}-p[ =]*{value}"), Proof::Place),
        (format!(r"(?-u:\b)mysqladmin(?-u:\b){within}password[ \t]+{value}"), Proof::Place),
        (format!(r"(?-u:\b)[xw]l?freerdp3?(?-u:\b){within}/p:{value}"), Proof::Place),
        (format!(r"(?-u:\b)vault[ \t]+(?:write|kv[ \t]+(?:put|patch))(?-u:\b){within}value={value}"), Proof::Place),
    ]
}
