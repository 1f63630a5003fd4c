"""`.tokenize()` gives what the package `tokenizers` gives, for the WordPiece and Unigram kinds and the normalizers that go with them."""
import json
import random
import unicodedata

import pytest

import forebay as fb
from tokenizing import charsmap, novels, tokens

tokenizers = pytest.importorskip("tokenizers")
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers  # noqa: E402

SAMPLE = ["", " ", "  ", "\n", "a", " a", "a ", "It's  a test, isn't it?", "HÉLLO Straße İstanbul ΑΒΓΣ ǅ", "日本語と漢字 ㍿ 한국어 ＡＢＣ ½ ﷺ", "``quoted'' -- text…", "\x00a\x00 \u200b\ufeffb\ufffd\x7f",
          "\u00a8abc \u00a8 x", "[UNK] [MASK] x[MASK]  [MASK] <mask>  <unk> <unk><unk>", "▁ a▁b ▁▁c", "e\u0301\u0323 a\u0327\u0301\u0301\u0301\u0301 ", "x" * 150, "é" * 101, "é" * 100,
          "👨‍👩‍👧 🇩🇪🇫🇷 👍🏽 ©\u200d© क्षि क्क\u0301", "\u0600a \u0600\u0301 \r\n\u0301\t", "\u1100\u1161\u11a8 \uac00\u11a8", "1,000.50 $ + ~ ^ ` ¿¡ ‽", "\u2028x\u3000y\x85z"]
POOLS = ["ab ", " \n\r\t\u00a0", "etaoinshr", "ETAOIN", "0123456789½Ⅷ²", "éÉüßſİǅﬁ", "日本漢字株", "一二\u3400\uf900", "!?.,;:-'\"``", "\u0301\u0323\u0327\u0334\u0345\u200d\ufe0f", "\u00a8\u00b4\u037a\u0385ＡＢｱﾞ",
         "가각ㄱ\u1100\u1161\u11a8", "क्षक\u093f\u094d", "▁\u2581", "\x00\x01\x7f\u200b\ufeff\ufffd", "👍🏽👩🇩🇪©", "\u0600\u06dd"]


def some_text(rng):
    return "".join(rng.choice(rng.choice(POOLS)) for _ in range(rng.randrange(60)))


def anything(rng):
    """Characters of all of Unicode 14, whose properties are settled."""
    codes = (rng.randrange(0x110000) if rng.random() < 0.5 else rng.randrange(0x3000) for _ in range(60))
    return "".join(chr(code) for code in codes if not 0xD800 <= code < 0xE000 and unicodedata.category(chr(code)) != "Cn")


@pytest.fixture(scope="module")
def texts(shared):
    return novels(shared)


@pytest.fixture(scope="module")
def table():
    pytest.importorskip("sentencepiece")
    return charsmap()


def wordpiece(texts, normalizer=normalizers.BertNormalizer(), words=pre_tokenizers.BertPreTokenizer()):
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizer
    made.pre_tokenizer = words
    made.train_from_iterator(texts, trainers.WordPieceTrainer(vocab_size=2500, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], show_progress=False))
    made.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return made


def unigram(texts, normalizer=None, words=pre_tokenizers.Metaspace()):
    made = Tokenizer(models.Unigram())
    if normalizer is not None:
        made.normalizer = normalizer
    made.pre_tokenizer = words
    trainer = trainers.UnigramTrainer(vocab_size=2000, special_tokens=["<s>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False)
    made.train_from_iterator(texts, trainer)
    made.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    made.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return made


def assert_same(tmp_path, made, some):
    expected = [one.ids for one in made.encode_batch(some)]
    found = tokens(tmp_path, made, some)
    assert [text for text, ids, ours in zip(some, expected, found) if ids != ours][:5] == []
    assert len(found) == len(expected)
    assert tokens(tmp_path, made, SAMPLE, special=False) == [one.ids for one in made.encode_batch(SAMPLE, add_special_tokens=False)]


def everything(texts, seed):
    rng = random.Random(seed)
    return SAMPLE + texts + [some_text(rng) for _ in range(3000)] + [anything(rng) for _ in range(1500)]


BERTS = {
    "uncased": normalizers.BertNormalizer(),
    "cased": normalizers.BertNormalizer(lowercase=False),
    "accents kept": normalizers.BertNormalizer(strip_accents=False, lowercase=True),
    "accents only": normalizers.BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=True, lowercase=False),
    "nothing": normalizers.BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False),
    "by parts": normalizers.Sequence([normalizers.NFD(), normalizers.Lowercase(), normalizers.StripAccents(), normalizers.Strip()]),
}


