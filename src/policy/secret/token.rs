//! Keys and tokens that show what they are by their own form.

use std::sync::LazyLock;

use regex::Regex;

use super::placeholder::is_placeholder;
use super::random::{entropy, is_code_name, is_ordinary, is_random};
use super::{Secret, SecretKind};

/// The forms of keys, as their providers give them out. Letters and digits that follow are part of the key.
const KEYS: &str = r"(?x)
    sk-[A-Za-z0-9_-]{16,}                                  # OpenAI, Anthropic, DeepSeek, Moonshot, OpenRouter, …
  | (?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}                    # AWS
  | AIza[A-Za-z0-9_-]{35}                                  # Google
  | GOCSPX-[A-Za-z0-9_-]{20,} | ya29\.[A-Za-z0-9_-]{20,} | 1//0[A-Za-z0-9_-]{30,}
  | gh[pousr]_[A-Za-z0-9]{20,} | github_pat_[A-Za-z0-9_]{20,}
  | gl(?:pat|dt|rt|ft|ptt|cbt|agent|soat|oas|imt|ffct)-[A-Za-z0-9_.-]{18,} | GR1348941[A-Za-z0-9_-]{20,}
  | xox[abeoprs]-[A-Za-z0-9-]{10,} | xapp-[0-9]-[A-Za-z0-9-]{10,}
  | hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/]{30,}
  | [MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40} | mfa\.[A-Za-z0-9_-]{60,}          # Discord
  | discord(?:app)?\.com/api/webhooks/[0-9]{10,}/[A-Za-z0-9_-]{40,}
  | npm_[A-Za-z0-9]{20,} | hf_[A-Za-z0-9]{20,} | api_org_[A-Za-z0-9]{20,} | pypi-[A-Za-z0-9_-]{40,}
  | rubygems_[0-9a-f]{40,} | oy2[a-z0-9]{43} | cio[A-Za-z0-9]{32} | CLOJARS_[0-9a-f]{40,}
  | secret_[A-Za-z0-9]{43} | [tyz]?xprv[1-9A-HJ-NP-Za-km-z]{100,}        # Notion, wallets
  | [rsp]k_(?:live|test)_[A-Za-z0-9]{16,} | rk_[A-Za-z0-9]{24,} | sk_[0-9a-f]{48} | whsec_[A-Za-z0-9+/=]{20,}
  | sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{20,} | EAAA[A-Za-z0-9_-]{60} | EAA[A-Za-z0-9]{90,}
  | SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,} | SK[0-9a-f]{32} | key-[0-9a-f]{32} | [0-9a-f]{32}-us[0-9]{1,2}
  | (?:gsk_|xai-|pplx-|r8_|fw_|nvapi-|tvly-|ntn_|lin_api_|lin_oauth_|dckr_pat_|dckr_oat_|do[opr]_v1_|shp(?:at|ss|ca|pa)_|hv[sbr]\.)[A-Za-z0-9_-]{20,}
  | (?:csk-|pcsk_|lsv2_(?:pt|sk)_|tgp_v1_|jina_|sb_secret_|sbp_|figd_|figo_|glc_|fo1_|tskey-|CCIPAT_|CFPAT-|HRKU-|tfp_|nfp_)[A-Za-z0-9_+/=-]{20,}
  | glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8} | dapi[0-9a-f]{32} | bkua_[0-9a-f]{40} | NRAK-[A-Z0-9]{27}
  | dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9.]{40,} | pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,}
  | PMAK-[0-9a-f]{24}-[0-9a-f]{34} | pul-[0-9a-f]{40} | sntry[su]_[A-Za-z0-9+/=_-]{40,}
  | [A-Za-z0-9+/]{52}JQQJ99[A-Za-z0-9+/]{26} | [A-Za-z0-9+/]{76}\+(?:ABa|AMC|ASt)[A-Za-z0-9+/]{5}[AQgw]==   # Azure
  | xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16} | dt0c01\.[A-Z0-9]{24}\.[A-Z0-9]{64} | fm[12]r?_[A-Za-z0-9+/=_-]{60,}
  | sk\.eyJ[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,} | AKCp[A-Za-z0-9]{60,} | ATBB[A-Za-z0-9]{32} | aio_[A-Za-z0-9]{28}
  | sq[pua]_[0-9a-f]{40} | sgp_[0-9a-f_]{40,} | shippo_(?:live|test)_[0-9a-f]{40} | duffel_(?:live|test)_[A-Za-z0-9_=-]{43}
  | phx_[A-Za-z0-9]{40,} | rnd_[A-Za-z0-9]{24,} | re_[A-Za-z0-9]{6,12}_[A-Za-z0-9]{20,32} | sl\.(?:u\.)?[A-Za-z0-9_-]{100,}
  | pat-(?:na|eu|ap)[0-9]-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12} | nsec1[02-9ac-hj-np-z]{58}
  | EZ[AT]K[A-Za-z0-9]{54} | AQVN[A-Za-z0-9_-]{35,38} | ops_eyJ[A-Za-z0-9_-]{100,} | AQ\.Ab[A-Za-z0-9_-]{40,}
  | access-(?:sandbox|development|production)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}            # Plaid
  | v1\.0-[0-9a-f]{24}-[0-9a-f]{146}                       # Cloudflare
  | AT[AC]TT3[A-Za-z0-9_=-]{50,} | pat[A-Za-z0-9]{14}\.[0-9a-f]{64} | [A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{50,}
  | [A-Za-z0-9_.~-]{3}[0-9]Q~[A-Za-z0-9_.~-]{31,34}        # Microsoft Entra
  | AGE-SECRET-KEY-(?:PQ-)?1[0-9A-Za-z]{40,}
  | LTAI[A-Za-z0-9]{12,30}                                 # Alibaba Cloud
  | AKID[A-Za-z0-9]{20,40}                                 # Tencent Cloud
  | AKLT[A-Za-z0-9+/=_-]{20,}                              # Volcano Engine
  | bce-v3/ALTAK-[A-Za-z0-9]{16,}/[a-f0-9]{20,}            # Baidu
  | [0-9a-f]{32}\.[A-Za-z0-9]{16}                          # Zhipu
  | [0-9]{7,16}:AA[A-Za-z0-9_-]{30,}                       # Telegram
";

/// Those whose beginning and length are proof enough whatever stands before them: a letter of an escape (`\nghp_…`), a figure
/// of one (`%20ghp_…`), a word that they were glued to. What may go on with letters and digits of any kind has a border behind.
const PROVEN_KEYS: &str = r"(?x)
    gh[pousr]_[A-Za-z0-9]{30,} | github_pat_[A-Za-z0-9_]{30,}
  | sk-(?:ant|proj|or|svcacct|admin|lf)-[A-Za-z0-9_-]{20,}
  | (?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?-u:\b) | AIza[A-Za-z0-9_-]{35}(?-u:\b)
  | GOCSPX-[A-Za-z0-9_-]{20,} | gl(?:pat|dt|rt|ft|ptt|cbt|agent|soat|oas|imt|ffct)-[A-Za-z0-9_.-]{18,}
  | xox[abeoprs]-[0-9][A-Za-z0-9-]{16,} | xapp-[0-9]-[A-Za-z0-9-]{16,}
  | npm_[A-Za-z0-9]{36}(?-u:\b) | hf_[A-Za-z0-9]{34}(?-u:\b) | pypi-AgE[A-Za-z0-9_-]{40,}
  | rubygems_[0-9a-f]{40,} | [rsp]k_(?:live|test)_[A-Za-z0-9]{20,} | whsec_[A-Za-z0-9+/=]{28,}
  | SG\.[A-Za-z0-9_-]{20,24}\.[A-Za-z0-9_-]{40,}
  | (?:gsk_|xai-|pplx-|nvapi-|tvly-|ntn_|lin_api_|dckr_pat_|dckr_oat_|do[opr]_v1_|shp(?:at|ss|ca|pa)_|figd_|sb_secret_|lsv2_(?:pt|sk)_|tskey-[a-z]{2,10}-)[A-Za-z0-9_-]{27,}
  | glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8} | AGE-SECRET-KEY-1[0-9A-Za-z]{40,} | LTAI5t[A-Za-z0-9]{18}(?-u:\b)
