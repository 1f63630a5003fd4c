"""Asks live pages as a browser does."""
import http.client
import json
from urllib.parse import urlsplit


def ask(page, path, method="GET", token=None, body=None, headers=None):
    """Status, headers and body. `token`: by default that of the page's address; "" sends none."""
    place = urlsplit(page.url)
    connection = http.client.HTTPConnection("127.0.0.1", place.port, timeout=60)
    try:
        given = place.fragment if token is None else token
        connection.request(method, path, body, {**({"X-Forebay-Token": given} if given else {}), **(headers or {})})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def figures(page):
    code, _, body = ask(page, "/figures")
    assert code == 200, body
    return json.loads(body)


def samples(page, loader):
    """The first samples of the next batch, by the name of the field."""
    figures(page)  # somebody looks
    next(iter(loader))
    code, _, body = ask(page, "/batch")
    assert code == 200, body
    return json.loads(body)


def fact(facts, label):
    (found,) = [one for one in facts if one["label"] == label]
    return found