@pytest.mark.parametrize("kind", BERTS)
def test_wordpiece_is_that_of_tokenizers(tmp_path, texts, kind):
    made = wordpiece(texts[:3000], BERTS[kind])
    made.add_tokens([AddedToken("Yes", normalized=True), AddedToken("wörd", single_word=True), AddedToken("of", rstrip=True, single_word=True, normalized=True)])
    assert_same(tmp_path, made, everything(texts, 1) + ["yes YES Yes no", "a wörd wörds; wörd", "of  of of\n often"])


@pytest.mark.parametrize("words", [pre_tokenizers.Whitespace(), pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.BertPreTokenizer()])],
                         ids=["Whitespace", "WhitespaceSplit", "Sequence"])
def test_words_are_those_of_tokenizers(tmp_path, texts, words):
    assert_same(tmp_path, wordpiece(texts[:1000], words=words), everything(texts[:1000], 2))


def normalizers_of_unigram(table):
    precompiled = normalizers.Precompiled(table)
    return {
        "T5": (precompiled, pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])),
        "T5, a blank before the first": (precompiled, pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="first")])),
        "XLNet": (normalizers.Sequence([normalizers.Replace("``", '"'), normalizers.Replace("''", '"'), normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase(), precompiled,
                                        normalizers.Replace(Regex(" {2,}"), " ")]), pre_tokenizers.Metaspace()),
        "XLM-R": (normalizers.Sequence([precompiled, normalizers.Replace(Regex(" {2,}"), "▁")]), pre_tokenizers.Metaspace(prepend_scheme="first")),
        "mBART": (normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" +"), " ")]), pre_tokenizers.Metaspace()),
        "DeBERTa": (normalizers.Sequence([normalizers.Strip(), precompiled]), pre_tokenizers.Metaspace(prepend_scheme="first")),
        "a blank before by the normalizer": (normalizers.Sequence([normalizers.NFC(), normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]), pre_tokenizers.Metaspace(prepend_scheme="never")),
        "not cut": (precompiled, pre_tokenizers.Metaspace(split=False)),
    }


KINDS = ["T5", "T5, a blank before the first", "XLNet", "XLM-R", "mBART", "DeBERTa", "a blank before by the normalizer", "not cut"]


@pytest.mark.parametrize("kind", KINDS)
def test_unigram_is_that_of_tokenizers(tmp_path, texts, table, kind):
    # Of lines that are not cut, training alone would take half a minute.
    made = unigram(texts[:300 if kind == "not cut" else 2000], *normalizers_of_unigram(table)[kind])
    assert_same(tmp_path, made, everything(texts[:6000], KINDS.index(kind)))


def test_unknown_characters_as_bytes(tmp_path, texts):
    state = json.loads(unigram(texts[:1000], normalizers.NFKC()).to_str())
    state["model"]["byte_fallback"] = True
    state["model"]["vocab"] += [[f"<0x{byte:02X}>", -20.0] for byte in range(256)]
    assert_same(tmp_path, Tokenizer.from_str(json.dumps(state)), everything(texts[:1000], 3))
    state["model"]["vocab"].remove(["<0xE6>", -20.0])
    assert_same(tmp_path, Tokenizer.from_str(json.dumps(state)), everything(texts[:100], 4))


