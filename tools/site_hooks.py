"""What MkDocs does not do by itself for the documentation: pages made at build time, and links to files of the repository.

Made at build time: the C++ pages (from the headers of include/forebay), the verbs of the program (from `forebay VERB --help`) and
the class Batch (from the compiled module). Documents of the repository that pages link to become pages below `repository/`. A link
to any other file of the repository becomes plain text, since a reader of the site does not have the file.
"""
import os
import posixpath
import re
import shutil
import subprocess
import sys
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "THIRD_PARTY.md", "README.md", "bench/README.md", "bench/RESULTS.md",
             "examples/README.md", "examples/frameworks/README.md", "examples/presto/README.md")
PICTURES = (".svg", ".png")
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")


# ---- the verbs of the program

def program():
    """The program beside the interpreter that builds the site, else the first one on the path."""
    beside = Path(sys.executable).with_name("forebay")
    return str(beside) if beside.exists() else shutil.which("forebay")


def help_of(*verb):
    environment = {**os.environ, "COLUMNS": "100"}
    return subprocess.run([program(), *verb, "--help"], capture_output=True, text=True, check=True, env=environment).stdout.strip()


def verbs():
    listed = help_of().split("Verbs:")[1].split("Options:")[0]
    return re.findall(r"^  (\w+)", listed, re.MULTILINE)


def program_texts():
    if program() is None:
        sys.exit("tools/site: the program forebay is not installed beside this Python")
    parts = [f"```text\n{help_of()}\n```"]
    for verb in verbs():
        parts += [f"## forebay {verb}", f"```text\n{help_of(verb)}\n```"]
        for below in re.findall(r"^  (ls|verify|clear|status|stop)\b", help_of(verb), re.MULTILINE):
            parts += [f"### forebay {verb} {below}", f"```text\n{help_of(verb, below)}\n```"]
    return "\n\n".join(parts) + "\n"


# ---- the class Batch, which is compiled

def indented(text):
    return text.replace("batch[name]", "`batch[name]`")


def batch_section():
    from forebay import Batch

    lines = ["### `Batch`", "", indented(Batch.__doc__), ""]
    for name in [each for each in dir(Batch) if not each.startswith("_")]:
        text = getattr(Batch, name).__doc__ or ""
        if text.startswith(name + "("):
            signature, _, text = text.partition("\n")
            lines += [f"- `{signature.replace('self, ', '').replace('(self)', '()').replace('typing.', '')}`: {' '.join(text.split()) or 'as of a dict.'}"]
        else:
            lines += [f"- `{name}`: {' '.join(text.split())}"]
    return "\n".join(lines) + "\n"


# ---- C++, from the headers

PUBLIC = ("pipeline", "loader", "batch", "tensor", "buffer", "dtype", "status", "result", "problem", "argument_types", "operator_options", "string_list",
          "data_warning", "engine", "shared_loader", "profile", "diagnosis", "materialize", "simulation", "ledger", "versions")


def header_page(path):
    """One entry a comment that begins with `///`: the comment as text, then the declarations under it as code."""
    lines = path.read_text().splitlines()
    parts = [f"# forebay/{path.name}", "One of the headers of the [C++ interface](../cpp.md).", f'```cpp\n#include "forebay/{path.name}"\n```']
    outer = [i for i, line in enumerate(lines) if line.startswith("namespace forebay")]
    i = outer[0] + 1 if outer else 0
    while i < len(lines) and not lines[i].startswith("}  // namespace forebay"):
        if not lines[i].strip():
            i += 1
            continue
        comment = []
        while i < len(lines) and lines[i].startswith("//"):
            comment.append(lines[i].lstrip("/").strip())
            i += 1
        code = []
        while i < len(lines) and lines[i].strip() and not lines[i].startswith("}  // namespace forebay"):
            code, i = lines_of_block(lines, i, code)
            if i < len(lines) and lines[i].startswith("///"):
                break
        name = declared_name(code)
        if name:
            parts.append(f"## {name}")
        if comment:
            parts.append(" ".join(comment))
        if code:
            parts.append("```cpp\n" + "\n".join(code) + "\n```")
    return "\n\n".join(parts) + "\n"


def lines_of_block(lines, i, code):
    """A line, and all lines up to the end of the braces that it opens."""
    depth = 0
    while i < len(lines):
        code.append(lines[i])
        depth += lines[i].count("{") - lines[i].count("}")
        i += 1
        if depth <= 0:
            break
    return code, i


