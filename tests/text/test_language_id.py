"""Languages are told apart on short passages, and a task is read as it says or as its texts show."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from steelyard.text.analysis.language_policy import choose_policy
from steelyard.text.language_id import trigrams
from steelyard.text.language_id.detect import LANGUAGES_OF, UNDECIDED, detect, detect_certain
from steelyard.types import TaskInfo

SENTENCES = {
    "en": "The lighthouse was built on the rocks because ships had often been lost there.",
    "de": "Der Leuchtturm wurde auf den Felsen gebaut, weil dort oft Schiffe verloren gingen.",
    "fr": "Le phare a été construit sur les rochers parce que des navires y étaient souvent perdus.",
    "es": "El faro se construyó sobre las rocas porque allí se perdían muchos barcos.",
    "it": "Il faro è stato costruito sugli scogli perché molte navi si perdevano in quel punto.",
    "pt": "O farol foi construído sobre as rochas porque muitos navios se perdiam ali.",
    "nl": "De vuurtoren werd op de rotsen gebouwd omdat er vaak schepen waren vergaan.",
    "sv": "Fyren byggdes på klipporna eftersom många fartyg hade gått under där.",
    "da": "Fyret blev bygget på klipperne, fordi mange skibe var gået tabt der, og det er ikke længe siden.",
    "no": "Fyret ble bygget på klippene fordi mange skip hadde gått tapt der, og hun visste ikke hvorfor.",
    "fi": "Majakka rakennettiin kallioille, koska siellä oli usein kadonnut laivoja, ja se on yhä käytössä.",
    "hu": "A világítótorony a sziklákra épült, mert ott már sok hajó elsüllyedt.",
    "pl": "Latarnię morską zbudowano na skałach, ponieważ statki często się tam rozbijały.",
    "cs": "Maják byl postaven na skalách, protože se tam lodě často ztrácely.",
    "sk": "Maják bol postavený na skalách, pretože sa tam lode často strácali.",
    "ro": "Farul a fost construit pe stânci pentru că multe corăbii s-au pierdut acolo.",
    "tr": "Deniz feneri kayaların üzerine yapıldı, çünkü orada birçok gemi kaybolmuştu.",
    "id": "Mercusuar itu dibangun di atas karang karena banyak kapal yang hilang di sana.",
    "vi": "Ngọn hải đăng được xây trên đá vì nhiều con tàu đã mất tích ở đó.",
    "sw": "Mnara wa taa ulijengwa juu ya miamba kwa sababu meli nyingi zilipotea katika eneo hilo.",
    "et": "Majakas ehitati kaljudele, sest seal oli sageli laevu kadunud ja see on veel alles.",
    "lv": "Bāka tika uzcelta uz klintīm, jo tur bieži gāja bojā kuģi, un tā ir vēl šodien.",
    "lt": "Švyturys buvo pastatytas ant uolų, nes ten dažnai žūdavo laivai.",
    "sl": "Svetilnik so zgradili na skalah, ker so se tam ladje pogosto izgubile in je bilo nevarno.",
    "ca": "El far es va construir sobre les roques perquè molts vaixells s'hi havien perdut.",
    "eu": "Itsasargia harkaitzen gainean eraiki zuten, itsasontzi asko galdu zirelako eta oso arriskutsua zen.",
    "is": "Vitinn var reistur á klettunum vegna þess að þar höfðu mörg skip farist.",
    "sq": "Fari u ndërtua mbi shkëmbinj sepse shumë anije ishin humbur në atë vend.",
    "af": "Die vuurtoring is op die rotse gebou omdat baie skepe daar verlore gegaan het.",
    "tl": "Ang parola ay itinayo sa mga bato dahil maraming barko ang nawala roon.",
    "ru": "Маяк построили на скалах, потому что там часто гибли корабли.",
    "uk": "Маяк збудували на скелях, тому що там часто гинули кораблі, і він ще працює.",
    "bg": "Фарът е построен върху скалите, защото там често са загивали кораби.",
    "sr": "Светионик је изграђен на стенама јер су се ту бродови често губили.",
    "mk": "Светилникот беше изграден на карпите бидејќи таму често се губеа бродови и тоа не е сè.",
    "be": "Маяк пабудавалі на скалах, таму што там часта гінулі караблі, і ён яшчэ працуе.",
    "kk": "Шамшырақ жартастардың үстіне салынды, өйткені ол жерде көп кеме жоғалған.",
    "ar": "بنيت المنارة على الصخور لأن السفن كانت تضيع هناك في كثير من الأحيان.",
    "fa": "فانوس دریایی روی صخره‌ها ساخته شد زیرا کشتی‌های زیادی در آنجا گم شده بودند.",
    "ur": "یہ مینار چٹانوں پر بنایا گیا کیونکہ وہاں اکثر جہاز گم ہو جاتے تھے۔",
    "hi": "प्रकाशस्तंभ चट्टानों पर बनाया गया था क्योंकि वहाँ अक्सर जहाज़ खो जाते थे।",
    "mr": "दीपगृह खडकांवर बांधले गेले कारण तेथे अनेक जहाजे हरवली होती.",
    "ne": "धेरै जहाजहरू त्यहाँ हराएका थिए, त्यसैले प्रकाशस्तम्भ चट्टानमा बनाइएको थियो र अझै छ।",
    "he": "המגדלור נבנה על הסלעים כי אוניות רבות אבדו שם.",
    "el": "Ο φάρος χτίστηκε πάνω στα βράχια επειδή εκεί χάνονταν πλοία.",
    "bn": "বাতিঘরটি পাথরের উপর নির্মিত হয়েছিল।",
    "ta": "கலங்கரை விளக்கம் பாறைகளின் மேல் கட்டப்பட்டது.",
    "te": "దీపస్తంభం రాళ్లపై నిర్మించబడింది.",
    "th": "ประภาคารสร้างบนโขดหินเพราะเรือหลายลำสูญหายที่นั่น",
    "ko": "그곳에서 배가 자주 사라졌기 때문에 등대가 바위 위에 세워졌다.",
    "ja": "そこで多くの船が失われたため、灯台は岩の上に建てられた。",
    "zh": "因为那里经常有船只失踪，所以灯塔建在岩石上。",
    "ka": "შუქურა კლდეებზე აშენდა.",
    "hy": "Փարոսը կառուցվել է ժայռերի վրա։",
    "am": "መብራቱ በድንጋዮች ላይ ተሠራ።",
    "km": "ប៉មភ្លើងហ្វារត្រូវបានសាងសង់នៅលើថ្ម។",
    "my": "မီးပြတိုက်ကို ကျောက်ဆောင်များပေါ်တွင် ဆောက်ခဲ့သည်။",
}


def test_a_sentence_is_enough_to_tell_the_language() -> None:
    found = dict(zip(SENTENCES, detect(list(SENTENCES.values())), strict=True))
    wrong = {code: guess for code, guess in found.items() if guess != code}
    assert len(SENTENCES) > 50
    assert not wrong


SHORT = {
    "fi": ("Talvella järvet jäätyvät nopeasti", "Lapset leikkivät puistossa", "vanha kirjasto suljettiin"),
    "sv": ("Barnen leker utomhus varje sommar", "Snön smälter långsamt", "gamla biblioteket stängdes"),
    "no": ("Barna leker utendørs hver sommer", "Snøen smelter sakte", "det gamle biblioteket stengte"),
    "da": ("Børnene leger udendørs hver sommer", "Sneen smelter langsomt", "det gamle bibliotek lukkede"),
    "et": ("Lapsed mängivad suvel õues", "Lumi sulab aeglaselt", "vana raamatukogu suleti"),
    "hu": ("Nyáron minden gyerek kint játszik", "Lassan olvad a hó", "bezárták a régi könyvtárat"),
    "sl": ("Otroci se poleti igrajo zunaj", "Sneg se počasi topi", "staro knjižnico so zaprli"),
    "sk": ("Deti sa v lete hrajú vonku", "Sneh sa pomaly topí", "starú knižnicu zatvorili"),
    "eu": ("Umeek kanpoan jolasten dute udan", "Elurra poliki urtzen da", "liburutegi zaharra itxi zuten"),
    "ca": ("Els nens juguen fora cada estiu", "La neu es fon a poc a poc", "van tancar la biblioteca vella"),
    "pt": ("As crianças brincam lá fora no verão", "A neve derrete devagar", "fecharam a antiga biblioteca"),
    "tr": ("Çocuklar yazın dışarıda oynuyor", "Kar yavaşça eriyor", "eski kütüphane kapatıldı"),
    "uk": ("Діти влітку граються надворі", "Сніг повільно тане", "стару бібліотеку закрили"),
    "be": ("Дзеці ўлетку гуляюць на вуліцы", "Снег павольна растае", "старую бібліятэку зачынілі"),
    "bg": ("Децата играят навън през лятото", "Снегът се топи бавно", "затвориха старата библиотека"),
    "sr": ("Деца се лети играју напољу", "Снег се полако топи", "затворили су стару библиотеку"),
    "kk": ("Балалар жазда далада ойнайды", "Қар баяу ериді", "ескі кітапхана жабылды"),
    "mr": ("मुले उन्हाळ्यात बाहेर खेळतात", "बर्फ हळूहळू वितळतो", "जुने ग्रंथालय बंद झाले"),
    "ne": ("केटाकेटीहरू गर्मीमा बाहिर खेल्छन्", "हिउँ बिस्तारै पग्लिन्छ", "पुरानो पुस्तकालय बन्द गरियो"),
    "en": ("Children play outdoors every summer", "Snow melts slowly", "old library closed last winter"),
    "de": ("Kinder spielen jeden Sommer draußen", "Schnee schmilzt langsam", "alte Bibliothek geschlossen"),
}


def test_a_few_words_are_enough_for_most() -> None:
    """Function words alone told 19 of these 63."""
    pairs = [(code, text) for code, texts in SHORT.items() for text in texts]
    found = detect([text for _, text in pairs])
    wrong = [(code, guess, text) for (code, text), guess in zip(pairs, found, strict=True) if guess != code]
    assert len(wrong) <= 10, wrong


def test_the_second_look_knows_only_the_languages_that_are_possible() -> None:
    texts = [text for texts in SHORT.values() for text in texts]
    possible = ("fi", "de", "uk", "zh")
    assert set(detect(texts, possible)) <= {*possible, UNDECIDED}
    assert detect(SHORT["fi"] + SHORT["de"], possible) == ["fi"] * 3 + ["de"] * 3


def test_people_are_told_fewer_but_surer() -> None:
    pairs = [(code, text) for code, texts in SHORT.items() for text in texts]
    told = [(code, guess) for (code, _), guess in zip(pairs, detect_certain([text for _, text in pairs]), strict=True)]
    said = [(code, guess) for code, guess in told if guess != UNDECIDED]
    assert len(said) > len(told) / 3
    assert all(code == guess for code, guess in said), said


def test_words_of_no_language_are_not_shared_out_among_languages() -> None:
    made = [
        "loturbatur semosripek kodarripek talinkolin koturmulin ripekmutur bapeksetur lodarnepek mumosritur",
        "kopekkodar rilinmutur bapekkomos tamostavey tapekselin sepekkomos taturmulin sepekripek komosselin",
        "xk42q9z zq7rt81m 9fd3ab77 bb81kq0x tq55zzk1 pq0x7m2n",
    ]
    assert detect(made) == detect_certain(made) == [UNDECIDED] * 3
    assert choose_policy(made, TaskInfo("x/y")).languages == (UNDECIDED,)


def test_every_language_that_shares_a_script_has_trigrams() -> None:
    shared = {code for script in trigrams.SCRIPTS for code in LANGUAGES_OF[script]}
    assert set(trigrams.languages()) == shared
    several = {script for script, codes in LANGUAGES_OF.items() if len(codes) > 1}
    assert several == set(trigrams.SCRIPTS)


def test_latin_names_in_a_chinese_text_do_not_sway_it() -> None:
    assert detect(["巴黎的 Place de la Concorde 是一个广场，位于香榭丽舍大街。"]) == ["zh"]


def test_what_shows_no_language_stays_undecided() -> None:
    assert detect(["42", "", "Xyzzy", "?!"]) == [UNDECIDED] * 4


def test_detection_does_not_depend_on_the_company() -> None:
    texts = list(SENTENCES.values())
    assert detect(texts) == [detect([text])[0] for text in texts]


@pytest.mark.parametrize(
    ("info", "languages", "origin"),
    [
        (TaskInfo("t/t", language="pt-BR"), ("pt",), "language of the task"),
        (TaskInfo("t/t", language="unknown", languages=("cmn",)), ("zh",), "language of the task"),
        (TaskInfo("t/t", category="code", language="en"), ("code",), "category of the task"),
        (TaskInfo("t/t"), ("en",), "detected"),
    ],
)
def test_the_task_decides_first(info: TaskInfo, languages: tuple[str, ...], origin: str) -> None:
    policy = choose_policy([SENTENCES["en"]] * 20 + [SENTENCES["de"]], info)
    assert (policy.languages, policy.origin) == (languages, origin)


def test_a_mixed_task_is_read_text_by_text() -> None:
    texts = [SENTENCES[code] for code in ("en", "ja", "de", "en", "ru")] + ["12"]
    policy = choose_policy(texts, TaskInfo("t/t", language="multilingual"))
    groups = {str(analyser): rows.tolist() for analyser, rows in policy.groups(texts)}
    assert policy.languages[0] == "en"
    assert groups["words, english stemmer"] == [0, 3, 5]
    assert groups["words, german stemmer"] == [2]
    assert groups["n-grams, words, english stemmer"] == [1]
    assert sorted(row for rows in groups.values() for row in rows) == list(range(6))


def test_languages_are_the_same_however_many_texts_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [*SENTENCES.values(), "", "42", *SENTENCES.values()]
    once = detect(texts), detect_certain(texts), detect_certain(texts, ["de", "en", "zh"])
    monkeypatch.setattr("steelyard.text.language_id.detect._CHUNK", 60)
    assert (detect(texts), detect_certain(texts), detect_certain(texts, ["de", "en", "zh"])) == once
    assert detect([]) == detect_certain([]) == []


def test_a_sample_decides_only_where_it_is_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard.text.analysis.language_policy._SAMPLE", 10)
    asked: list[int] = []

    def counted(texts: Sequence[str], among: Sequence[str]) -> list[str]:
        asked.append(len(texts))
        return detect(texts, among)

    monkeypatch.setattr("steelyard.text.analysis.language_policy.detect", counted)
    assert choose_policy([SENTENCES["en"]] * 200, TaskInfo("t/t")).languages == ("en",)
    assert asked == [10]
    translated = [SENTENCES[code] for code in ("en", "de", "en")] * 70
    assert choose_policy(translated, TaskInfo("t/t")).languages == ("en", "de")
    assert choose_policy(["42"] * 199 + [SENTENCES["ja"]], TaskInfo("t/t")).languages == ("ja",)
    assert asked == [10, 10, 210, 10, 200], "all, where the sample is mixed or shows nothing"


@pytest.mark.parametrize("told", ["English", "multilingual", "mul", "unknown", "", "jp", "cz"])
def test_what_is_no_code_of_a_language_is_found_in_the_texts(told: str) -> None:
    policy = choose_policy([SENTENCES["de"]] * 3, TaskInfo("x/y", language=told))
    assert (policy.languages, policy.origin) == (("de",), "detected")


@pytest.mark.parametrize(
    ("told", "language"), [("ger", "de"), ("chi", "zh"), ("fre", "fr"), ("dut", "nl"), ("ace", "ace")]
)
def test_codes_of_libraries_are_codes(told: str, language: str) -> None:
    policy = choose_policy([SENTENCES["en"]] * 3, TaskInfo("x/y", language=told))
    assert (policy.languages, policy.origin) == ((language,), "language of the task")
