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
#include <variant>
#include <vector>

#include "forebay/argument_types.h"
#include "forebay/operator_options.h"
#include "forebay/result.h"
#include "forebay/tensor.h"

namespace forebay {

class Description;

/// Something wrong with a pipeline: where, what, and the way out.
struct Problem {
  std::string op;       ///< "3: random_crop"
  std::string message;  ///< "the field 'image' is still encoded"
  std::string remedy;   ///< "put .decode_image() before it"
};

/// One array of `fb::arrays`: data in memory (kept alive by `values.buffer`, or by the caller), or a .npy file.
struct Array {
  Tensor values;     ///< first axis is the sample
  std::string path;  ///< a .npy file, memory-mapped; used when not empty
  /// `values` are texts: (samples, characters), filled up with zeros, of UTF-8 (uint8) or of code points (uint32).
  bool text = false;
};

/// One sample as user code sees it: field name → tensor. Bytes and text are uint8 tensors of rank 1, and so are lists of them: see
/// StringList (string_list.h).
using Sample = std::map<std::string, Tensor>;
using MapFunction = std::function<Status(Sample&)>;
/// True for samples to keep.
using FilterFunction = std::function<Result<bool>(const Sample&)>;

struct ImagesOptions {
  std::string split_by = "folder";
  /// The class folders in the order of their labels, such as Loader::classes() of training; empty: all folders, sorted by name. Other
  /// folders are left out, with a warning.
  std::vector<std::string> classes = {};
};
struct ManifestOptions {
  std::string root = {};
  std::string path = "path";
  bool header = true;                     ///< of text: the first line names the columns
  std::vector<std::string> columns = {};  ///< their names where there is no header
  std::map<std::string, std::string> types =
      {};  ///< column → "string", "int64", "float32", …; what it looks like if not given
};
struct MaterializedOptions {
  /// "check": an error where the data set that it was made of has changed since; "trust": that is not looked at.
  std::string original = "check";
};
/// One value of a table: what a filter compares with, or what stands in the place of nulls.
using TableValue = std::variant<bool, int64_t, double, std::string>;
/// `{"price", ">=", 3.5}`: ==, !=, <, <=, >, >= with one value, "in" and "not in" with several. A null matches nothing. Dates and times
/// are compared with integers of the column's unit, or with text as in "2026-01-31" or "2026-01-31T12:30:00".
struct Condition {
  std::string column;
  std::string op;
  std::vector<TableValue> values;

