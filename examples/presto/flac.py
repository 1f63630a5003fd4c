"""Speech in FLAC to mel spectrograms: the same steps as mp3, over files that are decoded without loss.

python flac.py PATTERN        FLAC files, such as 'audio/librispeech/**/*.flac'
"""
import show
from mp3 import pipeline

if __name__ == "__main__":
    show.main(pipeline, __doc__)
