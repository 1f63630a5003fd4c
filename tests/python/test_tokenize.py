"""`.tokenize()` gives what the package `tokenizers` gives, `.embed()` the rows that NumPy gives."""
import json
import random

import numpy as np
import pytest

import forebay as fb
from tokenizing import novels, tokens

tokenizers = pytest.importorskip("tokenizers")
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers  # noqa: E402

DIGITS3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
DIGITS1 = DIGITS3.replace("{1,3}", "")
SAMPLE = ["It's  a test, isn't it? I'll say we've 12345 things.\n\n  Yes\t\u00a0no ſ 'ſ 'S 'RE", "", " ", "  ", "\n", "a", " a", "a ", "é€𝄞 日本語 русский 123٣٤ Ⅷ",
          "<|end|>x<|end|><|endless|>", "x" * 300 + " " * 70 + "'" * 80, "\r\n \r\n\t x", "ΑΒΓ'Sß", "1234567 12", "\u2028a\u3000b\x85c"]


def cl100k(pattern):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def trained(words, texts, size=3000):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = words
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=["<|end|>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


@pytest.fixture(scope="module")
def texts(shared):
    return novels(shared)


def template(tokenizer):
    end = tokenizer.token_to_id("<|end|>")
    return processors.TemplateProcessing(single="<|end|> $A <|end|> <|end|>", special_tokens=[("<|end|>", end)])


@pytest.fixture(scope="module", params=["gpt2", "gpt2 with a blank before", "three digits", "single digits"])
def tokenizer(request, texts):
    words = {
        "gpt2": pre_tokenizers.ByteLevel(add_prefix_space=False), "gpt2 with a blank before": pre_tokenizers.ByteLevel(add_prefix_space=True),
        "three digits": cl100k(DIGITS3), "single digits": cl100k(DIGITS1),
    }[request.param]
    made = trained(words, texts[:2000])
    made.add_special_tokens([AddedToken("<|endless|>", special=True)])
    made.add_tokens([AddedToken("Yes", normalized=True)])
    if request.param != "single digits":
        made.post_processor = template(made)
    return made


def test_tokens_are_those_of_tokenizers(tmp_path, tokenizer, texts):
    some = SAMPLE + texts
    expected = [one.ids for one in tokenizer.encode_batch(some)]
    assert tokens(tmp_path, tokenizer, some) == expected
    assert tokens(tmp_path, tokenizer, SAMPLE, special=False) == [one.ids for one in tokenizer.encode_batch(SAMPLE, add_special_tokens=False)]
    assert tokens(tmp_path, tokenizer, some, {"threads": 1}) == expected


@pytest.mark.parametrize("special", [True, False])
def test_max_length_cuts_as_truncation_does(tmp_path, tokenizer, texts, special):
    some = SAMPLE + texts[:300]
    tokenizer.enable_truncation(7)
    expected = [one.ids for one in tokenizer.encode_batch(some, add_special_tokens=special)]
    tokenizer.no_truncation()
    assert tokens(tmp_path, tokenizer, some, special=special, max_length=7) == expected
    assert max(map(len, expected)) == 7


def test_a_max_length_without_room_for_what_stands_around_a_text_is_told(tmp_path, texts):
    made = trained(pre_tokenizers.ByteLevel(), texts[:50], 300)
    made.post_processor = template(made)
    with pytest.raises(fb.InvalidArgument, match="max_length is 2, and the tokenizer puts 3 ids around each text"):
        tokens(tmp_path, made, ["a"], max_length=2)
    with pytest.raises(fb.InvalidArgument, match="max_length is 0"):
        tokens(tmp_path, made, ["a"], max_length=0)


def test_tokens_of_random_characters_are_those_of_tokenizers(tmp_path, tokenizer):
    rng = random.Random(5)
    pools = ["ab ", " \n\r\t\u00a0", "'sdtrevmlSRVLD ", "0123456789٣Ⅷ½", "éßſKİ日本𝄞", "!?.,;:-'\"", "abcdefghij"]

    def text():
        return "".join(rng.choice(rng.choice(pools)) for _ in range(rng.randrange(120)))

    def anything():
        return "".join(chr(code) for code in (rng.randrange(0x110000) for _ in range(60)) if not 0xD800 <= code < 0xE000)

    some = [text() for _ in range(1500)]
    assert tokens(tmp_path, tokenizer, some) == [one.ids for one in tokenizer.encode_batch(some)]
    # Newer tables of characters than ours may know more letters; those of Unicode 14 are settled.
    import unicodedata
    known = ["".join(c for c in anything() if unicodedata.category(c) != "Cn") for _ in range(1500)]
    assert tokens(tmp_path, tokenizer, known) == [one.ids for one in tokenizer.encode_batch(known)]


def test_tokens_behind_a_normalizer_and_tokens_that_take_blanks(tmp_path, texts):
    made = trained(pre_tokenizers.ByteLevel(add_prefix_space=False), texts[:2000])
    made.normalizer = normalizers.NFC()
    made.add_special_tokens([AddedToken("<mask>", lstrip=True), AddedToken("<sep>", rstrip=True), AddedToken("the", single_word=True, normalized=True)])
    some = ["e\u0301 a\u0327\u0301 \u1100\u1161\u11a8 \uac00\u11a8", "a  <mask> b <sep>  c<mask> <sep> \n<mask>", "the then other the. (the)the thé the\u0301"] + SAMPLE + texts
    assert tokens(tmp_path, made, some) == [one.ids for one in made.encode_batch(some)]


def test_a_model_that_takes_whole_words_first(tmp_path, texts):
    made = trained(cl100k(DIGITS3), texts[:500])
    state = json.loads(made.to_str())
    state["model"]["ignore_merges"] = True
    state["model"]["vocab"]["Ġuncommonly"] = len(state["model"]["vocab"]) + 1
    made = Tokenizer.from_str(json.dumps(state))
    some = ["an uncommonly long one", "uncommonly"] + texts[:500]
    assert tokens(tmp_path, made, some) == [one.ids for one in made.encode_batch(some)]


def test_a_word_without_end_takes_no_time_that_grows_with_its_square(tmp_path, texts):
    made = trained(pre_tokenizers.ByteLevel(add_prefix_space=False), texts[:500])
    long = "".join(random.Random(1).choices("etaoin", k=300_000))
    assert tokens(tmp_path, made, [long]) == [made.encode(long).ids]


def test_the_hash_is_part_of_what_a_pipeline_is(tmp_path, texts):
    first, second = trained(pre_tokenizers.ByteLevel(), texts[:200], 400), trained(pre_tokenizers.ByteLevel(), texts[:200], 500)
    source = fb.text(["x.txt"])
    path = tmp_path / "tokenizer.json"
    first.save(str(path))
    made = source.tokenize(path)
    assert '"hash"' in made.to_json() and str(path) in made.to_json()
    assert fb.Pipeline.from_json(made.to_json()).fingerprint == made.fingerprint
    (tmp_path / "x.txt").write_text("some words\n")
    pipeline = fb.text([str(tmp_path / "x.txt")]).tokenize(path).batch(1)
    fb.Loader(pipeline).close()
    second.save(str(path))
    assert source.tokenize(path).fingerprint != made.fingerprint
    with pytest.raises(fb.StateMismatch, match="tokenizer has changed"):
        fb.Loader(pipeline)


def test_tokenizers_of_another_kind_are_refused_with_a_way_out(tmp_path, texts):
    (tmp_path / "x.txt").write_text("some words\n")
    source = fb.text([str(tmp_path / "x.txt")])

    def refused(tokenizer, kind=fb.Unsupported):
        text = tokenizer if isinstance(tokenizer, str) else tokenizer.to_str()
        (tmp_path / "tokenizer.json").write_text(text)
        with pytest.raises(kind) as caught:
            fb.Loader(source.tokenize(tmp_path / "tokenizer.json").batch(1))
        assert "tokenizer.json" in str(caught.value)
        return str(caught.value)

    wordlevel = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    assert ".map" in refused(wordlevel)
    scripts = trained(pre_tokenizers.UnicodeScripts(), texts[:50], 300)
    assert "UnicodeScripts" in refused(scripts)
    pattern = trained(pre_tokenizers.Sequence([pre_tokenizers.Split(Regex("[a-z]+"), "isolated"), pre_tokenizers.ByteLevel()]), texts[:50], 300)
    assert "[a-z]+" in refused(pattern)
    for broken in ("", "{", "[]", "{}", '{"model": {"type": "BPE", "vocab": {"a": -1}, "merges": []}}'):
        refused(broken, fb.Error)
    assert any("could not be read" in problem.message for problem in source.tokenize(tmp_path / "nowhere.json").check())


def test_saved_truncation_and_padding_are_those_of_the_program_that_saved_them(tmp_path, texts):
    made = trained(pre_tokenizers.ByteLevel(), texts[:200], 400)
    expected = [one.ids for one in made.encode_batch(texts[:200])]
    made.enable_truncation(8)
    made.enable_padding(length=12, pad_id=3, pad_token="x")
    assert tokens(tmp_path, made, texts[:200]) == expected


def test_bytes_that_no_text_of_the_training_had(tmp_path, texts):
    """A model that was trained without the alphabet has no tokens for most bytes: they are left out, or unknown."""
    for unknown in (None, "<unk>"):
        made = Tokenizer(models.BPE(unk_token=unknown))
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        made.train_from_iterator(texts[:200], trainers.BpeTrainer(vocab_size=300, special_tokens=["<unk>"], show_progress=False))
        for fuse in (False, True):
            state = json.loads(made.to_str())
            state["model"]["fuse_unk"] = fuse
            fused = Tokenizer.from_str(json.dumps(state))
            some = SAMPLE + ["日本a日本b", "\x01\x02a\x03"] + texts[:200]
            assert tokens(tmp_path, fused, some) == [one.ids for one in fused.encode_batch(some)]


@pytest.mark.parametrize("before", [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.Digits(individual_digits=False), pre_tokenizers.Punctuation(),
                                    pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.Split("e", "merged_with_next"), pre_tokenizers.WhitespaceSplit()], ids=str)
def test_steps_before_bytes(tmp_path, texts, before):
    """As StarCoder, SmolLM and Falcon have them."""
    made = trained(pre_tokenizers.Sequence([before, pre_tokenizers.ByteLevel(add_prefix_space=False)]), texts[:500], 800)
    some = SAMPLE + texts[:500]
    assert tokens(tmp_path, made, some) == [one.ids for one in made.encode_batch(some)]


def test_tokens_behind_a_cache_and_over_ranks_are_the_same(tmp_path, tokenizer, texts):
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "x.txt").write_text("\n".join(texts))
    pipeline = fb.text([str(tmp_path / "x.txt")]).tokenize(tmp_path / "tokenizer.json").shuffle()
    with fb.Loader(pipeline.batch(32), seed=5) as loader:
        expected = [fb.digest(loader) for _ in range(2)]
    cached = fb.text([str(tmp_path / "x.txt")]).tokenize(tmp_path / "tokenizer.json").cache(dir=str(tmp_path / "kept")).shuffle()
    for _ in range(2):
        with fb.Loader(cached.batch(32), seed=5) as loader:
            assert [fb.digest(loader) for _ in range(2)] == expected
    rows = 0
    for rank in range(3):
        with fb.Loader(pipeline.batch(32), seed=5, rank=rank, world_size=3) as loader:
            rows += sum(len(batch.ids) for batch in loader)
    assert rows == len(texts)


