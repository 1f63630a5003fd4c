#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "forebay/argument_types.h"
#include "forebay/operator_options.h"
#include "forebay/problem.h"
#include "forebay/result.h"
#include "forebay/tensor.h"

namespace forebay {

class Description;

/// One array of `fb::arrays`: data in memory, or a .npy file. Data in memory belongs to
/// `values.buffer`, or to the caller, who must then keep it alive.
struct Array {
  Tensor values;     ///< the first axis counts samples
  std::string path;  ///< a .npy file, which is memory-mapped; empty: `values` is used
  /// Whether `values` holds texts, of the shape (samples, characters): UTF-8 (uint8) or code points
  /// (uint32), padded with zeros.
  bool text = false;
};

/// One sample as user code sees it: field name → tensor. Bytes and text are uint8 tensors of
/// rank 1. Lists of bytes or text are such tensors too, which StringList (string_list.h) reads.
using Sample = std::map<std::string, Tensor>;
using MapFunction = std::function<Status(Sample&)>;
/// Returns true if the sample stays in the data set.
using FilterFunction = std::function<Result<bool>(const Sample&)>;

/// For images().
struct ImagesOptions {
  /// "folder": each folder in the root is a class. "none": all pictures below the root, without
  /// `label`.
  std::string split_by = "folder";
  /// The class folders in the order of their labels, for example Loader::classes() of the training
  /// loader. Other folders are ignored, with a warning. Empty: all folders, sorted by name.
  std::vector<std::string> classes = {};
};

/// For manifest().
struct ManifestOptions {
  /// The folder that paths are relative to. Empty: the folder that contains the list.
  std::string root = {};
  std::string path = "path";  ///< column of the paths; in JSON lines each may be a list of paths
  /// Whether the first line of a CSV, TSV or text list names the columns.
  bool header = true;
  std::vector<std::string> columns = {};  ///< column names of a list without a header
  /// Column → type: "string", "int64", "float32", and so on. A text column without a type here
  /// becomes numbers or bools if printing these reproduces its text.
  std::map<std::string, std::string> types = {};
};

/// For materialized().
struct MaterializedOptions {
  /// "check": a loader does not open if the original data set can be opened and has changed.
  /// "trust": the original is not opened.
  std::string original = "check";
};

/// One value of a table: the operand of a filter, or the replacement of nulls.
using TableValue = std::variant<bool, int64_t, double, std::string>;

/// One comparison of a filter, such as `{"price", ">=", 3.5}`. The operators ==, !=, <, <=, >, >=
/// take one value; "in" and "not in" take several. A null matches nothing. Dates and times are
/// compared with integers of the column's unit, or with text such as "2026-01-31" or
/// "2026-01-31T12:30:00".
struct Condition {
  std::string column;
  std::string op;
  std::vector<TableValue> values;

