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

/// Names of files below the folder of materialized data. Table readers skip names that begin with
/// '_'.
inline constexpr std::string_view kManifestName = "_manifest.json";
inline constexpr std::string_view kUnfinishedFolder = "_unfinished";
/// The file format of samples and tables.
///
/// | format  | samples                                               | tables          |
/// |---------|-------------------------------------------------------|-----------------|
/// | arrow   | Arrow IPC                                             | Arrow IPC       |
/// | parquet |                                                       | Apache Parquet  |
/// | wds     | tar, pixels as PNG: nothing is lost                   |                 |
/// | jpeg    | tar, pictures as JPEG: lossy, so another data set     |                 |
enum class StoredFormat : uint8_t { kArrow, kParquet, kWds, kJpeg };
std::string_view name_of(StoredFormat format);
std::optional<StoredFormat> stored_format(std::string_view name);

/// The file of a shard: "part-00017.arrow" (or .parquet, .tar). Its index is an Arrow file of that
/// name below "_index/".
std::string shard_file(int64_t number, StoredFormat format = StoredFormat::kArrow);
std::string index_file(int64_t number);
/// The file with the identities of a shard's samples, used only to update materialized data. No
/// checksum covers it.
std::string identities_file(int64_t number);

/// A field of materialized data, as operators after the cut see it.
struct StoredField {
  Field field;
  /// For samples: small fields, or lists of strings, that readers hold in memory.
  bool in_index = false;
  bool encoded = false;  ///< pixels stored as PNG or JPEG
};

/// The entry of a shard: its rows, and the sizes and checksums of its files.
struct StoredShard {
  int64_t rows = 0;
  uint64_t bytes = 0, index_bytes = 0;  ///< sizes of its files
  Hash128 checksum, index_checksum;     ///< checksums of its files
  friend bool operator==(const StoredShard&, const StoredShard&) = default;
};

/// Describes materialized data and the pipeline that made it. It is written last, so all files are
/// complete if it exists.
struct MaterializedManifest {
  enum class Layout : uint8_t {
    kSamples,  ///< each sample can be read alone; shards have indices
    kChunks,   ///< record batches are chunks of the original, read as a whole
  };
  Layout layout = Layout::kSamples;
  int64_t size = 0;  ///< number of samples
  StoredFormat format = StoredFormat::kArrow;
  std::string compression;
  /// Settings of pictures that are encoded as JPEG: the quality from 1 to 100, and the longest side
  /// allowed; 0 for no limit.
  int quality = 0;
  int64_t limit = 0;
  /// For "jpeg": the JPEGs only received restart markers. Their pixels are unchanged, so nothing is
  /// lost.
  bool restart_markers = false;
  /// The pipeline that was run, as JSON: all steps before the cut, the source first. The
  /// fingerprint of the pipeline after the cut includes it.
  std::string steps;
  /// Index in `steps` at which the order belongs; nullopt if it comes after the cut or there is
  /// none.
  std::optional<size_t> order_at;
  /// Source::steps_before(): `steps` and `order_at` as one text. It also includes any loss, so that
  /// lossy data is never taken for the original.
  std::string steps_before() const;
  Hash128 version;  ///< Source::version() of the original
  /// Source::version(): the version of the original, unless something was lost.
  Hash128 data_version() const;
  bool lossy() const { return format == StoredFormat::kJpeg && !restart_markers; }
  Hash128 place;  ///< identifies the output of the steps, independent of the sample
  std::vector<StoredField> fields;
  /// Folder of the files relative to the manifest's, ending in '/', for data that was updated in a
  /// bucket. Otherwise empty.
  std::string below;
  std::vector<StoredShard> shards;

  /// Equal manifests give equal texts.
  std::string to_json() const;
  /// Parses a manifest. Corrupt if the text is malformed or inconsistent, Unsupported for another
  /// format version. The manifest of unfinished data has no shards yet.
  static Result<MaterializedManifest> from_json(std::string_view text);
};

/// The folder of new files when `wanted` (without shards) replaces an older manifest.
std::string update_below(const MaterializedManifest& wanted);

/// The entry of a single shard, saved when the shard is done but others are not.
std::string to_json(const StoredShard& shard);
Result<StoredShard> shard_from_json(std::string_view text);

}  // namespace forebay
