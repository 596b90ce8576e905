//! Words that stand where a password of letters would stand and are none: types, states, labels, stand-ins, and the words
//! for a password in the languages of translations.

use std::sync::LazyLock;

/// A value that can be taken apart into these is no password.
static WORDS: LazyLock<Vec<&str>> = LazyLock::new(|| ALL.split(' ').collect());
const ALL: &str = "\
    abcdef abcdefg abcdefgh accepted account adgangskode admin administrator aes allow allowed alphabetic alphanumeric \
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

/// Whether a value is made of such words and nothing else.
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
