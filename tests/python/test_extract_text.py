"""`.extract_text()`: what the parser sees, with blanks put right; hostile pages are an answer."""
import html
import random
import re

import pytest

import forebay as fb


def extract(tmp_path, pages, **options):
    folder = tmp_path / "pages"
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    for number, page in enumerate(pages):
        (folder / f"{number:06}.html").write_bytes(page if isinstance(page, bytes) else page.encode())
    pipeline = fb.text(f"{folder}/*.html", by="file").extract_text().batch(16)
    with fb.Loader(pipeline, **options) as loader:
        return [text for batch in loader for text in batch["text"]]


CASES = {
    "<p>One</p><p>Two <b>bold</b>\n words</p>": "One\nTwo bold words",
    "plain &amp; simple &lt;tag&gt; &eacute;&#x20AC;&nbsp;x &notit; &unknown;": "plain & simple <tag> é€\u00a0x &notit; &unknown;",
    "<title>Head</title><style>p{}</style><script>var a='<p>no</p>';</script>yes<noscript>no</noscript><!-- no -->": "yes",
    "a<br>b<br/>c<hr>d": "a\nb\nc\nd",
    "<ul><li>one<li>two</ul>after": "one\ntwo\nafter",
    "<table><tr><td>1<td>2<tr><th>3</th><td>4</table>": "1 2\n3 4",
    "<pre>  a\n   b</pre>c": "  a\n   b\nc",
    "a<span> b</span><i>c</i> <em> d </em>": "a bc d",
    "<div><div><div>deep</div></div></div>": "deep",
    "<p>unclosed <b>bold <i>both</b> italic</i>": "unclosed bold both italic",
    "": "", "   \n ": "", "<": "<", "<!doctype html><html><body></body></html>": "",
    "<template>no</template><textarea> keep  it </textarea>": " keep  it ",
    "1 < 2 and <notatag>3</notatag>": "1 < 2 and 3",
}


def test_pages_have_the_text_that_the_rules_give(tmp_path):
    assert dict(zip(CASES, extract(tmp_path, CASES))) == CASES


def test_paragraphs_of_real_text_come_back(shared, tmp_path):
    """A novel as a page: tags around its words and entities in them change nothing."""
    random.seed(3)
    path = sorted((shared / "text" / "novels").rglob("*.txt"))[0]
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n\s*\n", path.read_text(encoding="utf-8-sig"))]
    paragraphs = [part for part in paragraphs if part][:2000]

    def marked(text):
        words = [f"<em>{html.escape(word)}</em>" if random.random() < 0.1 else html.escape(word) for word in text.split()]
        return "<p class='x'>" + random.choice([" ", "\n", "  \t"]).join(words)

    page = "<html><head><title>no</title></head><body><div>" + "\n".join(map(marked, paragraphs)) + "</div></body></html>"
    assert extract(tmp_path, [page]) == ["\n".join(paragraphs)]


def test_text_is_the_same_for_any_threads_and_behind_a_cache(tmp_path):
    pages = [f"<h1>{i}</h1>" + "".join(f"<p>{j} &amp; <b>{i * j}</b></p>" for j in range(i % 37)) for i in range(200)]
    once = extract(tmp_path, pages, threads=1)
    assert extract(tmp_path, pages, threads=4) == once
    pipeline = fb.text(f"{tmp_path}/pages/*.html", by="file").extract_text()
    with fb.Loader(pipeline.batch(7)) as plain, fb.Loader(pipeline.cache(dir=str(tmp_path / "kept")).batch(7)) as kept:
        expected = fb.digest(plain)
        assert fb.digest(kept) == expected and fb.digest(kept) == expected


HOSTILE = {
    "deep": "<div>" * 200_000 + "x",
    "deep, other elements": "<b><i><font color=1>" * 50_000,
    "deep, closed by what was never opened": "<div></b>" * 100_000,
    "deep tables": "<table><tr><td>" * 50_000,
    "many times the elements written": "".join(f"<b a={i}>" for i in range(3000)) + "<p>x" * 20_000,
    "a value without end": "<a b='" + "A" * 3_000_000,
}


def test_hostile_pages_end_in_an_answer(tmp_path):
    for name, page in HOSTILE.items():
        try:
            extract(tmp_path, [page, "<p>good"])
        except fb.Error as error:
            assert error.code in ("Unsupported", "OutOfBudget"), name
    with pytest.raises(fb.Unsupported, match="nested more than"):
        extract(tmp_path, [HOSTILE["deep"]])
    assert extract(tmp_path, [HOSTILE["deep"], "<p>good"], on_error="skip") == ["good"]
    assert extract(tmp_path, ["<div>" * 900 + "x"]) == ["x"]


def test_noise_and_cut_pages_never_end_a_process(tmp_path):
    random.seed(11)
    parts = ["<p>", "</p>", "<table>", "<td", ">", "&am", "&#", ";", "'", '"', "<!--", "-->", "<script>", "</scr", "\0", "é", "<svg><title>", "<![CDATA[", "]]>",
             "<select><option>", "</body>", "<frameset>", "<math><mi>", "<b", " x=", "/", "text "]
    pages = ["".join(random.choice(parts) for _ in range(random.randrange(60))) for _ in range(400)]
    whole = extract(tmp_path, pages)
    assert len(whole) == 400 and all(isinstance(text, str) for text in whole)


def test_bytes_that_are_no_utf8_are_told(tmp_path):
    (tmp_path / "a.html").write_bytes(b"<p>caf\xe9")
    pipeline = fb.files(f"{tmp_path}/*.html").extract_text(field="bytes").batch(1)
    with fb.Loader(pipeline) as loader, pytest.raises(fb.Corrupt, match="byte 6"):
        next(iter(loader))
    (tmp_path / "a.html").write_bytes("<p>café".encode())
    with fb.Loader(pipeline) as loader:
        assert list(next(iter(loader))["bytes"]) == ["café"]


def test_a_field_that_is_no_text_is_a_problem():
    problems = fb.images("x").extract_text(field="label").check()
    assert any("works on text" in problem.message for problem in problems)
