#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "forebay/argument_types.h"

// Made by tools/operators from what src/ops says: do not edit.

namespace forebay {

/// For Pipeline::balance().
struct BalanceOptions {
  /// The field that tells the class, a whole number or a text.
  std::string by = "label";
  /// Length of an epoch, for all ranks together. By default as many as there are samples at this
  /// place.
  std::optional<int64_t> samples = {};
};

/// For Pipeline::batch().
struct BatchOptions {
  /// Treatment of an epoch's tail. "partial": divided among the ranks, in sizes that differ by one
  /// at most; "drop": left out; "pad": filled up with repeats, which `batch.padding` counts.
  std::string last = "partial";
  /// Fields that a Dataset or `.map` makes, of rows that differ in length: `(values, offsets)` in
  /// every batch.
  Fields ragged = {};
};

/// For Pipeline::bucket().
struct BucketOptions {
  /// Field that tells the length: a number above 0, or rows, text or bytes, whose own length
  /// counts, or a picture, whose pixels count (for `.collate`, as pictures of several sizes do not
  /// stack).
  std::string by = "length";
  /// The budget: the most that a batch costs, in the unit of the length. A batch of n samples costs
  /// n times its longest.
  std::optional<double> tokens = {};
  /// (a, b): a sample of length n costs a·n + b·n², and `tokens` is in the unit of that. (1, 0) by
  /// default.
  std::vector<double> cost = {};
  /// Each sample costs as much as the longest of its batch. False: nothing is padded, and a batch
  /// costs the sum of its samples.
  bool padded = true;
  /// The most samples of a batch.
  std::optional<int64_t> samples = {};
  /// Lengths, ascending: a batch has samples of one side of each. Any samples of like lengths by
  /// default.
  std::vector<double> boundaries = {};
  /// The most samples of a batch below the first of `boundaries`, between each two, and from the
  /// last on.
  std::vector<double> sizes = {};
  /// Samples are sorted among `window` times `group` batches of the epoch's order, and at most 2^20
  /// samples. By default 100; for tables at most the row groups that `.shuffle` mixes.
  std::optional<int64_t> window = {};
  /// This many batches of like cost follow each other. A number of ranks that divides it works
  /// equally long on all ranks. It is part of the order: fix it before the training.
  int64_t group = 24;
  /// Fields that a Dataset or `.map` makes, of rows that differ in length: `(values, offsets)` in
  /// every batch.
  Fields ragged = {};
};

/// For Pipeline::cache().
struct CacheStepOptions {
  /// Bytes of memory of this process, as a number or "2GiB"; 0 for none. "auto": a quarter of the
  /// memory that the machine or the control group has, divided by the ranks on this machine; half
  /// of `memory=` if the loader has that.
  ByteSize ram = "auto";
  /// Bytes of the disk that the folder may take, whoever fills it; 0 for none. "auto": half of what
  /// is free there or the folder's already.
  ByteSize disk = "auto";
  /// The folder, shared by all jobs of this user on this host; by default `$FOREBAY_CACHE_DIR`,
  /// else `$XDG_CACHE_HOME/forebay`, else `~/.cache/forebay`. One that others may write to is
  /// refused.
  std::string dir = {};
  /// "auto": other hosts of the job are asked for an entry before storage is, if the loader has
  /// `peers=`; "none": never.
  std::string peers = "auto";
  /// How entries on disk are compressed: "zstd" (smaller) or "lz4" (faster); not at all if not
  /// given.
  std::string compression = {};
};

/// For Pipeline::filter().
struct FilterOptions {
  /// The fields that `fn` gets, by default all of them.
  Fields fields = {};
  /// How states and messages call the function; part of the pipeline's fingerprint.
  std::string name = "function";
};

/// For Pipeline::keep_groups().
struct KeepGroupsOptions {
  /// Another text chooses other samples; shares of one split have the same.
  std::string salt = "";
};

/// For Pipeline::keep_keys().
struct KeepKeysOptions {
  /// Another text chooses other samples; shares of one split have the same.
  std::string salt = "";
};

/// For Pipeline::map().
struct MapOptions {
  /// The fields that `fn` gets and may change, at least one; what it returns is then added to the
  /// sample. By default it gets all of them, and what it returns is the new sample. Name here also
  /// a field that `fn` replaces by one of another type or shape: steps behind go by what a field
  /// was that is not named.
  Fields fields = {};
  /// The fields that a C++ function makes.
  Fields adds = {};
  /// How states and messages call the function; part of the pipeline's fingerprint.
  std::string name = "function";
  /// Say when the function changed; part of the pipeline's fingerprint. A cache on disk behind it
  /// needs one.
  std::string version = {};
};

/// For Pipeline::pad().
struct PadOptions {
  /// The length of every row. By default that of the longest in the batch, which depends on the
  /// batch size and the ranks: what was filled up then is no part of `forebay.digest`.
  std::optional<int64_t> length = {};
};

/// For Pipeline::sample().
struct SampleOptions {
  /// Draws of an epoch. By default as many as there are samples at this place.
  std::optional<int64_t> n = {};
  /// A field of numbers, which is read once in a pass over all samples before the first batch (a
  /// bad sample has the weight 0); or one number for each sample of the data set, by id. They need
  /// not add up to 1, and a sample of weight 0 never comes. By default all are alike.
  Weights weights = {};
  /// False: no sample comes twice in an epoch. InvalidArgument if one would have to: with more
  /// draws than samples, or a weight above 1 / n of the sum.
  bool replacement = true;
};

/// For Pipeline::shuffle().
struct ShuffleOptions {
  /// Chunks that are mixed together, for sources stored in chunks (8 by default).
  std::optional<int64_t> block = {};
  /// Spans of the data that hosts own, for sources stored in chunks (1 by default).
  std::optional<int64_t> lanes = {};
  /// Epoch 0 begins with one chunk, and the number that is mixed grows by and by to `block`, so
  /// that the first batch need not wait for `block` chunks. Another order than without, in epoch 0
  /// alone; the seed alone decides it.
  std::optional<bool> ramp = {};
  /// For streams, which need it: so many samples are mixed at a time, in an order that the seed and
  /// the stream's offsets decide.
  std::optional<int64_t> window = {};
};

/// For Pipeline::take().
struct TakeOptions {
  /// They are spread evenly over all, so that they look like the whole: of n of N samples the i-th
  /// is number i * N // n. A table gives as few of its chunks as have n rows, spread evenly, the
  /// first rows of each. By default the samples with the first ids.
  std::optional<bool> spread = {};
};

/// For Pipeline::center_crop() and random_crop().
struct CropOptions {
  /// The picture's field, or a list of fields that share one draw.
  Fields field = {"image"};
};

/// For Pipeline::color_jitter().
struct ColorJitterOptions {
  /// A number x for factors from 1 - x to 1 + x, or (low, high).
  JitterRange brightness = {};
  /// Likewise.
  JitterRange contrast = {};
  /// Likewise.
  JitterRange saturation = {};
  /// A number x for shifts from -x to x of the colour circle, or (low, high).
  JitterRange hue = {};
  /// The picture's field, or a list of fields that share one draw.
  Fields field = {"image"};
};

/// For Pipeline::decode_image().
struct DecodeImageOptions {
  /// The encoded field, or a list of several (a pair of cameras); by default `image`, else `bytes`,
  /// which becomes `image`. Fields of different modes are decoded by a step each:
  /// `.decode_image(field="image").decode_image("palette", field="mask")`.
  Fields field = {};
  /// "rgb" (3 channels) or "gray" (1 channel), 8 bits. "palette": the indices of a palette, 1
  /// channel, as Pillow's mode "P" has them: the classes of masks of Pascal VOC, DAVIS and others.
  /// PNG and BMP have palettes; pictures without one are Unsupported. Resize them with
  /// interpolation="nearest", or {"mask": "nearest"} where they share a draw with pictures:
  /// bilinear is InvalidArgument. "rgba" (4 channels), as Pillow's `convert("RGBA")`, and "alpha"
  /// (its last channel alone): 255 where a picture has no alpha. "rgb16" (3 channels) and "gray16"
  /// (1 channel): uint16, with the 16 bits of a PNG kept (depth, X-rays: Pillow's "I;16") and 8-bit
  /// pictures times 257. Whole pictures are decoded then. What follows may crop, flip, resize,
  /// normalize (of 65535) and cast; .color_jitter wants 8 bits.
  std::string mode = "rgb";
  /// Larger pictures are Unsupported.
  int64_t max_pixels = 100'000'000;
  /// True if the field is a list of encoded pictures in each sample. For columns of tables it is
  /// known; say so for a field that user code makes, and before `.pad`.
  std::optional<bool> lists = {};
};

/// For Pipeline::layout().
struct LayoutOptions {
  /// The picture's field, or a list of fields that share one draw.
  Fields field = {"image"};
};

/// For Pipeline::normalize().
struct NormalizeOptions {
  /// One number for all, or one for each channel of a picture, or one for each column named. In
  /// Python it may be mean and std at once: `fb.IMAGENET`.
  std::vector<double> mean = {};
  /// One number for all or one for each, as of mean, above 0.
  std::vector<double> std = {};
  /// The picture's field, a column, or a list of pictures or of columns.
  Fields field = {"image"};
};

/// For Pipeline::patchify().
struct PatchifyOptions {
  /// Patches that a model merges in each direction, 2 for Qwen2-VL: they are neighbours in
  /// `patches`.
  int64_t merge = 1;
  /// Smaller pictures are enlarged.
  int64_t min_pixels = 3136;
  /// Larger pictures are reduced.
  int64_t max_pixels = 1'003'520;
  /// The picture's field.
  std::string field = "image";
};

/// For Pipeline::random_flip().
struct RandomFlipOptions {
  /// Probability that pictures are mirrored.
  double p = 0.5;
  /// The picture's field, or a list of fields that share one draw.
  Fields field = {"image"};
};

/// For Pipeline::random_resized_crop().
struct RandomResizedCropOptions {
  /// Share of the picture's area that the part has.
  std::vector<double> scale = {0.08, 1.0};
  /// Its width over its height.
  std::vector<double> ratio = {0.75, 1.3333333333333333};
  /// "bilinear" (anti-aliased, always) or "nearest"; or {field: one of them} where fields differ,
  /// as a mask does from its picture.
  TextByField interpolation = "bilinear";
  /// The picture's field, or a list of fields that share one draw.
  Fields field = {"image"};
};

/// For Pipeline::resize().
struct ResizeOptions {
  /// Instead of `size`: length of the shorter side; the other becomes `int(short_side * long /
  /// short)`.
  std::optional<int64_t> short_side = {};
  /// "bilinear" (anti-aliased, always) or "nearest"; or {field: one of them} where fields differ,
  /// as a mask does from its picture.
  TextByField interpolation = "bilinear";
  /// The picture's field, or a list of fields that share one draw.
  Fields field = {"image"};
};

/// For Pipeline::aggregate().
struct AggregateOptions {
  /// A column of numbers or a list of columns: tensors along `axis`, lists as a whole.
  Fields field = {};
  /// Makes one number of each so many elements, in place of one of the whole axis, whose length it
  /// must divide.
  std::optional<int64_t> every = {};
  /// The axis of a sample that the series lie along; -1 is the last.
  int64_t axis = 0;
  /// A field of the same shape whose elements these are multiplied with before:
  /// `<field>_<times>_<function>`, as float64. The mean of voltage times current is the active
  /// power.
  std::string times = {};
};

/// For Pipeline::cast().
struct CastOptions {
  /// A field or a list of fields.
  Fields field = {"image"};
  /// "raise", or "saturate": what an integer type cannot hold becomes the nearest that it can, and
  /// NaN 0.
  std::string errors = "raise";
};

/// For Pipeline::clip().
struct ClipOptions {
  /// The smallest number that comes out; no limit if not given.
  std::optional<double> min = {};
  /// The largest; no limit if not given. A column of integers takes whole numbers; a limit beyond
  /// its type does not limit.
  std::optional<double> max = {};
  /// A column of numbers or a list of columns; lists and tensors go element by element.
  Fields field = {};
};

/// For Pipeline::hash_bucket().
struct HashBucketOptions {
  /// A column of text, bytes or integers, or a list of columns; lists and tensors go element by
  /// element, text and bytes as a whole.
  Fields field = {};
  /// The seed of xxh3: another one lets other values share a bucket.
  int64_t salt = 0;
};

/// For Pipeline::window().
struct WindowOptions {
  /// A column of numbers of known shape, or a list of columns.
  Fields field = {};
  /// From the beginning of one window to that of the next; `n` by default, so that no element is in
  /// two.
  std::optional<int64_t> stride = {};
};

/// For Pipeline::add_noise().
struct AddNoiseOptions {
  /// Ratio of the sound's energy to the noise's, in decibels: low and high, or one number.
  JitterRange snr = {10.0, 40.0};
  /// Probability that noise is added at all.
  double p = 1.0;
  /// A field that holds sound, or a list of them, which share one draw.
  Fields field = {"audio"};
};

/// For Pipeline::decode_audio().
struct DecodeAudioOptions {
  /// Samples a second of all that comes out; what is stored at another rate is resampled (soxr,
  /// "HQ", as librosa does). Without it each recording keeps its own rate, which is the new field
  /// `audio_rate` (int64), `<field>_rate` of other fields.
  std::optional<int64_t> rate = {};
  /// (samples,), the mean of all channels. False: (channels, samples).
  bool mono = true;
  /// How many channels all recordings have; others are Unsupported. Batches with `mono=False` need
  /// it.
  std::optional<int64_t> channels = {};
  /// The encoded field, or a list of them; by default `audio`, else `bytes`, which becomes `audio`.
  Fields field = {};
  /// Longer recordings (all channels counted) are Unsupported.
  int64_t max_samples = 100'000'000;
  /// True if the field is a list of encoded recordings in each sample. For columns of tables it is
  /// known; say so for a field that user code makes, and before `.pad`.
  std::optional<bool> lists = {};
};

/// For Pipeline::mel_spectrogram().
struct MelSpectrogramOptions {
  /// Samples a second; may be left out behind `.decode_audio(rate=...)`.
  std::optional<int64_t> rate = {};
  /// Samples of a frame.
  int64_t n_fft = 400;
  /// Length of the Hann window, in the middle of the frame; `n_fft` if not given.
  std::optional<int64_t> win_length = {};
  /// Samples from frame to frame; `win_length // 2` if not given.
  std::optional<int64_t> hop_length = {};
  /// Lowest frequency, in Hz.
  double f_min = 0.0;
  /// Highest frequency, in Hz; half of the rate if not given.
  std::optional<double> f_max = {};
  /// Bands.
  int64_t n_mels = 128;
  /// 2 for power, 1 for magnitude.
  double power = 2.0;
  /// "slaney" divides each band by its width in Hz.
  std::string norm = {};
  /// "htk" or "slaney".
  std::string mel_scale = "htk";
  /// Frame i has sample `i * hop_length` in its middle; else it begins there.
  bool center = true;
  /// Samples outside of the sound, used if `center`: "reflect", or "constant" for zeros.
  std::string pad_mode = "reflect";
  /// "db" for `10 * log10(max(x, 1e-10))`, "ln" for `ln(x + 1e-6)`.
  std::string log = {};
  /// A field that holds sound, or a list of them.
  Fields field = {"audio"};
};

/// For Pipeline::mfcc().
struct MfccOptions {
  /// Samples a second; may be left out behind `.decode_audio(rate=...)`.
  std::optional<int64_t> rate = {};
  /// Samples of a frame.
  int64_t n_fft = 400;
  /// Length of the Hann window, in the middle of the frame; `n_fft` if not given.
  std::optional<int64_t> win_length = {};
  /// Samples from frame to frame; `win_length // 2` if not given.
  std::optional<int64_t> hop_length = {};
  /// Lowest frequency, in Hz.
  double f_min = 0.0;
  /// Highest frequency, in Hz; half of the rate if not given.
  std::optional<double> f_max = {};
  /// Bands.
  int64_t n_mels = 128;
  /// 2 for power, 1 for magnitude.
  double power = 2.0;
  /// "slaney" divides each band by its width in Hz.
  std::string norm = {};
  /// "htk" or "slaney".
  std::string mel_scale = "htk";
  /// Frame i has sample `i * hop_length` in its middle; else it begins there.
  bool center = true;
  /// Samples outside of the sound, used if `center`: "reflect", or "constant" for zeros.
  std::string pad_mode = "reflect";
  /// Compute from `ln(x + 1e-6)` instead of decibels.
  bool log_mels = false;
  /// A field that holds sound, or a list of them.
  Fields field = {"audio"};
};

/// For Pipeline::pad_or_crop().
struct PadOrCropOptions {
  /// Cut at a random place; else the beginning stays.
  bool random = false;
  /// Samples a second; may be left out behind `.decode_audio(rate=...)`.
  std::optional<int64_t> rate = {};
  /// A field that holds sound, or a list of them, which share one draw.
  Fields field = {"audio"};
};

/// For Pipeline::random_gain().
struct RandomGainOptions {
  /// Low and high; one number x stands for -x to x.
  JitterRange db = {-6.0, 6.0};
  /// Probability that it is changed at all.
  double p = 1.0;
  /// A field that holds sound, or a list of them, which share one draw.
  Fields field = {"audio"};
};

/// For Pipeline::spec_augment().
struct SpecAugmentOptions {
  /// Stretches of frames.
  int64_t time_masks = 2;
  /// Stretches of bands.
  int64_t freq_masks = 2;
  /// A stretch is shorter than so many frames.
  int64_t time_mask_param = 100;
  /// And than so many bands.
  int64_t freq_mask_param = 27;
  /// Largest share of the frames that one stretch has.
  double p = 1.0;
  /// Number in the masked places; after `log="db"`, -100 is silence.
  double value = 0.0;
  /// A field that holds spectra, or a list of them.
  Fields field = {"audio"};
};

/// For Pipeline::embed().
struct EmbedOptions {
  /// The field of integers, which stays; padded with `.pad(field, length=...)` where rows differ in
  /// length.
  std::string field = "tokens";
  /// Name of the field of rows.
  std::string into = "embedding";
  /// Xxh3-128 of the file, part of the pipeline's fingerprint; by default the file is read now. A
  /// loader refuses another file with StateMismatch.
  std::string hash = {};
};

/// For Pipeline::extract_text().
struct ExtractTextOptions {
  /// Fields of str or bytes (UTF-8); the text takes its place.
  Fields field = {"text"};
};

/// For Pipeline::pack().
struct PackOptions {
  /// The main one of the packed fields, of one axis, of numbers; of user code, too. Other fields
  /// that are not in length would be lost, which is InvalidArgument: leave them out by
  /// `.select("tokens")` before. `key` goes without a word.
  std::string field = "tokens";
  /// "first-fit": what of a row fills blocks has these to itself, the rest of it goes whole into
  /// the first open block with room. "best-fit": the same, the longest first, each into the fullest
  /// block with room. "cut": row after row, cut every length elements, so that only the last block
  /// has padding.
  std::string how = "first-fit";
  /// What becomes of a row that is longer than a block: "split" into several; "right" or "left":
  /// cut off at that side, as `truncation_side` of tokenizers, so "right" keeps the first elements;
  /// "drop": left out, which is logged; "error": InvalidArgument that names the sample.
  std::string too_long = "split";
  /// A number that is appended to each row before it is packed, empty ones apart. One number is for
  /// the main field and `labels`; other fields repeat their last element, as do those that
  /// `{"tokens": 2}` does not name.
  std::optional<IntByField> eos = {};
  /// 1: each element of `labels` is the next one of its segment, and the last is the field's
  /// pad_value. Where `labels` is not packed, it is made of the main field. `{"labels": 1,
  /// "loss_mask": 1}` shifts other fields.
  std::optional<IntByField> shift = {};
  /// Number in places that no row fills, in all fields but `labels`, or for each field. That of
  /// `labels` is -100, which losses leave out, if it is not named.
  FloatByField pad_value = 0.0;
  /// Further budgets of a block, for rows that are not split (`too_long`): `{"patches": 1024}` is
  /// the most of the field `patches` in all rows of a block, a number, or rows, text or bytes,
  /// whose own length counts, or a picture, whose pixels count. The field is read to measure it,
  /// and is in no block. A row above a limit is left out with too_long="drop", otherwise
  /// InvalidArgument.
  std::optional<IntByField> limits = {};
  /// Rows in a block at most; any number by default.
  std::optional<int64_t> max_segments = {};
  /// Adds `cu_seqlens`: 0 and the ends of the block's segments, of which padding is one, so that
  /// the last is length; ragged, or filled up with length to max_segments + 2. And `max_seqlen`:
  /// the length of the longest of them.
  bool cu_seqlens = false;
  /// Of "first-fit": blocks that a row may still go into; the fullest is closed where there would
  /// be more. More leave less padding.
  int64_t open_blocks = 64;
  /// Rows that share blocks, with "best-fit" or arrange="epoch"; more leave less padding, and lie
  /// further apart. With arrange="epoch" the default for tables is the number of rows that
  /// .shuffle() mixes, if that is smaller.
  int64_t window = 65536;
  /// "once": all epochs have the same blocks. "epoch": the rows of each epoch are packed in the
  /// order in which they come, so that other rows share a block in another epoch, and epochs may
  /// have different numbers of blocks. By default "once", and "epoch" behind `fb.mix` and
  /// `fb.concat`, where it is the only way.
  std::string arrange = {};
};

/// For Pipeline::tokenize().
struct TokenizeOptions {
  /// The field of str; the ids take its place.
  std::string field = "text";
  /// Name of the field of ids.
  std::string into = "tokens";
  /// Adds the ids that the tokenizer puts around each text, as `encode(add_special_tokens=...)`.
  bool special = true;
  /// Ids of a text at most, these included, as `enable_truncation(max_length)`: what is beyond them
  /// is cut off; all by default.
  std::optional<int64_t> max_length = {};
  /// Xxh3-128 of the file, part of the pipeline's fingerprint; by default the file is read now. A
  /// loader refuses another file with StateMismatch.
  std::string hash = {};
};

/// For Pipeline::buffer().
struct BufferOptions {
  /// "block": nothing is read that there is no room for, so that records wait where they are;
  /// nothing is lost. "drop_oldest": those go that have waited longest. "sample": at each step a
  /// uniform choice of all that came since the last one. "spill": to disk, and back in order;
  /// nothing is lost while there is room. What is dropped is counted by partition, in stats() and
  /// in states.
  std::string policy = "block";
  /// Bytes of records in memory, as a number or "256MiB". What one batch needs is read in any case.
  ByteSize bytes = "64MiB";
  /// Bytes of records on disk, with "spill"; beyond it records wait where they are.
  ByteSize disk = "10GiB";
  /// The folder on disk, with "spill"; by default the system's for temporary files.
  std::string dir = {};
  /// The rows of a step if training waits for it. "wait": it waits until a whole batch has come.
  /// Else it has the records that have come, and old ones in the place of the others: "repeat": of
  /// the latest step that had new ones; "rehearse": of those that .rehearse() keeps, which says in
  /// `batch["rehearsed"]` which they are. Old records have the ids that they had. They are drawn at
  /// random, by the seed, and are augmented anew; states and journals hold them. In the first step
  /// there is nothing old, so it waits. `stats()["stream"]["missing"]` counts them.
  std::string on_underrun = "wait";
};

/// For Pipeline::rehearse().
struct RehearseOptions {
  /// The field of the source that tells the class: a whole number or a text, known without
  /// decoding; of tables, tar shards and lines any such field, which is read once when the loader
  /// is opened. None, which is "" in other faces: one class.
  std::string by = "label";
  /// "reservoir": of each class a uniform sample of all that came (Vitter 1985). "balanced": the
  /// classes share the places evenly (Chrysakis and Moens 2020). "recent": the latest.
  std::string policy = "reservoir";
  /// How many new samples of a step, over all ranks and drawn at random, may be kept; all if not
  /// given.
  std::optional<int64_t> candidates = {};
  /// "raw": old samples go through all steps again. "here": they come in at this step as they were
  /// when they were new, and only the steps behind it (`.rehearse(…,
  /// where="here").random_crop(24).batch(b)`) are done anew; random steps before it are not drawn
  /// again. What the steps before made is kept in memory, so that they need not run again; results
  /// never depend on whether it is. `rehearsed` is a field of the samples from here on.
  std::string where = "raw";
  /// Bytes of memory for the results on each rank if where="here"; 2 GiB if not given, 0 for none.
  std::optional<ByteSize> ram = {};
};

}  // namespace forebay