  Condition(std::string name, std::string compare, TableValue value)
      : column(std::move(name)), op(std::move(compare)), values{std::move(value)} {}
  Condition(std::string name, std::string compare, std::vector<TableValue> among)
      : column(std::move(name)), op(std::move(compare)), values(std::move(among)) {}
};

/// How a table's nulls are treated. The functions below make the common cases.
struct Nulls {
  bool error = true;  ///< a row with a null is bad
  /// Zero or an empty text replaces a null, and a bool field `<name>_valid` is added.
  bool mask = false;
  std::optional<TableValue> value = {};  ///< replaces nulls in columns of the value's kind
  /// Column → the value that replaces its nulls. The name of a struct stands for its members.
  std::map<std::string, TableValue> by_column = {};
  /// Columns and structs that are treated as with `mask`, in addition to the rules above.
  std::vector<std::string> masked = {};
};
inline Nulls null_error() { return {}; }
inline Nulls null_mask() { return {.error = false, .mask = true}; }
inline Nulls null_value(TableValue value) { return {.error = false, .value = std::move(value)}; }
inline Nulls null_values(std::map<std::string, TableValue> by_column) {
  return {.error = false, .by_column = std::move(by_column)};
}

/// For parquet(), arrow() and arrow_streams().
struct TableOptions {
  Fields columns = {};  ///< empty: all; the name of a struct stands for its members
  /// Lists of conditions. A row is read if all conditions of at least one list hold. Empty: all
  /// rows are read.
  std::vector<std::vector<Condition>> filter = {};
  Nulls null = {};
  /// Column → the type to read it as: "bool", "int8" to "uint64", "float16" to "float64", "string",
  /// "bytes", "datetime64[D]" and [s] to [ns], "timedelta64[s]" to [ns]. A row is Corrupt if the
  /// type cannot hold its value exactly. Only decimals and floats are rounded, if a float type is
  /// requested.
  std::map<std::string, std::string> types = {};
  /// Makes an endless source that also delivers the rows of files that appear later. Only for local
  /// files.
  bool follow = false;
};

/// For text().
struct TextOptions {
  std::string by = "line";  ///< each "line", or each "file", is a sample
  /// Makes an endless source that also delivers lines that are written later.
  bool follow = false;
};

/// For jsonl().
struct JsonlOptions {
  /// Member → type. Empty: the members of the first records.
  std::map<std::string, std::string> fields = {};
  Nulls null = {};  ///< treatment of members that are null or missing; no masks
  /// Treatment of NaN and Infinity, which JSON does not have. "error": the record is bad. "keep":
  /// they are values of float64 fields. "null": they are null.
  std::string nan = "error";
  /// Makes an endless source that also delivers records that are written later. Requires `fields`.
  bool follow = false;
};

/// For files().
struct FilesOptions {
  /// Makes an endless source that also delivers files that appear later, each once it is complete.
  bool follow = false;
};

/// For stream().
struct LogOptions {
  /// Field of a payload → "bytes", "text", or a dtype.
  std::map<std::string, std::string> fields = {};
  std::string format = {};              ///< of the payloads: "bytes", "text", "json" or "fields"
  std::string start = "beginning";      ///< "now": only records that arrive after the first use
  std::string on_trimmed = "error";     ///< "skip": records that the log has deleted are skipped
  std::vector<int64_t> partition = {};  ///< of Kafka: the numbers to read; empty: all
};

/// For webdataset().
struct WebdatasetOptions {
  /// Field → extensions. "jpg;png" means the first of these extensions that a sample has. Empty:
  /// one field for each extension in the shards, under the extension's name.
  std::map<std::string, std::string> fields = {};
  /// Fields that a sample may lack. A bool field `<name>_valid` is added for each.
  Fields optional = {};
  ByteSize chunk = "8MiB";  ///< bytes of samples that are read together
  /// The dot of a file's name that ends the sample's name. "first": 1.seg.png is the field seg.png
  /// of the sample 1. "last" is for names with periods.
  std::string split = "first";
  /// The place of each shard's index. "cache": the host's cache folder. "beside": a file beside the
  /// shard (local files only), which all hosts that read the shard share.
  std::string index = "cache";
};

/// For hdf5().
struct Hdf5Options {
  /// Field → its place in every file: "/group/data", "/table.member" or "/data@attribute".
  std::map<std::string, std::string> fields;
  std::optional<int64_t> window = {};  ///< rows of a sample; by default a sample is one row
  /// Rows between the beginnings of two windows; by default the length of a window.
  std::optional<int64_t> stride = {};
};

/// A stage of a schedule: from that position on, the parts have these weights. Positions count over
/// all epochs.
struct MixStage {
  int64_t from = 0;
  std::map<std::string, double> weights;
};

/// For mix().
struct MixSourceOptions {
  /// Part → its share. Empty: an epoch has each sample of each part once.
  std::map<std::string, double> weights = {};
  /// Shares by size: proportional to size^(1/temperature).
  std::optional<double> temperature = {};
  std::vector<MixStage> schedule = {};  ///< the first stage begins at 0; in place of `weights`
  /// "step": weights hold from the beginning of a stage. "linear": they move from those of a stage
  /// to those of the next one.
  std::string ramp = "step";
  std::optional<int64_t> samples = {};  ///< length of an epoch; `end` decides if not set
  /// An epoch ends before the "first" part would begin anew, or after "all" parts have been passed
  /// once.
  std::string end = "first";
  std::string field = {};         ///< name of an int64 field for the number of the part
  std::string missing = "error";  ///< "mask": zeros and a bool for fields that a part lacks
};

/// For zip().
struct ZipSourceOptions {
  /// Empty: by position. "key": by the path below the root, without its extension. Otherwise the
  /// name of a field that all parts have.
  std::string on = {};
  std::string missing = "error";  ///< with `on`: "drop" leaves samples without a partner out
  std::string end = "error";      ///< by position: "first" ends with the shortest part
};

/// Mean and standard deviation of ImageNet's training pictures, for normalize().
inline NormalizeOptions imagenet() {
  return {.mean = {0.485, 0.456, 0.406}, .std = {0.229, 0.224, 0.225}, .field = {"image"}};
}

/// An immutable description of a data set and the steps that prepare its batches. It is cheap to
/// copy and may be used from any thread. Describing touches no storage, apart from tokenize() and
/// embed(), which hash their file. Each method that adds a step returns a new pipeline and leaves
/// this one unchanged. Mistakes are reported by check(), and when a Loader is opened.
class Pipeline {
 public:
  Pipeline();
  explicit Pipeline(std::shared_ptr<const Description> description);

