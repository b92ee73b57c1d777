//! Names of months and weekdays in the languages of the feeds that were seen, and the small words between them.
//!
//! A name may be shortened wherever what is left fits one month only; a word that is more than a name is no name.

use jiff::civil::Weekday;

const MONTH_CHARS_MIN: usize = 3;
const WEEKDAY_CHARS_MIN: usize = 2;

/// Lower case without accents, so that one table serves all spellings, composed or decomposed.
pub(super) fn fold(word: &str) -> String {
    let lower = word.chars().flat_map(char::to_lowercase);
    lower.filter(|ch| !('\u{300}'..='\u{36f}').contains(ch)).map(without_accent).collect()
}

/// What a word or the beginning of one stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Meaning<T> {
    One(T),
    /// Languages differ about which one.
    Several,
}

/// The month that a folded word names or begins.
pub(super) fn month(word: &str) -> Option<i8> {
    if let Some((_, month)) = MONTHS_WHOLE.iter().find(|(name, _)| *name == word) {
        return Some(*month);
    }
    match lookup(&MONTHS, word, MONTH_CHARS_MIN)? {
        Meaning::One(month) => Some(month),
        Meaning::Several => None,
    }
}

/// The weekday that a folded word names or begins. It is a weekday even where it is not known which one.
pub(super) fn weekday(word: &str) -> Option<Meaning<Weekday>> {
    match lookup(&WEEKDAYS, word, WEEKDAY_CHARS_MIN)? {
        Meaning::One(number) => Weekday::from_monday_one_offset(number).ok().map(Meaning::One),
        Meaning::Several => Some(Meaning::Several),
    }
}

/// The number, from one, of the row with this name; failing that, of the row with a name that begins so.
fn lookup(rows: &[&[&str]], word: &str, chars_min: usize) -> Option<Meaning<i8>> {
    if word.chars().count() < chars_min {
        return None;
    }
    let mut found = None;
    for (number, row) in (1..).zip(rows) {
        for name in *row {
            if *name == word {
                return Some(Meaning::One(number));
            }
            if name.starts_with(word) {
                let same = found.is_none_or(|before| before == Meaning::One(number));
                found = Some(if same { Meaning::One(number) } else { Meaning::Several });
            }
        }
    }
    found
}

fn without_accent(ch: char) -> char {
    match ch {
        'à'..='å' | 'ā' | 'ă' | 'ą' => 'a',
        'ç' | 'ć' | 'č' => 'c',
        'ď' => 'd',
        'è'..='ë' | 'ē' | 'ė' | 'ę' | 'ě' => 'e',
        'ğ' => 'g',
        'ì'..='ï' | 'ī' | 'ı' => 'i',
        'ł' => 'l',
        'ñ' | 'ń' | 'ň' => 'n',
        'ò'..='ö' | 'ø' | 'ō' | 'ő' => 'o',
        'ř' => 'r',
        'ś' | 'ş' | 'š' | 'ș' => 's',
        'ţ' | 'ť' | 'ț' => 't',
        'ù'..='ü' | 'ū' | 'ů' | 'ű' => 'u',
        'ý' => 'y',
        'ź' | 'ż' | 'ž' => 'z',
        'ά' => 'α',
        'έ' => 'ε',
        'ή' => 'η',
        'ί' | 'ϊ' | 'ΐ' => 'ι',
        'ό' => 'ο',
        'ύ' | 'ϋ' | 'ΰ' => 'υ',
        'ώ' => 'ω',
        'ς' => 'σ',
        _ => ch,
    }
}

/// Words that say nothing of the date.
pub(super) const FILLERS: &[&str] = &[
    "at", "on", "the", "of", "am", "um", "uhr", "den", "der", "de", "del", "a", "as", "las", "le", "el", "ore", "alle",
    "om", "kl", "klo", "feira", "г", "года", "в", "о", "р", "року",
];

