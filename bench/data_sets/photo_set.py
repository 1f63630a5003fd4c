"""The photographs that are measured: chosen, copied, and listed in the order of their keys."""

import csv
import os
import shutil
import subprocess

SIDE = 450
COPIES = 3


def chosen(shared):
    """[(class, path)] of the flowers with a side of at least SIDE pixels, by class and name."""
    rows = []
    with open(os.path.join(shared, "data", "IMAGES.tsv")) as file:
        for row in csv.DictReader(file, delimiter="\t"):
            big = max(int(row["width"] or 0), int(row["height"] or 0)) >= SIDE
            if row["path"].startswith("images/flowers/") and row["format"].lower() == "jpeg" and big:
                rows.append((row["path"].split("/")[2], os.path.join(shared, "data", row["path"])))
    return sorted(rows)


def spread(rows, count):
    """`count` of the rows, evenly over all of them: every class has its share."""
    return [rows[i * len(rows) // count] for i in range(count)]


def originals(shared, work, count):
    """Copies the photographs below WORK, a folder per class; returns its list of paths.

    `count` above 700 takes each of them several times, as files of their own, so that no loader can decode one once.
    """
    rows = chosen(shared)
    unique = spread(rows, min(count, len(rows)))
    root = os.path.join(work, f"originals-{count}")
    paths = []
    for number in range(count):
        kind, source = unique[number % len(unique)]
        stem = os.path.splitext(os.path.basename(source))[0]
        path = os.path.join(root, kind, f"{stem}_{number // len(unique)}.jpg")
        paths.append(path)
        if not os.path.exists(path) or os.path.getsize(path) != os.path.getsize(source):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            shutil.copyfile(source, path)
    return sorted(paths, key=os.fsencode)


def write_list(paths, file):
    """One photograph a line: path, tab, class. The line number, from 0, is what the loaders carry as its label."""
    with open(file, "w") as out:
        out.writelines(f"{path}\t{os.path.basename(os.path.dirname(path))}\n" for path in paths)
    return file


def read_list(file):
    with open(file) as lines:
        return [line.rstrip("\n").split("\t")[0] for line in lines]


def quality_90(paths, work, python, script):
    """Has FFCV's environment re-encode them: (FFCV's file, the list of the same bytes as JPEG files)."""
    base = os.path.join(work, f"q90-{len(paths)}")
    done = base + ".tsv"
    copies = [os.path.join(base, *path.split(os.sep)[-2:]) for path in paths]
    if not os.path.exists(done):
        source = write_list(paths, base + ".source.tsv")
        subprocess.run([python, script, source, base + ".beton", base], check=True)
        write_list(copies, done)
    return base + ".beton", copies


def warm(paths):
    """Reads every file, so that all loaders find them in the page cache; returns the bytes."""
    total = 0
    for path in paths:
        with open(path, "rb") as file:
            total += len(file.read())
    return total
