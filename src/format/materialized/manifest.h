#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/schema.h"
#include "forebay/result.h"

namespace forebay {

/// Where things lie below the folder of materialised data. Names that begin with '_' are left out by whoever reads it as a table.
inline constexpr std::string_view kManifestName = "_manifest.json";
inline constexpr std::string_view kUnfinishedFolder = "_unfinished";
/// In what files samples are written.
///
/// | format  | samples                                               | tables          |
/// |---------|-------------------------------------------------------|-----------------|
/// | arrow   | Arrow IPC                                             | Arrow IPC       |
/// | parquet |                                                       | Apache Parquet  |
/// | wds     | tar, pixels as PNG: nothing is lost                   |                 |
/// | jpeg    | tar, pictures as JPEG: another data set than that one |                 |
enum class StoredFormat : uint8_t { kArrow, kParquet, kWds, kJpeg };
std::string_view name_of(StoredFormat format);
std::optional<StoredFormat> stored_format(std::string_view name);

/// "part-00017.arrow" (or .parquet, .tar), and an Arrow file of that name below "_index/".
std::string shard_file(int64_t number, StoredFormat format = StoredFormat::kArrow);
std::string index_file(int64_t number);
/// What its samples were made of, for whoever brings them up to date: nobody else needs it, and no checksum knows it.
std::string identities_file(int64_t number);

/// A field of what was materialised, as operators behind the cut see it.
struct StoredField {
  Field field;
  bool in_index = false;  ///< of samples: small, or lists of strings, so that readers have it in memory
  bool encoded = false;   ///< pixels, stored as PNG or JPEG
};

struct StoredShard {
  int64_t rows = 0;
  uint64_t bytes = 0, index_bytes = 0;  ///< of its files
  Hash128 checksum, index_checksum;     ///< of the same
  friend bool operator==(const StoredShard&, const StoredShard&) = default;
};

/// What materialised data is, and what it was made of. Written last, so whoever finds it finds everything.
struct MaterializedManifest {
  enum class Layout : uint8_t {
    kSamples,  ///< each sample can be read by itself; shards have indices
    kChunks,   ///< record batches are the chunks of the original, read as a whole
  };
  Layout layout = Layout::kSamples;
  int64_t size = 0;  ///< samples
  StoredFormat format = StoredFormat::kArrow;
  std::string compression;
  /// Of pictures, where they are made JPEGs: 1 to 100, and the longest side that is kept; 0: any.
  int quality = 0;
  int64_t limit = 0;
  /// Of "jpeg": JPEGs only got restart markers; pixels are the same, and nothing is lost.
  bool restart_markers = false;
  /// Of the pipeline that was run, as JSON: all steps before the cut, the source first. What the pipeline behind the cut is told apart by.
  std::string steps;
  /// Where in `steps` the order would stand; nothing where it comes behind the cut, or nowhere.
  std::optional<size_t> order_at;
  /// Source::steps_before(): both, as one text; and what was lost, so that nobody takes it for the original.
  std::string steps_before() const;
  Hash128 version;  ///< Source::version() of the original
  /// Source::version(): that of the original, unless something was lost.
  Hash128 data_version() const;
  bool lossy() const { return format == StoredFormat::kJpeg && !restart_markers; }
  Hash128 place;  ///< what identifies what leaves the steps, whatever the sample
  std::vector<StoredField> fields;
  /// The folder below the manifest's that its files are in, with '/' at its end: of a bucket that was brought up to date. Else empty.
  std::string below;
  std::vector<StoredShard> shards;

  /// Equal ones are equal texts.
  std::string to_json() const;
  /// Corrupt where it is not such a text, or contradicts itself; Unsupported for one of another format. One of what was begun has no shards yet.
  static Result<MaterializedManifest> from_json(std::string_view text);
};

/// The folder for the files of what makes this manifest of an older one; of `wanted` without shards.
std::string update_below(const MaterializedManifest& wanted);

/// A shard's entry by itself, for those that are done before all are.
std::string to_json(const StoredShard& shard);
Result<StoredShard> shard_from_json(std::string_view text);

}  // namespace forebay