  Condition(std::string name, std::string compare, TableValue value)
      : column(std::move(name)), op(std::move(compare)), values{std::move(value)} {}
  Condition(std::string name, std::string compare, std::vector<TableValue> among)
      : column(std::move(name)), op(std::move(compare)), values(std::move(among)) {}
};
/// What becomes of a null of a table.
struct Nulls {
  bool error = true;  ///< its row is bad in itself
  bool mask = false;  ///< zero or an empty text stands there, and a bool field `<name>_valid` comes with the column
  std::optional<TableValue> value = {};  ///< stands there, in columns of its kind
  std::map<std::string, TableValue> by_column =
      {};                                ///< stands there, in these columns, or in those of a struct by its name
  std::vector<std::string> masked = {};  ///< columns and structs that have masks, whatever the others have
};
inline Nulls null_error() { return {}; }
inline Nulls null_mask() { return {.error = false, .mask = true}; }
inline Nulls null_value(TableValue value) { return {.error = false, .value = std::move(value)}; }
inline Nulls null_values(std::map<std::string, TableValue> by_column) {
  return {.error = false, .by_column = std::move(by_column)};
}
struct TableOptions {
  Fields columns = {};  ///< all if empty; the name of a struct stands for its members
  /// Rows are kept for which all conditions of at least one list hold; all if there is no list.
  std::vector<std::vector<Condition>> filter = {};
  Nulls null = {};
  /// Column → the type that it is read as: "bool", "int8" to "uint64", "float16" to "float64", "string", "bytes", "datetime64[D]" and
  /// [s] to [ns], "timedelta64[s]" to [ns]. A value that the type does not hold exactly makes its row Corrupt; only decimals and floats
  /// are rounded where a float is asked for.
  std::map<std::string, std::string> types = {};
  bool follow = false;  ///< a source without an end: rows of files that appear later, too; local files
};
struct TextOptions {
  std::string by = "line";  ///< what a sample is: a "line" or a "file"
  bool follow = false;      ///< a source without an end: lines that are written later, too
};
struct JsonlOptions {
  std::map<std::string, std::string> fields = {};  ///< member → type; those of the first records if empty
  Nulls null = {};                                 ///< of what is null or missing; no masks
  std::string nan = "error";  ///< of NaN and Infinity, which are no JSON; "keep" them as floats, or "null"
  bool follow = false;        ///< a source without an end: records that are written later, too; wants `fields`
};
struct FilesOptions {
  bool follow = false;  ///< a source without an end: files that appear later, too, each once it is whole
};
struct LogOptions {
  std::map<std::string, std::string> fields = {};  ///< of a record's payload: "bytes", "text", or a dtype
  std::string format = {};                         ///< of payloads: "bytes", "json" or "fields"
  std::string start = "beginning";                 ///< or "now"
  std::string on_trimmed = "error";                ///< or "skip" what the log has forgotten
  std::vector<int64_t> partition = {};             ///< of Kafka: numbers of those to read; all if empty
};
struct WebdatasetOptions {
  /// Field → extensions: "jpg;png" is the first of them that a sample has. All that there are, by extension, if empty.
  std::map<std::string, std::string> fields = {};
  Fields optional = {};     ///< a sample may lack these; a bool field `<name>_valid` comes with each
  ByteSize chunk = "8MiB";  ///< bytes of samples that are read together
  /// The dot of a file's name that ends the sample's name: "first", so that 1.seg.png is the field seg.png of the sample 1; or "last", for names
  /// with periods.
  std::string split = "first";
  /// Where it is kept what is in the shards: "cache", in the folder of caches; or "beside" each (local files), for all hosts that read them.
  std::string index = "cache";
};
struct Hdf5Options {
  std::map<std::string, std::string> fields;  ///< where each is: "/group/data", "/table.member", "/data@attribute"
  std::optional<int64_t> window = {};         ///< so many rows together are a sample
  std::optional<int64_t> stride = {};         ///< from one window to the next; the length of a window if not given
};

/// Mean and standard deviation of ImageNet's training pictures, for normalize().
inline NormalizeOptions imagenet() {
  return {.mean = {0.485, 0.456, 0.406}, .std = {0.229, 0.224, 0.225}, .field = {"image"}};
}

/// The description of a data set and what is done to it: immutable, cheap to copy, touches no storage. Each call returns a
/// new one. Nothing is validated before check() or before a Loader is opened.
class Pipeline {
 public:
  Pipeline();
  explicit Pipeline(std::shared_ptr<const Description> description);

  Pipeline shuffle(ShuffleOptions options = {}) const;
  /// What becomes of a stream's records while training does not take them.
  Pipeline buffer(BufferOptions options = {}) const;
  /// `n` old samples in each batch of a rank, of the `capacity` that are kept of each class.
  Pipeline rehearse(int64_t n, int64_t capacity, RehearseOptions options = {}) const;
  /// Only samples whose fields have one of these whole numbers.
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
  Pipeline hash_bucket(int64_t buckets, HashBucketOptions options) const;
  Pipeline clip(ClipOptions options) const;
  Pipeline log1p(Fields field) const;
  Pipeline fill_null(TableValue value, Fields field) const;  ///< fields that came with masks `<name>_valid`
  Pipeline stack(Fields fields, std::string_view name) const;
  /// (length, …) becomes (windows, n, …).
  Pipeline window(int64_t n, WindowOptions options) const;
  /// `<field>_<function>` beside the field: sum, mean, std, rms, min, max, cusum.
  Pipeline aggregate(Fields functions, AggregateOptions options) const;
  Pipeline pad(std::string_view field, double value = 0, PadOptions options = {}) const;
  Pipeline extract_text(ExtractTextOptions options = {}) const;
  /// A tokenizer.json: byte-level BPE, WordPiece or Unigram. Its hash, which is part of what the pipeline is, is found now.
  Pipeline tokenize(std::string_view file, TokenizeOptions options = {}) const;
  /// A .npy file, whose first axis is the id. Its hash is found now.
  Pipeline embed(std::string_view table, EmbedOptions options = {}) const;
  /// Rows of different lengths side by side in blocks of `length`, which are the samples from here on: the field, `segments` and
  /// `positions`, all (length,). Lengths are taken in a pass over all samples before the first batch.
  Pipeline pack(int64_t length, PackOptions options = {}) const;
  /// Keeps what the steps before it made: in memory, then on disk.
  Pipeline cache(CacheStepOptions options = {}) const;
  Pipeline batch(int64_t n, BatchOptions options = {}) const;