# Rows of a table


def test_embeddings_are_the_rows_that_numpy_gives(tmp_path):
    table = np.random.default_rng(2).random((50, 3, 2), dtype=np.float32)
    np.save(tmp_path / "table.npy", table)
    ids = np.random.default_rng(3).integers(0, 50, (20, 7), dtype=np.int32)
    with fb.Loader(fb.arrays(tokens=ids).embed(tmp_path / "table.npy").batch(6)) as loader:
        for batch in loader:
            assert np.array_equal(batch["embedding"], table[ids[batch.ids]]) and np.array_equal(batch["tokens"], ids[batch.ids])


def test_rows_of_different_lengths_are_padded_before(tmp_path):
    table = np.arange(20, dtype=np.float32).reshape(10, 2)
    np.save(tmp_path / "table.npy", table)
    (tmp_path / "a.jsonl").write_text('{"tokens": [1, 2]}\n{"tokens": [9]}\n{"tokens": []}\n')
    pipeline = fb.jsonl(str(tmp_path / "a.jsonl"), fields={"tokens": "int64[]"})
    with fb.Loader(pipeline.pad("tokens", value=0, length=3).embed(tmp_path / "table.npy").batch(3)) as loader:
        batch = next(iter(loader))
    assert np.array_equal(batch["embedding"], table[[[1, 2, 0], [9, 0, 0], [0, 0, 0]]])