  Pipeline shuffle(ShuffleOptions options = {}) const;
  /// Sets how a stream's records wait for training, and what training gets during an underrun.
  Pipeline buffer(BufferOptions options = {}) const;
  /// Adds `n` replayed samples to each batch of a rank. The replay buffer holds `capacity` samples
  /// of each class; with policy="balanced" it holds `capacity` samples in total.
  Pipeline rehearse(int64_t n, int64_t capacity, RehearseOptions options = {}) const;
  /// Selects the samples whose fields have one of the given whole numbers.
  Pipeline only(std::map<std::string, std::vector<int64_t>> values) const;
  Pipeline decode_image(DecodeImageOptions options = {}) const;
  Pipeline resize(ImageSize size, ResizeOptions options = {}) const;
  Pipeline resize(ResizeOptions options) const { return resize(ImageSize(), std::move(options)); }
  Pipeline center_crop(ImageSize n, CropOptions options = {}) const;
  Pipeline random_crop(ImageSize n, CropOptions options = {}) const;
  Pipeline random_resized_crop(ImageSize n, RandomResizedCropOptions options = {}) const;
  Pipeline resize(int64_t size) const { return resize(ImageSize{size}); }
  Pipeline center_crop(int64_t n) const { return center_crop(ImageSize{n}); }
  Pipeline random_crop(int64_t n) const { return random_crop(ImageSize{n}); }
  Pipeline random_resized_crop(int64_t n) const { return random_resized_crop(ImageSize{n}); }
  Pipeline random_flip(RandomFlipOptions options = {}) const;
  Pipeline color_jitter(ColorJitterOptions options = {}) const;
  Pipeline normalize(NormalizeOptions options) const;
  Pipeline patchify(int64_t patch, PatchifyOptions options = {}) const;
  Pipeline decode_audio(DecodeAudioOptions options = {}) const;
  Pipeline mel_spectrogram(MelSpectrogramOptions options = {}) const;
  Pipeline mfcc(int64_t n_mfcc = 40, MfccOptions options = {}) const;
  Pipeline pad_or_crop(double seconds, PadOrCropOptions options = {}) const;
  Pipeline random_gain(RandomGainOptions options = {}) const;
  Pipeline add_noise(AddNoiseOptions options = {}) const;
  Pipeline spec_augment(SpecAugmentOptions options = {}) const;
  Pipeline layout(std::string_view order, LayoutOptions options = {}) const;
  Pipeline cast(std::string_view dtype, CastOptions options = {}) const;
  Pipeline map(MapFunction function, MapOptions options = {}) const;
  Pipeline filter(FilterFunction function, FilterOptions options = {}) const;
  Pipeline select(Fields fields) const;
  Pipeline rename(std::map<std::string, std::string> names) const;  ///< old name → new name
  Pipeline take(int64_t n, TakeOptions options = {}) const;
  /// Draws an epoch's samples, with weights.
  Pipeline sample(SampleOptions options = {}) const;
  /// Gives the classes of a field equal shares.
  Pipeline balance(BalanceOptions options = {}) const;
  /// The samples, or groups of them, whose hash is in [begin, end): the parts of a split.
  Pipeline keep_keys(double begin, double end, KeepKeysOptions options = {}) const;
  Pipeline keep_groups(std::string_view by, double begin, double end, KeepGroupsOptions options = {}) const;
  /// Passes over the samples `n` times in an epoch; fractions are allowed.
  Pipeline repeat(double n) const;
  Pipeline hash_bucket(int64_t buckets, HashBucketOptions options) const;
  Pipeline clip(ClipOptions options) const;
  Pipeline log1p(Fields field) const;
  /// Replaces the nulls of fields that have masks `<name>_valid`.
  Pipeline fill_null(TableValue value, Fields field) const;
  Pipeline stack(Fields fields, std::string_view name) const;
  /// Cuts a field into windows: the shape (length, …) becomes (windows, n, …).
  Pipeline window(int64_t n, WindowOptions options) const;
  /// Adds a field `<field>_<function>` for each function: sum, mean, std, rms, min, max or cusum.
  Pipeline aggregate(Fields functions, AggregateOptions options) const;
  Pipeline pad(std::string_view field, double value = 0, PadOptions options = {}) const;
  Pipeline extract_text(ExtractTextOptions options = {}) const;
  /// Tokenizes text as a tokenizer.json says: byte-level BPE, WordPiece or Unigram. This call reads
  /// the file, whose hash is part of the pipeline.
  Pipeline tokenize(std::string_view file, TokenizeOptions options = {}) const;
  /// Replaces the ids in a field by rows of a .npy file whose first axis is the id: the shape (n,)
  /// becomes (n, …). This call reads the file for its hash.
  Pipeline embed(std::string_view table, EmbedOptions options = {}) const;
  /// Packs rows of different lengths into blocks of `length`, the same for each field. The blocks
  /// are the samples of all later steps: the fields, `segments` and `positions`, each of the shape
  /// (length,). A pass over all samples before the first batch finds the lengths.
  Pipeline pack(IntByField length, PackOptions options = {}) const;
  /// Stores the results of the steps before it for later epochs and runs: in memory, then on disk.
  Pipeline cache(CacheStepOptions options = {}) const;
  Pipeline batch(int64_t n, BatchOptions options = {}) const;
  /// Makes batches of samples of like lengths, as many as fit a budget, in place of batch(). A pass
  /// over all samples before the first batch finds the lengths.
  Pipeline bucket(BucketOptions options = {}) const;