  /// Every problem that can be found without touching storage; empty when there is none.
  std::vector<Problem> check() const;
  /// Class names in label order. Reads the listing on first use.
  Result<std::vector<std::string>> classes(std::stop_token stop = {}) const;
  /// One line per operator.
  std::string to_string() const;
  Result<std::string> to_json() const;
  static Result<Pipeline> from_json(std::string_view text);

  const Description& description() const { return *description_; }

 private:
  std::shared_ptr<const Description> description_;
};

/// Sources.
Pipeline images(std::string root, ImagesOptions options = {});
/// A pattern with `*`, `?`, `[a-z]`, `**`, `{a,b}`, `{000..099}`; or files by name, in the order given.
Pipeline files(std::string pattern, FilesOptions options = {});
Pipeline files(std::vector<std::string> names);
Pipeline manifest(std::string url, ManifestOptions options = {});
/// A broker's log, a source without an end: redis://, nats:// or kafka://. See docs/streams.md.
Pipeline stream(std::string url, LogOptions options = {});
/// Lines of text files (field `text`, `key`), or whole files: a pattern, a folder, a file, or files by name. The id counts lines over all files in byte
/// order of their keys.
Pipeline text(std::string pattern, TextOptions options = {});
Pipeline text(std::vector<std::string> names, TextOptions options = {});
/// Records of JSON, one a line: a field for each member, those of objects by dotted names. Types: bool, int64, uint64, float64, text, json (the text of
/// any value), and lists bool[], int64[], float64[], text[].
Pipeline jsonl(std::string pattern, JsonlOptions options = {});
Pipeline jsonl(std::vector<std::string> names, JsonlOptions options = {});
Pipeline arrays(std::map<std::string, Array> fields);
/// Tar shards: a pattern, a folder or a file, or files by name. Files that follow each other and have one base name (up to the first dot,
/// or the last one: WebdatasetOptions::split) are a sample, links stand for the files that they lead to, extensions are its fields: txt and json text, cls and id int64, all others bytes. `key` is the base name. The id is the
/// number of the sample over all shards in byte order of their keys.
Pipeline webdataset(std::string pattern, WebdatasetOptions options = {});
Pipeline webdataset(std::vector<std::string> names, WebdatasetOptions options = {});
/// What materialize() wrote to that folder: ids, order and fingerprint are those of the pipeline that it was made of.
Pipeline materialized(std::string url, MaterializedOptions options = {});
/// Parquet files, and Arrow files ("Feather 2"): a pattern, a folder or a file, or files by name. One field per column, those of structs by
/// dotted names; folders called name=value are columns too. The id is the number of the row over all files in byte order of their
/// keys, whatever the filter.
Pipeline parquet(std::string pattern, TableOptions options = {});
Pipeline parquet(std::vector<std::string> names, TableOptions options = {});
Pipeline arrow(std::string pattern, TableOptions options = {});
Pipeline arrow(std::vector<std::string> names, TableOptions options = {});
/// HDF5 files: a pattern, a folder or a file, or files by name. A sample is a row of the data sets (their first axis), or a window of rows,
/// which lies within one file. The id is the number of the row or window over all files in byte order of their keys.
Pipeline hdf5(std::string pattern, Hdf5Options options);
Pipeline hdf5(std::vector<std::string> names, Hdf5Options options);
/// Tables in memory, one after the other: each an `ArrowArrayStream*` of the Arrow C data interface, which is read to its end and
/// released here. The memory of its batches is shared.
Result<Pipeline> arrow_streams(std::span<void* const> streams, TableOptions options = {});

}  // namespace forebay