def declared_name(code):
    text = " ".join(code)
    found = re.match(r"(?:template <[^>]*> )?(?:enum class|class|struct) (\w+)(?!\w*;)", text) or re.match(r"using (\w+)", text)
    if not found:
        found = re.search(r"(\w+)\(", text)
    return found and found[1]


def cpp_index(headers):
    rows = []
    for path in headers:
        names = re.findall(r"^## (.+)$", header_page(path), re.MULTILINE)
        rows.append(f"| [{path.name}](cpp/{path.stem}.md) | {', '.join(f'`{name}`' for name in dict.fromkeys(names))} |")
    return "\n".join(["| header | declares |", "|---|---|", *rows]) + "\n"


# ---- MkDocs calls these

def on_files(files, config):
    headers = [ROOT / "include/forebay" / f"{name}.h" for name in PUBLIC]
    for path in headers:
        files.append(File.generated(config, f"reference/cpp/{path.stem}.md", content=header_page(path)))
    for name in DOCUMENTS:
        files.append(File.generated(config, f"repository/{name}", content=(ROOT / name).read_text()))
    return files


def on_page_markdown(markdown, page, config, files):
    source = page.file.src_uri
    markdown = markdown.replace("<!-- made: Batch -->", batch_section() if "<!-- made: Batch -->" in markdown else "")
    if "<!-- made: verbs -->" in markdown:
        markdown = markdown.replace("<!-- made: verbs -->", program_texts())
    if "<!-- made: headers -->" in markdown:
        markdown = markdown.replace("<!-- made: headers -->", cpp_index([ROOT / "include/forebay" / f"{name}.h" for name in PUBLIC]))
    return with_site_links(markdown, source)


def on_page_content(html, page, config, files):
    """Docstrings and comments name pages by their path in the repository: links to these pages."""
    here = posixpath.dirname(page.file.src_uri) or "."

    def link(found):
        if not (ROOT / "docs" / f"{found[1]}.md").exists():
            return found[0]
        return f'<a href="{posixpath.relpath(found[1], here)}.html">{found[1].split("/")[-1]}</a>'

    made = page.file.src_uri.startswith("reference/")
    return re.sub(r"(?<![\w/\"])docs/((?:reference/)?\w+)\.md", link, html) if made else html


def on_post_page(output, page, config):
    """The offline plugin fetches a stand-in for workers from the network; the site has its own."""
    ours = posixpath.relpath("javascripts/file_worker.js", posixpath.dirname(page.url) or ".")
    return output.replace("https://unpkg.com/iframe-worker/shim", ours)


def on_post_template(output_content, template_name, config):
    return output_content.replace("https://unpkg.com/iframe-worker/shim", "javascripts/file_worker.js")


def with_site_links(markdown, source):
    place = source.removeprefix("repository/") if source.startswith("repository/") else "docs/" + source
    code = []

    def kept(found):
        code.append(found[0])
        return f"\0{len(code) - 1}\0"

    text = re.sub(r"^```.*?^```[^\n]*$", kept, markdown, flags=re.MULTILINE | re.DOTALL)
    text = LINK.sub(lambda found: site_link(found, place, source), text)
    return re.sub(r"\0(\d+)\0", lambda found: code[int(found[1])], text)


def site_link(found, place, source):
    picture, label, target = found.groups()
    if re.match(r"\w+:|#|<", target):
        return found[0]
    path, hash_, anchor = target.partition("#")
    goal = posixpath.normpath(posixpath.join(posixpath.dirname(place), path))
    page = site_place(goal)
    if page is None:
        if not (ROOT / goal).exists():
            return found[0]  # MkDocs names it as dead
        return label
    return f"{picture}[{label}]({posixpath.relpath(page, posixpath.dirname(source) or '.')}{hash_}{anchor})"


def site_place(goal):
    """Where a file of the repository is in the site, or None."""
    if goal.startswith("docs/") and (goal.endswith((".md", ".json", *PICTURES)) or not (ROOT / goal).exists()):
        return goal.removeprefix("docs/")
    if goal in DOCUMENTS:
        return "repository/" + goal
    if goal.startswith("include/forebay/") and Path(goal).stem in PUBLIC:
        return f"reference/cpp/{Path(goal).stem}.md"
    return None
