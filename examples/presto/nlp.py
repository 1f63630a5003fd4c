"""Web pages to embedded tokens: HTML to text, byte-pair tokens, cut or filled to one length, a row of numbers for each token.

python nlp.py PATTERN TOKENIZER.json [TABLE.npy]        HTML files, such as 'pages/*.html'; a byte-level BPE tokenizer; a row for each id
"""
import forebay as fb
import show

LENGTH = 1024  # tokens: longer pages are cut, shorter ones filled up


def pipeline(pattern, tokenizer, table=None):
    pages = fb.files(pattern).shuffle().rename(bytes="text").extract_text()
    tokens = pages.tokenize(tokenizer, max_length=LENGTH).pad("tokens", length=LENGTH)
    embedded = tokens.embed(table).select("embedding", "key") if table else tokens.select("tokens", "key")
    return embedded.batch(16)


if __name__ == "__main__":
    show.main(pipeline, __doc__)