";

/// The beginning of a key at the very end of a text that was cut.
const CUT_KEYS: &str = r"(?x)(?-u:\b)(?:
    (?:sk-ant-|sk-proj-|sk-or-|gh[pousr]_|github_pat_|glpat-|xox[abeoprs]-|npm_|hf_|AKIA|AIza|LTAI|AKID|gsk_|xai-)[A-Za-z0-9_-]{4,}
  | sk-[A-Za-z0-9]{6,}
  | eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)*
)\s*(?:…|\.\.\.)?\s*\z";

static KEY: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(&format!(r"(?-u:\b)(?:{KEYS})")).ok());
static PROVEN_KEY: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(PROVEN_KEYS).ok());
/// Of letters and figures of base32: one in thirty has no figure.
static AWS_KEY: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?-u:\b)(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?-u:\b)").ok());
static CUT_KEY: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(CUT_KEYS).ok());
/// JSON web tokens: two or three parts, the first two of which are JSON in base64.
static JWT: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?").ok());
static HEADER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let header = r#"(?i)(?:authorization|x-api-key|api-key|x-auth-token|private-token)\\?["']?\s*[:=]\s*\\?["']?(?:(?:bearer|basic|token|apikey)\s+)?([A-Za-z0-9+/=._~-]{8,})"#;
    Regex::new(header).ok()
});
static BEARER: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)(?-u:\b)(?:bearer|basic)\s+([A-Za-z0-9+/=._~-]{16,})").ok());
static ADDRESS: LazyLock<Option<Regex>> =
    // With an `@` in it that should have been escaped, or a `/`.
    LazyLock::new(|| {
        let password = r#"(?:[^\s/"'<>]{1,200}|[^\s@"'<>]{1,200})"#;
        Regex::new(&format!(r#"[A-Za-z][A-Za-z0-9+.-]{{1,20}}://[^\s/:@"'<>]{{0,80}}:({password})@"#)).ok()
    });
/// A token in the place of a name in an address.
static NAME_IN_ADDRESS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?-u:\b)[a-z][a-z+]{1,15}://([A-Za-z0-9_-]{20,200})(?::[^\s/@]{0,80})?@").ok());
/// What a browser and a server say to each other to know who is who: all its pairs.
static COOKIES: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"(?i)(?-u:\b)cookies?\\?["']?[ \t]*[:=][ \t]*\\?["']?([^\r\n"']{8,})"#).ok());
static COOKIE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?:^|;\s*)[^\s=;,]{1,100}=([^\s;,\\]{12,})").ok());
/// What in an address opens what it leads to (a store in a cloud, a sign-in, a room of a chat): whoever has it may do what
/// it says.
static PARAMETER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let names = "sig|signature|x-amz-signature|x-amz-security-token|x-goog-signature|code|key|auth|ticket|hmac|sid|session|session_?id|jwt|assertion";
    Regex::new(&format!(r"(?i)(?:[?&#;]|&amp;)(?:{names})=([A-Za-z0-9%/+=_.~-]{{16,2000}})")).ok()
});
/// The last parts of the address of a hook: who knows them may speak there.
static HOOK: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let places = [
        r"hooks\.zapier\.com/hooks/catch/[0-9]{4,}/",
        r"open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/(?:v2/)?hook/",
        r"webhook\.office\.com/webhookb2/[0-9a-f@-]{30,}/IncomingWebhook/",
        r"maker\.ifttt\.com/(?:use|trigger/[^\s/]{1,80}(?:/json)?/with/key)/",
    ];
    Regex::new(&format!(r"(?:{})([A-Za-z0-9_/-]{{6,200}})", places.join("|"))).ok()
});