def bpe(texts, **options):
    """BPE of characters, as SentencePiece's models are written."""
    made = Tokenizer(models.BPE(unk_token="<unk>", **options))
    made.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    # Words for the training alone: of lines that are not cut it would learn nothing else.
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    prefix = options.get("continuing_subword_prefix") or ""
    made.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=1500, special_tokens=["<unk>", "<s>", "</s>"], show_progress=False, limit_alphabet=60,
                                                         continuing_subword_prefix=prefix, end_of_word_suffix=options.get("end_of_word_suffix") or ""))
    return made


@pytest.mark.parametrize("fuse", [False, True])
@pytest.mark.parametrize("words", ["not cut", "Metaspace", "Whitespace", "Gemma"])
@pytest.mark.parametrize("fallback", [None, "all", "some"])
def test_bpe_of_characters_is_that_of_tokenizers(tmp_path, texts, fuse, words, fallback):
    state = json.loads(bpe(texts[:500], fuse_unk=fuse).to_str())
    pre = {"not cut": None, "Metaspace": pre_tokenizers.Metaspace(), "Whitespace": pre_tokenizers.Whitespace(), "Gemma": pre_tokenizers.Split(" ", "merged_with_previous")}[words]
    if fallback:
        state["model"]["byte_fallback"] = True
        for byte in range(256):
            if fallback == "all" or byte != 0xC3:
                state["model"]["vocab"][f"<0x{byte:02X}>"] = 2000 + byte
    made = Tokenizer.from_str(json.dumps({**state, "pre_tokenizer": None}))
    if pre is not None:
        made.pre_tokenizer = pre
    assert_same(tmp_path, made, everything(texts[:400], 6))


@pytest.mark.parametrize("options", [{"continuing_subword_prefix": "##"}, {"end_of_word_suffix": "</w>"}], ids=["prefix", "suffix"])
def test_bpe_with_parts_around_pieces(tmp_path, texts, options):
    made = bpe(texts[:500], **options)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    assert_same(tmp_path, made, everything(texts[:400], 7))


SPLITS = {f"{pattern} {behavior}{' inverted' if invert else ''}": pre_tokenizers.Split(pattern, behavior, invert)
          for pattern in ("e", " ", "th") for behavior in ("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous") for invert in (False, True)}
SPLITS |= {f"punctuation {behavior}": pre_tokenizers.Punctuation(behavior) for behavior in ("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous")}
SPLITS |= {"digits": pre_tokenizers.Digits(), "single digits": pre_tokenizers.Digits(individual_digits=True), "delimiter": pre_tokenizers.CharDelimiterSplit("e")}


@pytest.mark.parametrize("kind", SPLITS)
def test_splits_are_those_of_tokenizers(tmp_path, texts, kind):
    made = wordpiece(texts[:200], words=pre_tokenizers.WhitespaceSplit())
    made.pre_tokenizer = SPLITS[kind]
    assert_same(tmp_path, made, SAMPLE + texts[:100] + ["123 45a67", "...!?a.b", "eee e th the", "½²Ⅷ3"])


def test_scores_are_those_that_tokenizers_reads(tmp_path):
    """serde_json reads a seventh of all floats as a neighbour of the nearest one: sums of scores that are equal but for that decide between pieces."""
    rng = random.Random(4)
    for _ in range(30):
        scores = [-rng.random() * 15 for _ in range(60)]
        pieces = [["<unk>", 0.0]] + [[chr(97 + i % 12), scores[i]] for i in range(12)]
        for i in range(12):
            for j in range(12):
                # As likely as its parts, by the numbers that the file has.
                pieces.append([chr(97 + i) + chr(97 + j), scores[i] + scores[j]])
        made = Tokenizer.from_str(json.dumps({"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None, "pre_tokenizer": None,
                                              "post_processor": None, "decoder": None, "model": {"type": "Unigram", "unk_id": 0, "vocab": pieces, "byte_fallback": False}}))
        # The file as a person wrote it: saved by the package, scores would have its own bits already.
        (tmp_path / "written.json").write_text(json.dumps({"version": "1.0", "added_tokens": [], "model": {"type": "Unigram", "unk_id": 0, "vocab": pieces, "byte_fallback": False}}))
        some = ["".join(rng.choices("abcdefghijkl", k=12)) for _ in range(50)]
        (tmp_path / "texts.txt").write_text("\n".join(some) + "\n")
        with fb.Loader(fb.text(str(tmp_path / "texts.txt")).tokenize(tmp_path / "written.json").batch(50), epochs=1) as loader:
            values, offsets = next(iter(loader))["tokens"]
        assert [values[a:b].tolist() for a, b in zip(offsets[:-1], offsets[1:])] == [one.ids for one in made.encode_batch(some)]