/// Full names by month, folded. A form that another one begins with needs no entry of its own.
#[rustfmt::skip] // One name to a line would hide the months.
pub(super) const MONTHS: [&[&str]; 12] = [
    &["january", "januari", "janvier", "enero", "gennaio", "janeiro", "stycznia", "styczen", "январь", "января",
      "januarie", "ianuarie", "ocak", "ιανουαριοσ", "ιανουαριου", "leden", "ledna", "січень", "січня", "януари",
      "gener", "jaanuar", "janvaris", "tammikuuta"],
    &["february", "februari", "fevrier", "febrero", "febbraio", "fevereiro", "lutego", "luty", "февраль", "февраля",
      "subat", "φεβρουαριοσ", "φεβρουαριου", "unora", "лютий", "лютого", "февруари", "febrer", "veebruar",
      "februaris", "helmikuuta"],
    &["march", "marz", "maerz", "mars", "marzo", "marco", "maart", "marca", "marec", "marzec", "март", "марта",
      "marts", "martie", "mart", "μαρτιοσ", "μαρτιου", "brezen", "brezna", "березень", "березня", "marcius", "maret",
      "maaliskuuta"],
    &["april", "avril", "abril", "aprilie", "kwietnia", "kwiecien", "апрель", "апреля", "nisan", "απριλιοσ",
      "απριλιου", "duben", "dubna", "квітень", "квітня", "aprilis", "aprill", "huhtikuuta"],
    &["may", "mai", "mayo", "maggio", "maio", "maig", "mei", "maja", "majus", "май", "мая", "mayis", "μαιοσ", "μαιου",
      "kveten", "kvetna", "травень", "травня", "toukokuuta"],
    &["june", "juni", "juin", "junio", "giugno", "junho", "juny", "junius", "czerwca", "czerwiec", "июнь", "июня",
      "iunie", "haziran", "ιουνιοσ", "ιουνιου", "cerven", "cervna", "червень", "червня", "юни", "juuni", "kesakuuta"],
    &["july", "juli", "juillet", "julio", "luglio", "julho", "juliol", "julius", "lipca", "lipiec", "июль", "июля",
      "iulie", "temmuz", "ιουλιοσ", "ιουλιου", "cervenec", "cervence", "липень", "липня", "юли", "juuli",
      "heinakuuta"],
    &["august", "aout", "agosto", "augustus", "sierpnia", "sierpien", "августа", "augusti", "augusztus", "agustos",
      "agustus", "αυγουστοσ", "αυγουστου", "srpen", "srpna", "серпень", "серпня", "avgust", "elokuuta"],
    &["september", "septembre", "septiembre", "settembre", "setembro", "setembre", "setiembre", "wrzesnia",
      "wrzesien", "сентябрь", "сентября", "septembrie", "eylul", "σεπτεμβριοσ", "σεπτεμβριου", "zari", "вересень",
      "вересня", "септември", "szeptember", "syyskuuta"],
    &["october", "oktober", "octobre", "octubre", "ottobre", "outubro", "pazdziernika", "октябрь", "октября",
      "octombrie", "ekim", "οκτωβριοσ", "οκτωβριου", "rijen", "rijna", "жовтень", "жовтня", "октомври", "oktoober",
      "lokakuuta"],
    &["november", "novembre", "noviembre", "novembro", "listopada", "listopadu", "ноябрь", "ноября", "noiembrie",
      "kasim", "νοεμβριοσ", "νοεμβριου", "листопада", "ноември"],
    &["december", "decembre", "dezember", "diciembre", "dicembre", "dezembro", "grudnia", "grudzien", "декабрь",
      "декабря", "desember", "desembre", "decembrie", "aralik", "δεκεμβριοσ", "δεκεμβριου", "prosinec", "prosince",
      "грудень", "грудня", "декември", "detsember", "joulukuuta"],
];

/// Short forms that begin no name, and names whose beginning means another month elsewhere.
const MONTHS_WHOLE: &[(&str, i8)] = &[("mrt", 3), ("agt", 8), ("marras", 11), ("marraskuu", 11), ("marraskuuta", 11)];

/// Full names by weekday from Monday, folded, and the short forms that begin none of them.
#[rustfmt::skip]
pub(super) const WEEKDAYS: [&[&str]; 7] = [
    &["monday", "montag", "lundi", "lunes", "lunedi", "segunda", "maandag", "poniedzialek", "понедельник", "mandag",
      "pondeli", "hetfo", "δευτερα", "pazartesi", "luni", "понеділок", "maanantai", "월요일", "月曜日", "星期一",
      "周一", "пн"],
    &["tuesday", "dienstag", "mardi", "martes", "martedi", "terca", "dinsdag", "wtorek", "вторник", "tisdag",
      "tirsdag", "utery", "kedd", "τριτη", "sali", "marti", "вівторок", "tiistai", "화요일", "火曜日", "星期二",
      "周二"],
    &["wednesday", "mittwoch", "mercredi", "miercoles", "mercoledi", "quarta", "woensdag", "sroda", "среда", "onsdag",
      "streda", "szerda", "τεταρτη", "carsamba", "miercuri", "середа", "keskiviikko", "수요일", "水曜日", "星期三",
      "周三"],
    &["thursday", "donnerstag", "jeudi", "jueves", "giovedi", "quinta", "donderdag", "czwartek", "четверг", "torsdag",
      "ctvrtek", "csutortok", "πεμπτη", "persembe", "joi", "четвер", "torstai", "목요일", "木曜日", "星期四", "周四",
      "чт"],
    &["friday", "freitag", "vendredi", "viernes", "venerdi", "sexta", "vrijdag", "piatek", "пятница", "fredag",
      "patek", "pentek", "παρασκευη", "cuma", "vineri", "perjantai", "금요일", "金曜日", "星期五", "周五", "pt",
      "пт"],
    &["saturday", "samstag", "sonnabend", "samedi", "sabado", "sabato", "zaterdag", "sobota", "суббота", "lordag",
      "szombat", "σαββατο", "cumartesi", "sambata", "субота", "lauantai", "토요일", "土曜日", "星期六", "周六", "сб"],
    &["sunday", "sonntag", "dimanche", "domingo", "domenica", "zondag", "niedziela", "воскресенье", "sondag",
      "nedele", "vasarnap", "κυριακη", "pazar", "duminica", "неділя", "sunnuntai", "일요일", "日曜日", "星期日",
      "星期天", "周日", "вс", "nd"],
];