@pytest.mark.parametrize("bad", [10, -1, 2**31 - 1])
def test_an_id_that_the_table_lacks_is_told_with_its_place(tmp_path, bad):
    np.save(tmp_path / "table.npy", np.zeros((10, 2), np.float32))
    ids = np.array([[0, 1], [2, bad]], dtype=np.int32)
    with fb.Loader(fb.arrays(tokens=ids).embed(tmp_path / "table.npy").batch(2)) as loader:
        with pytest.raises(fb.Corrupt, match=rf"id {bad} at place 1.*0 to 9"):
            next(iter(loader))
    with fb.Loader(fb.arrays(tokens=ids).embed(tmp_path / "table.npy").batch(2), on_error="skip") as loader:
        assert next(iter(loader))["tokens"].tolist() == [[0, 1]]


def test_a_table_that_changed_or_is_none_is_told(tmp_path):
    np.save(tmp_path / "table.npy", np.zeros((10, 2), np.float32))
    pipeline = fb.arrays(tokens=np.zeros((2, 3), np.int32)).embed(tmp_path / "table.npy").batch(1)
    np.save(tmp_path / "table.npy", np.ones((10, 2), np.float32))
    with pytest.raises(fb.StateMismatch, match="table has changed"):
        fb.Loader(pipeline)
    assert any("could not be read" in problem.message for problem in fb.arrays(tokens=np.zeros((2, 3), np.int32)).embed("nowhere.npy").check())
