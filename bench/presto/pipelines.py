"""The pipelines that PRESTO (arXiv 2202.08679) profiled: those of examples/presto, over the data sets of data_sets/presto_sets.py, and a table."""

import os
import sys

EXAMPLES = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "examples", "presto")


def example(name, *places):
    """`places`: what its pipeline() takes, below the data set's folder; none for the folder itself."""
    def make(fb, folder):
        sys.path.append(EXAMPLES)
        return __import__(name).pipeline(*[os.path.join(folder, place) for place in places or ("",)])

    return make


def signals(fb, folder):
    """nilm's series without the reactive power, which its trainer makes of a batch."""
    sys.path.append(EXAMPLES)
    return __import__("nilm").signatures(os.path.join(folder, "*.h5"), 4096, 128)


def table(fb, folder):
    """Not in the paper: numbers and lists, whose decoding is most of the work."""
    return fb.parquet(os.path.join(folder, "*.parquet")).shuffle(block=8).batch(4096)


PIPELINES = {
    "CV": example("cv"),
    "CV2-JPG": example("cv2_jpg"),
    "CV2-PNG": example("cv2_png"),
    "NLP": example("nlp", "*.html", "tokenizer.json", "table.npy"),
    "NILM": signals,
    "MP3": example("mp3", "*.mp3"),
    "FLAC": example("flac", "*.flac"),
    "table": table,
}