def test_every_character_is_normalized_as_tokenizers_does(tmp_path, table):
    """Each of Unicode 14 by itself, before a letter, behind one: what comes of it is spelt in tokens of bytes."""
    letters = [["<unk>", 0.0], ["a", -1.0]] + [[f"<0x{byte:02X}>", -5.0] for byte in range(256)]
    known = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000 and unicodedata.category(chr(code)) not in ("Cn", "Co")]
    some = ["".join(known[i:i + 50]) for i in range(0, len(known), 50)] + ["a".join([""] + known[i:i + 50] + [""]) for i in range(0, len(known), 50)]
    for normalizer in (normalizers.BertNormalizer(), normalizers.NFKC(), normalizers.NFKD(), normalizers.NFC(), normalizers.Sequence([normalizers.StripAccents(), normalizers.Lowercase()]),
                       normalizers.Precompiled(table)):
        made = Tokenizer(models.Unigram([tuple(entry) for entry in letters], 0, True))
        made.normalizer = normalizer
        expected = [one.ids for one in made.encode_batch(some)]
        assert tokens(tmp_path, made, some) == expected


def test_parts_that_are_not_known_are_refused_by_name_with_a_way_out(tmp_path, texts):
    (tmp_path / "x.txt").write_text("some words\n")
    good = json.loads(wordpiece(texts[:50]).to_str())

    def refused(error=fb.Unsupported, **parts):
        (tmp_path / "tokenizer.json").write_text(json.dumps({**good, **parts}))
        with pytest.raises(error) as caught:
            fb.Loader(fb.text([str(tmp_path / "x.txt")]).tokenize(tmp_path / "tokenizer.json").batch(1))
        assert "tokenizer.json" in str(caught.value)
        assert error is not fb.Unsupported or ".map" in str(caught.value)
        return str(caught.value)

    assert "ByteLevel" in refused(normalizer={"type": "ByteLevel"})
    assert "[a-z]+" in refused(normalizer={"type": "Replace", "pattern": {"Regex": "[a-z]+"}, "content": "x"})
    assert "UnicodeScripts" in refused(pre_tokenizer={"type": "UnicodeScripts"})
    assert "[NO]" in refused(fb.Corrupt, model={**good["model"], "unk_token": "[NO]"})
    assert "unk_id" in refused(model={"type": "Unigram", "unk_id": None, "vocab": [["a", -1.0]]})
    assert "unk_id" in refused(fb.Corrupt, model={"type": "Unigram", "unk_id": 1, "vocab": [["a", -1.0]]})
    for damaged in ("", "AAAA", "not base64!", "AAEAAAAA"):
        assert "charsmap" in refused(fb.Corrupt, normalizer={"type": "Precompiled", "precompiled_charsmap": damaged})


def test_max_length_cuts_as_truncation_does(tmp_path, texts):
    made = wordpiece(texts[:1000])
    some = SAMPLE + texts[:300]
    made.enable_truncation(7)
    expected = [one.ids for one in made.encode_batch(some)]
    made.no_truncation()
    assert tokens(tmp_path, made, some, max_length=7) == expected