  /// Returns every problem that can be found without touching storage; empty if there is none.
  std::vector<Problem> check() const;
  /// Reads the listing and returns the class names in the order of their labels.
  Result<std::vector<std::string>> classes(std::stop_token stop = {}) const;
  /// Returns one line per operator.
  std::string to_string() const;
  Result<std::string> to_json() const;
  static Result<Pipeline> from_json(std::string_view text);

  const Description& description() const { return *description_; }

 private:
  std::shared_ptr<const Description> description_;
};

// Sources. Each function describes one data set or stream and touches no storage.

/// Describes a folder of pictures, with one sub-folder per class.
Pipeline images(std::string root, ImagesOptions options = {});
/// Describes files that are delivered as they are: those that match a pattern, which may contain
/// `*`, `?`, `[a-z]`, `**`, `{a,b}` and `{000..099}`, or the named ones, in the given order.
Pipeline files(std::string pattern, FilesOptions options = {});
Pipeline files(std::vector<std::string> names);
/// Describes objects that a file lists, one per row: CSV, TSV, a text list, JSONL or Parquet.
Pipeline manifest(std::string url, ManifestOptions options = {});
/// Describes a broker's log, an endless source: redis://, nats:// or kafka://. See
/// docs/reference/streams.md.
Pipeline stream(std::string url, LogOptions options = {});
/// Describes text files: each line, or each file, is a sample with the fields `text` and `key`. The
/// files are given by a pattern, a folder, a file, or names. A line's id is its number over all
/// files in byte order of their keys.
Pipeline text(std::string pattern, TextOptions options = {});
Pipeline text(std::vector<std::string> names, TextOptions options = {});
/// Describes JSON records, one per line. Each member is a field; members of objects have dotted
/// names. Types are bool, int64, uint64, float64, text, json (any value, as its text), and the
/// lists bool[], int64[], float64[] and text[].
Pipeline jsonl(std::string pattern, JsonlOptions options = {});
Pipeline jsonl(std::vector<std::string> names, JsonlOptions options = {});
/// Describes arrays in memory, or .npy files. Each array is a field; the first axis counts samples.
Pipeline arrays(std::map<std::string, Array> fields);
/// Describes tar shards, given by a pattern, a folder, a file, or names. Consecutive files with the
/// same base name are one sample; WebdatasetOptions::split says where a base name ends. Links stand
/// for the files of the shard that they point to. Each extension is a field: txt and json are text,
/// cls and id are int64, and most others are bytes. The field `key` is the base name. A
/// sample's id is its number over all shards in byte order of their keys.
Pipeline webdataset(std::string pattern, WebdatasetOptions options = {});
Pipeline webdataset(std::vector<std::string> names, WebdatasetOptions options = {});
/// Describes the output of materialize() in that folder. It has the ids, order and fingerprint of
/// the pipeline that was materialized.
Pipeline materialized(std::string url, MaterializedOptions options = {});
/// parquet() describes Parquet files, and arrow() Arrow files ("Feather 2"), given by a pattern, a
/// folder, a file, or names. Each column is a field; members of structs have dotted names. Folders
/// called name=value are columns too. A row's id is its number over all files in byte order of
/// their keys; a filter does not change ids.
Pipeline parquet(std::string pattern, TableOptions options = {});
Pipeline parquet(std::vector<std::string> names, TableOptions options = {});
Pipeline arrow(std::string pattern, TableOptions options = {});
Pipeline arrow(std::vector<std::string> names, TableOptions options = {});
/// Describes HDF5 files, given by a pattern, a folder, a file, or names. A sample is a row of the
/// data sets (along their first axis), or a window of rows, which lies within one file. A sample's
/// id is the number of its row or window over all files in byte order of their keys.
Pipeline hdf5(std::string pattern, Hdf5Options options);
Pipeline hdf5(std::vector<std::string> names, Hdf5Options options);
/// Describes an indexed data set of Megatron-LM, which is `prefix`.bin and `prefix`.idx. A sample is
/// the `tokens` of a "document" or of a "sequence", and its id is the number of that.
Pipeline megatron(std::string prefix, std::string by = "document");
/// Describes tables in memory, concatenated. Each stream is an `ArrowArrayStream*` of the Arrow C
/// data interface, which this call reads to its end and releases. The pipeline shares the memory of
/// its batches.
Result<Pipeline> arrow_streams(std::span<void* const> streams, TableOptions options = {});

// Sources that are made of other pipelines. A part is a pipeline without a batch: its own source,
// order, steps and caches.

/// Describes several pipelines as one data set. The part of a position, and which of its samples it
/// is, depend on seed and position alone. Each part goes on in the next epoch where it stands.
Pipeline mix(std::vector<std::pair<std::string, Pipeline>> parts, MixSourceOptions options = {});
/// Describes pipelines that follow each other. Parts without names are called "0", "1", ….
Pipeline concat(std::vector<Pipeline> parts);
Pipeline concat(std::vector<std::pair<std::string, Pipeline>> parts);
/// Describes pipelines side by side: a sample has the fields of all parts. The order is that of the
/// first part. Another part with sample() or balance() gives one draw of its own for each sample. A
/// part may choose its samples, and have caches of its own.
Pipeline zip(std::vector<std::pair<std::string, Pipeline>> parts, ZipSourceOptions options = {});

}  // namespace forebay
