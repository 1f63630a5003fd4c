"""Steps that work on sound."""

from __future__ import annotations

from typing import TYPE_CHECKING, Sequence

from ._appending import Appending, _float, _one_or_list, _range

if TYPE_CHECKING:
    from .pipeline import Pipeline


class SoundSteps(Appending):
    """What a Pipeline has for sound."""

    __slots__ = ()

    def decode_audio(
        self,
        rate: int | None = None,
        mono: bool = True,
        *,
        channels: int | None = None,
        field: str | Sequence[str] | None = None,
        max_samples: int = 100_000_000,
    ) -> Pipeline:
        """Decodes WAV, FLAC, MP3, Ogg (Vorbis, Opus), AIFF, AU or CAF into the field `audio`: float32 in [-1, 1).

        The values are those of libsndfile and torchaudio. Recordings differ in length: put `.pad_or_crop(seconds)` behind it, or take ragged
        batches, `(values, offsets)`.

        Args:
            rate: samples a second of all that comes out; what is stored at another rate is resampled (soxr, "HQ", as librosa does). Without it each
                recording keeps its own rate, which is the new field `audio_rate` (int64).
            mono: (samples,), the mean of all channels. False: (channels, samples).
            channels: how many channels all recordings have; others are Unsupported. Batches with `mono=False` need it.
            field: the encoded field; by default `audio`, else `bytes`.
            max_samples: longer recordings (all channels counted) are Unsupported.

        Errors of a sample: Corrupt for damaged data and for files that end early, Unsupported for other formats and for files whose format changes
        on the way.
        """
        return self._then(
            "decode_audio", rate=rate, mono=mono, channels=channels, field=_one_or_list(field), max_samples=max_samples
        )

    def mel_spectrogram(
        self,
        *,
        rate: int | None = None,
        n_fft: int = 400,
        win_length: int | None = None,
        hop_length: int | None = None,
        f_min: float = 0.0,
        f_max: float | None = None,
        n_mels: int = 128,
        power: float = 2.0,
        norm: str | None = None,
        mel_scale: str = "htk",
        center: bool = True,
        pad_mode: str = "reflect",
        log: str | None = None,
        field: str | Sequence[str] = "audio",
    ) -> Pipeline:
        """Samples to a mel spectrogram: float32 (n_mels, frames), of each channel where there are several.

        As torchaudio's MelSpectrogram with its Hann window; with `norm="slaney", mel_scale="slaney"` as librosa's. Computed in float32, with the same
        bytes on every processor.

        Args:
            rate: samples a second; may be left out behind `.decode_audio(rate=...)`.
            n_fft: samples of a frame.
            win_length: length of the Hann window, in the middle of the frame; `n_fft` if not given.
            hop_length: samples from frame to frame; `win_length // 2` if not given.
            f_min: lowest frequency, in Hz.
            f_max: highest frequency; half of the rate if not given.
            n_mels: bands.
            power: 2 for power, 1 for magnitude.
            norm: "slaney" divides each band by its width in Hz.
            mel_scale: "htk" or "slaney".
            center: frame i has sample `i * hop_length` in its middle; else it begins there.
            pad_mode: with `center`, what lies outside: "reflect", or "constant" for zeros.
            log: "db" for `10 * log10(max(x, 1e-10))`, "ln" for `ln(x + 1e-6)`.
            field: a field that holds sound, or a list of them.

        A sound that is too short for a frame is Unsupported.
        """
        return self._then(
            "mel_spectrogram",
            rate=rate,
            n_fft=n_fft,
            win_length=win_length,
            hop_length=hop_length,
            f_min=_float("mel_spectrogram: f_min", f_min),
            f_max=None if f_max is None else _float("mel_spectrogram: f_max", f_max),
            n_mels=n_mels,
            power=_float("mel_spectrogram: power", power),
            norm=norm,
            mel_scale=mel_scale,
            center=center,
            pad_mode=pad_mode,
            log=log,
            field=_one_or_list(field),
        )

    def mfcc(
        self,
        n_mfcc: int = 40,
        *,
        rate: int | None = None,
        n_fft: int = 400,
        win_length: int | None = None,
        hop_length: int | None = None,
        f_min: float = 0.0,
        f_max: float | None = None,
        n_mels: int = 128,
        power: float = 2.0,
        norm: str | None = None,
        mel_scale: str = "htk",
        center: bool = True,
        pad_mode: str = "reflect",
        log_mels: bool = False,
        field: str | Sequence[str] = "audio",
    ) -> Pipeline:
        """Samples to mel-frequency cepstral coefficients: float32 (n_mfcc, frames), as torchaudio's MFCC.

        The orthonormal cosine transform (type 2) of a mel spectrogram in decibels, in which no value is more than 80 below the recording's largest.

        Args:
            n_mfcc: coefficients, `n_mels` at most.
            log_mels: of `ln(x + 1e-6)` in place of decibels.

        The other arguments are those of `mel_spectrogram`.
        """
        return self._then(
            "mfcc",
            n_mfcc=n_mfcc,
            rate=rate,
            n_fft=n_fft,
            win_length=win_length,
            hop_length=hop_length,
            f_min=_float("mfcc: f_min", f_min),
            f_max=None if f_max is None else _float("mfcc: f_max", f_max),
            n_mels=n_mels,
            power=_float("mfcc: power", power),
            norm=norm,
            mel_scale=mel_scale,
            center=center,
            pad_mode=pad_mode,
            log_mels=log_mels,
            field=_one_or_list(field),
        )

    def pad_or_crop(
        self, seconds: float, *, random: bool = False, rate: int | None = None, field: str | Sequence[str] = "audio"
    ) -> Pipeline:
        """Sound of one length, `round(seconds * rate)` samples: what is longer is cut, what is shorter has zeros behind.

        Args:
            seconds: the length of all that comes out.
            random: cut at a random place; else the beginning stays.
            rate: samples a second; may be left out behind `.decode_audio(rate=...)`.
            field: a field that holds sound, or a list of them, which share one draw.
        """
        return self._then(
            "pad_or_crop",
            seconds=_float("pad_or_crop: seconds", seconds),
            random=random,
            rate=rate,
            field=_one_or_list(field),
        )

    def random_gain(
        self, db: float | tuple[float, float] = (-6.0, 6.0), *, p: float = 1.0, field: str | Sequence[str] = "audio"
    ) -> Pipeline:
        """Makes sound louder or quieter by a random number of decibels.

        Args:
            db: low and high; one number x stands for -x to x.
            p: probability that it is changed at all.
            field: a field that holds sound, or a list of them, which share one draw.
        """
        return self._then(
            "random_gain", db=_range("db", db), p=_float("random_gain: p", p), field=_one_or_list(field)
        )

    def add_noise(
        self, snr: float | tuple[float, float] = (10.0, 40.0), *, p: float = 1.0, field: str | Sequence[str] = "audio"
    ) -> Pipeline:
        """Adds white noise, whose energy is that of the sound less a random number of decibels.

        Args:
            snr: ratio of the sound's energy to the noise's, in decibels: low and high, or one number.
            p: probability that noise is added at all.
            field: a field that holds sound, or a list of them, which share one draw.
        """
        return self._then("add_noise", snr=_range("snr", snr), p=_float("add_noise: p", p), field=_one_or_list(field))

    def spec_augment(
        self,
        time_masks: int = 2,
        freq_masks: int = 2,
        *,
        time_mask_param: int = 100,
        freq_mask_param: int = 27,
        p: float = 1.0,
        value: float = 0.0,
        field: str | Sequence[str] = "audio",
    ) -> Pipeline:
        """Random stretches of frames and of bands become one value: SpecAugment's masks, drawn as torchaudio draws them.

        Args:
            time_masks: stretches of frames.
            freq_masks: stretches of bands.
            time_mask_param: a stretch is shorter than so many frames.
            freq_mask_param: and than so many bands.
            p: largest share of the frames that one stretch has.
            value: what stands there; behind `log="db"`, -100 is silence.
            field: a field that holds spectra, or a list of them.
        """
        return self._then(
            "spec_augment",
            time_masks=time_masks,
            freq_masks=freq_masks,
            time_mask_param=time_mask_param,
            freq_mask_param=freq_mask_param,
            p=_float("spec_augment: p", p),
            value=_float("spec_augment: value", value),
            field=_one_or_list(field),
        )
