"""Recordings to mel spectrograms: decode, resample, cut to length, transform, mask.

python mp3.py PATTERN        MP3 files, such as 'audio/mp3/*.mp3'
"""
import forebay as fb
import show


def pipeline(pattern):
    return (
        fb.files(pattern)
        .shuffle()
        .decode_audio(rate=16_000)
        .pad_or_crop(2.0)
        .mel_spectrogram(n_fft=400, hop_length=160, n_mels=80, log="db")
        .select("audio", "key")
        .spec_augment(time_mask_param=40, freq_mask_param=20)
        .batch(16)
    )


if __name__ == "__main__":
    show.main(pipeline, __doc__)
