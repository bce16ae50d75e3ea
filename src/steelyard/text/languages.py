"""Language codes and the Snowball stemmer of each language."""

from __future__ import annotations

from steelyard.text.function_words import FUNCTION_WORDS

STEMMERS = {
    "ar": "arabic",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "eo": "esperanto",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fa": "persian",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "ms": "indonesian",
    "nb": "norwegian",
    "ne": "nepali",
    "nl": "dutch",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "st": "sesotho",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
    "yi": "yiddish",
}
"""The Snowball algorithm of each language that has one."""

_THREE_LETTERS = (
    "afr af,amh am,ara ar,arb ar,asm as,aze az,azj az,bel be,ben bn,bul bg,cat ca,ces cs,cmn zh,cym cy,dan da,deu de,"
    "ell el,eng en,epo eo,est et,ekk et,eus eu,fas fa,pes fa,fin fi,fra fr,gle ga,glg gl,guj gu,heb he,hin hi,hrv hr,"
    "hun hu,hye hy,ind id,isl is,ita it,jpn ja,kan kn,kat ka,kaz kk,khm km,kor ko,lao lo,lav lv,lvs lv,lit lt,mal ml,"
    "mar mr,mkd mk,mon mn,khk mn,msa ms,zsm ms,mya my,nep ne,npi ne,nld nl,nob no,nor no,nno no,ory or,ori or,pan pa,"
    "pol pl,por pt,ron ro,rus ru,sin si,slk sk,slv sl,sot st,spa es,sqi sq,als sq,srp sr,swa sw,swh sw,swe sv,tam ta,"
    "tel te,tgl tl,fil tl,tha th,tur tr,ukr uk,urd ur,uzb uz,uzn uz,vie vi,yid yi,ydd yi,yor yo,zho zh,zul zu,"
    # Members of macrolanguages, as MTEB names them: spoken Arabic, Chinese, Pashto, Dari.
    "acm ar,acq ar,aeb ar,ajp ar,apc ar,ars ar,ary ar,arz ar,yue zh,wuu zh,lzh zh,gan zh,hak zh,pus ps,pbt ps,prs fa,"
    "hau ha,som so,"
    # The older bibliographic codes, which CLEF and TREC use.
    "alb sq,arm hy,baq eu,bur my,chi zh,cze cs,dut nl,fre fr,geo ka,ger de,gre el,ice is,mac mk,may ms,per fa,rum ro,"
    "scc sr,scr hr,slo sk,tib bo,wel cy"
)
_ALIASES = {
    **dict(pair.split() for pair in _THREE_LETTERS.split(",")),
    "nb": "no",
    "nn": "no",
    "fil": "tl",
    "iw": "he",
    "in": "id",
    "ji": "yi",
}


def canonical(code: str) -> str:
    """Return the short code of a language, without region or script, from a short or long code.

    >>> canonical("zh-Hans"), canonical("eng_Latn"), canonical("PT-br"), canonical("yue"), canonical("ger")
    ('zh', 'en', 'pt', 'zh', 'de')
    """
    short = code.strip().lower().replace("_", "-").partition("-")[0]
    return _ALIASES.get(short, short)


def is_language(code: str) -> bool:
    """Return whether a short code is that of a language: ja, not jp.

    >>> is_language("ja"), is_language("nv"), is_language("jp"), is_language("cn")
    (True, True, False, False)
    """
    from babel import Locale

    return code in STEMMERS or code in FUNCTION_WORDS or code in Locale("en").languages