/// A bot's key in the path of an address, where `bot` is glued to it.
static BOT: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?-u:\b)bot([0-9]{7,16}:AA[A-Za-z0-9_-]{30,})").ok());

pub(super) fn find(text: &str) -> Vec<Secret> {
    let mut found = Vec::new();
    let is_key = |hit: &str| (has_digit(hit) || is_jumbled(hit)) && entropy(hit) >= 3.0 && !is_placeholder(hit);
    whole(text, &KEY, SecretKind::ApiKey, &mut found, |hit, before| !is_glued(before) && is_key(hit));
    whole(text, &AWS_KEY, SecretKind::ApiKey, &mut found, |hit, _| entropy(hit) >= 3.0 && !is_placeholder(hit));
    whole(text, &PROVEN_KEY, SecretKind::ApiKey, &mut found, |hit, _| is_key(hit));
    whole(text, &JWT, SecretKind::Token, &mut found, |_, _| true);
    whole(text, &CUT_KEY, SecretKind::ApiKey, &mut found, |hit, _| has_digit(hit) && !is_placeholder(hit));
    part(text, &HEADER, SecretKind::Token, &mut found, |hit| hit.len() >= 8 && has_digit(hit) && !is_placeholder(hit));
    part(text, &BEARER, SecretKind::Token, &mut found, |hit| has_digit(hit) && !is_placeholder(hit));
    part(text, &PARAMETER, SecretKind::Token, &mut found, |hit| {
        is_random(hit) && has_digit(hit) && !is_ordinary(hit) && !is_code_name(hit)
    });
    part(text, &BOT, SecretKind::ApiKey, &mut found, |hit| !is_placeholder(hit));
    part(text, &HOOK, SecretKind::Token, &mut found, |hit| has_digit(hit) && !is_placeholder(hit));
    part(text, &NAME_IN_ADDRESS, SecretKind::Token, &mut found, |hit| is_random(hit) && !is_ordinary(hit));
    for cookies in COOKIES.iter().flat_map(|pattern| pattern.captures_iter(text)).filter_map(|hit| hit.get(1)) {
        let values = COOKIE.iter().flat_map(|pattern| pattern.captures_iter(cookies.as_str()));
        let values = values.filter_map(|hit| hit.get(1)).filter(|hit| is_random(hit.as_str()));
        let place = |hit: regex::Match<'_>| cookies.start() + hit.start()..cookies.start() + hit.end();
        found.extend(
            values
                .filter(|hit| !is_ordinary(hit.as_str()) && !is_code_name(hit.as_str()) && !hit.as_str().contains('('))
                .map(|hit| Secret { range: place(hit), kind: SecretKind::Token }),
        );
    }
    part(text, &ADDRESS, SecretKind::Password, &mut found, |hit| {
        let is_port =
            hit.split('/').next().is_some_and(|port| port.len() <= 5 && port.bytes().all(|b| b.is_ascii_digit()));
        if is_port && hit.contains('/') {
            return false;
        }
        let is_word = ["password", "passwd", "pass", "pwd", "secret", "token", "port"]
            .contains(&hit.to_ascii_lowercase().as_str());
        !is_word && !is_placeholder(hit)
    });
    found
}

