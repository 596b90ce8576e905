//! Words that stand in any text, and those that stand where a password of letters would stand and are none: types, states,
//! labels, stand-ins, and the words for a password in the languages of translations.

use std::collections::HashSet;
use std::sync::LazyLock;

/// A value that can be taken apart into these is no password.
static WORDS: LazyLock<Vec<&str>> = LazyLock::new(|| ALL.split(' ').collect());
const ALL: &str = "\
    a matter abcdef abcdefg abcdefgh accepted account adgangskode admin administrator aes allow allowed alphabetic alphanumeric \
    also always and another ansible any anything app application apply are arg argon args argument arguments array \
    asdf ask at auth authenticate authenticated authentication authenticator authorization auto automatic available \
    back backend bad bar base basic baz bcrypt bearer binary blah blob body bool boolean buffer button bytes cache \
    callback can cancel cannot change changed changeme char character characters checkbox cipher clave cleartext \
    client close column config configuration confirm confirmed context continue contrasena contrasenya cookie copied \
    copy count credential credentials crypt current data database db decrypted default defaults delete demo denied \
    deny deployment deprecated des description dest destination dev development dict digest digits disable disabled \
    docker does done dummy dynamic elastic element elements email empty enable enabled encrypted entered entries entry \
    env environ environment error errors example examples exist exists expired external fake false field fields file \
    files filtered first five fjalekalimi foo foobar for forbidden forgot forgotten form four from frontend ftp \
    function gasvle generate generated geslo getenv getpass given global good grafana guest handler hash hashed haslo \
    hello here heslo hex hidden hide hint host http https id ids ignore ignored imap in incorrect index inherit input \
    inputbox insert int integer interactive internal invalid is it item items jelszo jenkins jwt katalaluan kennwort \
    kerberos key keychain keycloak keyring keys kodeord label last ldap left length letters list live local login \
    logout losenord lowercase lozenord lozinka lykilord mail manager manual map mariadb masked matkhau max maximum may \
    md mdp me memory message messages method min minimum minio missing mock mode mongo mongodb motdepasse must my \
    mysql name names never new next nil no node none not nothing null nullable number numeric oauth object of ok okay \
    old omitted on one only open option optional options or oracle organization other output param parameter \
    parameters params parol parola parole parool pasahitza pass passcode passord passphrase passwd password passwords \
    passwort paste pasword path pbkdf pem placeholder plain plaintext policy pop port postgres postgresql present \
    private prod production project prompt properties property protected provided provider public pw pwd query qux \
    rabbitmq random raw redacted redis register remote replace repository request required reset response result \
    results right root row rsa salasana salt same sample sandi sasl save scrypt second secret secrets secure secured \
    self senha sensitive server service services session set setting settings sha should show sifra sifre signin \
    signup size skip slaptazodis smb smtp some something sonar source sqlserver src ssh ssl staging state static \
    status stderr stdin stdout storage store stored str string strong stub submit super supported system table target \
    test tester testing tests text textarea textbox the third this three title tls to todo token tokens true two type \
    typed types unauthenticated unavailable unchanged undefined unique unknown unset unsupported update updated \
    uppercase uri url user username users usr vagrant valid value values varchar vault visible void wachtwoord \
    wagwoord weak whatever widget will with world wrong yes your zaporka";

/// Words of eight letters and more that stand in any text.
static COMMON: LazyLock<HashSet<&str>> = LazyLock::new(|| ALL_COMMON.split(' ').collect());
const ALL_COMMON: &str = "\
    absolute academic activity actually addition advanced advantage agreement alphabet american analysis announce \
    anywhere apparent appendix approach argument baseball basketball beautiful becoming behavior birthday business \
    butterfly calendar campaign capacity category challenge chapters charlotte chemical children chocolate christmas \
    circumstance citizens clothing collection commercial commission committee community companion complete composed \
    computer concerned condition conference confidence connection consider consistent constant construction contained \
    continue contract contrast contribution convention conversation creative critical currency customer customers \
    daughter december decision definition delivery department describe description designed developer development \
    dictionary difference different difficult direction director discover discussion distance distributed document \
    documents download dragonfly economic education effective efficient eighteen electric elements elephant employee \
    employees engineer engineering enterprise entirely environment equipment especially established estimate european \
    everybody everyone everything evidence examples excellent exchange exercise existing expected experience explained \
    expression extended extension external facebook familiar favorite february financial finished followed following \
    football formation framework frequency friendly function functions fundamental furniture generally generation \
    graphics guidance happened hardware helicopter historical holidays hospital hundreds identity immediate implement \
    importance important included including increase incredible independent indicate individual industry information \
    innovation institute instruction insurance interest interesting internal international internet interview \
    investment knowledge laboratory language laughter leadership learning lifetime likewise listening literature \
    location magazine maintain majority managers manchester marketing material mathematics maximize meanwhile measured \
    medicine meetings membership midnight military minister monitoring mountain mountains movement multiple national \
    necessary negative neighbor networks november obviously occasion officers official opportunity opposite \
    organization original otherwise overview packages particular passenger patience patterns performance permanent \
    permission personal philosophy physical pictures platform pleasure political position positive possible possibly \
    potential practical practice precious preference presence president previous princess principal principle printing \
    priority probably problems procedure processing produced products professional professor programming progress \
    projects promotion property proposal protection provided publication published purchase purchased qualified \
    quantity question questions reaction readable received recently recommend recovery reference referenced regarding \
    register relation relationship relative released relevant religion remember repeated replaced reported republic \
    research resource resources response responsibility restaurant revision sandwich saturday schedule scientific \
    security selected selection sentence separate september sequence services seventeen severely shopping shoulder \
    signature significant simplest situation snowboard software solution somebody something sometimes somewhere \
    southern specific spectrum starting starwars statement statistics strategy strength structure students submitted \
    substance successful suddenly sufficient suggested sunshine superman supplies supporting surprise surround \
    swimming symphony syndrome technical techniques technology telephone television temperature template terminal \
    terminology themselves therefore thousand thousands together tomorrow tradition traditional training transfer \
    transport treatment triangle universe university unlimited valuable variable vehicles versions vertical vocabulary \
    volunteer warranty wednesday whenever wherever wireless wonderful workshop yesterday yourself";

/// Whether a value is one word that stands in any text.
pub(super) fn is_common(value: &str) -> bool {
    COMMON.contains(&*value.to_ascii_lowercase())
}

/// Whether a value is made of words of the trade and nothing else.
pub(super) fn is_of_trade(value: &str) -> bool {
    let letters: String = value.chars().filter(char::is_ascii_alphabetic).collect::<String>().to_ascii_lowercase();
    if letters.is_empty() {
        return false;
    }
    // Where words may begin that cover all that stands before.
    let mut reached = vec![false; letters.len() + 1];
    if let Some(first) = reached.first_mut() {
        *first = true;
    }
    for begin in 0..letters.len() {
        if !reached.get(begin).copied().unwrap_or_default() {
            continue;
        }
        let rest = letters.get(begin..).unwrap_or_default();
        for word in WORDS.iter().filter(|word| rest.starts_with(**word)) {
            if let Some(end) = reached.get_mut(begin + word.len()) {
                *end = true;
            }
        }
    }
    reached.last().copied().unwrap_or_default()
}
