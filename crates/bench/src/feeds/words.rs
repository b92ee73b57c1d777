//! Words of several languages, from one byte a character to three, put together without meaning.

use super::random::Random;

#[derive(Debug)]
pub(super) struct Language {
    pub(super) tag: &'static str,
    /// Whether windows-1252 can write it.
    pub(super) is_western: bool,
    space: &'static str,
    stop: &'static str,
    words: &'static str,
}

pub(super) const LANGUAGES: [Language; 8] = [
    Language {
        tag: "en",
        is_western: true,
        space: " ",
        stop: ". ",
        words: "the a of to and release parser server memory people city council river morning report year market \
                open source engine water light project school research station team season history letter garden music \
                network weather system question answer between through because already quickly without another",
    },
    Language {
        tag: "de",
        is_western: true,
        space: " ",
        stop: ". ",
        words: "der die das und über für Straße Gemüse Übersicht schön Mädchen Jahr Verfügbarkeit nächste größer \
                Veröffentlichung Zeitung Fluß Köln Brücke fünf zwölf möglich gehört Rechnung Bürger Wähler später früh",
    },
    Language {
        tag: "fr",
        is_western: true,
        space: " ",
        stop: ". ",
        words: "le la les des été où après déjà naïve cœur élève français théâtre même forêt garçon être voilà année \
                société développement système numéro première lumière rivière marché château événement équipe qualité",
    },
    Language {
        tag: "es",
        is_western: true,
        space: " ",
        stop: ". ",
        words: "el la los una año niño mañana también más después corazón país canción español acción público árbol \
                ciudad información río montaña jardín música según teléfono página último está aquí difícil",
    },
    Language {
        tag: "ru",
        is_western: false,
        space: " ",
        stop: ". ",
        words: "и в на что это время человек город река утро рынок новый сервер память школа история письмо погода \
                вопрос ответ система сообщение разработка обновление библиотека университет проект команда музыка свет",
    },
    Language {
        tag: "el",
        is_western: false,
        space: " ",
        stop: ". ",
        words: "και το να στην πόλη χρόνος άνθρωπος νερό φως μουσική σχολείο ιστορία γράμμα κήπος δίκτυο καιρός σύστημα \
                ερώτηση απάντηση έκδοση αγορά ποτάμι πρωί έρευνα σταθμός ομάδα νέα θάλασσα",
    },
    Language {
        tag: "ja",
        is_western: false,
        space: "",
        stop: "。",
        words: "東京 の は 新しい 発表 した サーバー 開発 ニュース 天気 今日 世界 音楽 学校 歴史 手紙 が を に 研究 \
                システム 問題 解決 ライブラリ 更新 公開 チーム 市場 川 朝 です ます について として",
    },
    Language {
        tag: "ko",
        is_western: false,
        space: " ",
        stop: ". ",
        words: "서울 오늘 날씨 새로운 발표 했다 서버 개발 소식 세계 음악 학교 역사 편지 연구 시스템 문제 해결 \
                공개 시장 강 아침 사람들 그리고 하지만 때문에 빠르게 프로젝트 업데이트",
    },
];

/// Some words in a row.
pub(super) fn phrase(language: &Language, random: &mut Random, count: usize) -> String {
    let words: Vec<&str> = language.words.split_ascii_whitespace().collect();
    (0..count).map(|_| random.pick(&words)).collect::<Vec<_>>().join(language.space)
}

/// One to four sentences.
pub(super) fn sentences(language: &Language, random: &mut Random) -> String {
    (0..random.between(1, 4))
        .map(|_| {
            let count = random.between(6, 22);
            format!("{}{}", phrase(language, random, count), language.stop)
        })
        .collect()
}