fn whole(
    text: &str,
    pattern: &LazyLock<Option<Regex>>,
    kind: SecretKind,
    found: &mut Vec<Secret>,
    fits: impl Fn(&str, &str) -> bool,
) {
    for hit in pattern.iter().flat_map(|pattern| pattern.find_iter(text)) {
        let before = text.get(..hit.start()).unwrap_or_default();
        let shown = hit.as_str().trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '…' | '.'));
        if fits(shown, before) {
            found.push(Secret { range: hit.start()..hit.start() + shown.len(), kind });
        }
    }
}

fn part(
    text: &str,
    pattern: &LazyLock<Option<Regex>>,
    kind: SecretKind,
    found: &mut Vec<Secret>,
    fits: impl Fn(&str) -> bool,
) {
    let hits = pattern.iter().flat_map(|pattern| pattern.captures_iter(text)).filter_map(|hit| hit.get(1));
    found.extend(hits.filter(|hit| fits(hit.as_str())).map(|hit| Secret { range: hit.range(), kind }));
}

/// Letters of both cases without any order: some keys have no digit, and words have few changes of case.
fn is_jumbled(text: &str) -> bool {
    let letters: Vec<bool> =
        text.bytes().filter(u8::is_ascii_alphabetic).map(|byte| byte.is_ascii_uppercase()).collect();
    let changes = letters.windows(2).filter(|pair| pair.first() != pair.last()).count();
    letters.len() >= 20 && changes * 4 >= letters.len() && entropy(text) >= 3.8
}

/// Whether a text goes on with what stands before: a longer word, and no line of a diff.
fn is_glued(before: &str) -> bool {
    match before.as_bytes() {
        [b'-' | b'+'] | [.., b'\n', b'-' | b'+'] => false,
        before => matches!(before.last(), Some(b'-' | b'+' | b'_')),
    }
}

fn has_digit(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
}
