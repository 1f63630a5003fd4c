"""Pages of HTML, made: there are few real ones to have. Chapters of novels stand in what surrounds text on the web.

A page is a novel's next paragraphs, marked as real pages are: entities, inline elements with attributes, lists, a table, scripts, styles, a navigation,
comments, end tags left out now and then. About a third of its bytes is text. The same seed gives the same bytes.
"""

import glob
import html
import os
import random
import re

PARAGRAPHS = 12  # a page
STYLE = "".join(f".c{i}{{margin:{i}px;padding:{i}em;color:#{i:06x}}}\n" for i in range(40))
SCRIPT = "".join(f"window.q=window.q||[];q.push(['t{i}','<div class=\"x\">'+{i}+'</div>']);\n" for i in range(40))
NAVIGATION = "<nav class='menu'><ul>" + "".join(f"<li class='c{i}'><a href='/section/{i}?ref=nav' title='Section {i}'>Section&nbsp;{i}</a>" for i in range(20)) + "</ul></nav>"


def paragraphs(shared):
    """Of all novels and of Shakespeare, blanks run together."""
    found = []
    for path in sorted(glob.glob(os.path.join(shared, "data", "text", "**", "*.txt"), recursive=True)):
        with open(path, encoding="utf-8-sig", errors="strict") as file:
            found += [" ".join(part.split()) for part in re.split(r"\n\s*\n", file.read())]
    return [part for part in found if part]


def marked(draw, text):
    words = []
    for word in text.split():
        word = html.escape(word)
        kind = draw.random()
        if kind < 0.03:
            word = f'<a href="https://example.org/{draw.randrange(10**6)}?a=1&amp;b=2" class="c{draw.randrange(40)}" rel=nofollow>{word}</a>'
        elif kind < 0.08:
            word = f"<em class='c{draw.randrange(40)}'>{word}</em>"
        words.append(word)
    return draw.choice((" ", "\n    ", " ")).join(words)


def page(draw, number, texts):
    blocks = [f'<p class="c{draw.randrange(40)}" id=p{i} data-track="{draw.randrange(10**9)}">{marked(draw, text)}' + draw.choice(("</p>", "</p>", ""))
              for i, text in enumerate(texts)]
    return (f"<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8><title>Page {number}</title><style>{STYLE}</style><script>{SCRIPT}</script></head>\n"
            f"<body class='c1'><!-- page {number} -->{NAVIGATION}<main><article><h1>Page {number} &mdash; text</h1>\n" + "\n".join(blocks) +
            f"</article></main><footer><p>&copy; {number}</p></footer><script>{SCRIPT}</script></body></html>\n")


def make(shared, work, pages, seed=1):
    """The folder with so many pages; those that are there are taken."""
    folder = os.path.join(work, f"pages-{pages}-{seed}")
    if os.path.exists(os.path.join(folder, "done")):
        return folder
    os.makedirs(folder, exist_ok=True)
    texts, draw = paragraphs(shared), random.Random(seed)
    for number in range(pages):
        begin = number * PARAGRAPHS % max(1, len(texts) - PARAGRAPHS)
        with open(os.path.join(folder, f"{number:06}.html"), "w", encoding="utf-8") as file:
            file.write(page(draw, number, texts[begin:begin + PARAGRAPHS]))
    open(os.path.join(folder, "done"), "w").close()
    return folder
