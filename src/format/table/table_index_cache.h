#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/table_codec.h"
#include "format/table/stored_index.h"

namespace forebay {

/// Properties that files of the same schema share.
struct TableShape {
  Schema schema;
  std::vector<std::pair<std::string, std::string>> unmapped;
  std::vector<std::optional<TableFile::TimeType>> times;
  std::vector<Status> statuses;  ///< TableFile::field_status()
  std::vector<bool> masks;       ///< TableFile::is_mask()
  std::vector<TableFile::Origin> origins;
};

/// Cache of the opened indices of a table's files. The most recently used ones stay open, within a
/// budget in bytes. The others are opened again from their stored bytes. Any thread may use it.
class TableIndexCache {
 public:
  using Open = std::shared_ptr<const TableFile>;
  static constexpr uint64_t kOpenBytes = uint64_t{64} << 20;

  TableIndexCache(const TableCodec& codec, TableReading reading, uint64_t open_bytes = kOpenBytes)
      : codec_(codec), reading_(std::move(reading)), budget_bytes_(open_bytes) {}

  /// A cache for files that are read with other column types; there is one for each set of types.
  /// Its open indices have a budget of their own.
  std::shared_ptr<TableIndexCache> with_types(const TableReading& reading);
  Result<Open> open(const StoredIndex& index) const { return index.open(codec_, reading_); }

  Result<Open> get(const std::shared_ptr<const StoredIndex>& index) const;
  /// Adds an index that has just been opened.
  void put(const StoredIndex* index, Open open) const;
  /// Returns the same object for all files with the same fields.
  std::shared_ptr<const TableShape> shape_of(const TableFile& file);
  uint64_t open_bytes() const;

 private:
  struct OpenIndex {
    const StoredIndex* index;
    Open open;
    uint64_t bytes;
  };
  const TableCodec& codec_;
  const TableReading reading_;
  const uint64_t budget_bytes_;
  mutable Mutex mutex_;
  mutable std::list<OpenIndex> open_ FOREBAY_GUARDED_BY(mutex_);  ///< most recently used first
  mutable std::map<const StoredIndex*, std::list<OpenIndex>::iterator> entries_ FOREBAY_GUARDED_BY(mutex_);
  mutable uint64_t bytes_ FOREBAY_GUARDED_BY(mutex_) = 0;
  std::map<std::string, std::shared_ptr<const TableShape>> shapes_ FOREBAY_GUARDED_BY(mutex_);
  /// By column_types_text().
  std::map<std::string, std::shared_ptr<TableIndexCache>> by_types_ FOREBAY_GUARDED_BY(mutex_);
};

/// Wraps a file so that its opened index may be dropped from memory. The data that plans need, and
/// the bounds of the fields `bounded`, stay in memory; everything else opens the index through
/// `cache`.
std::shared_ptr<const TableFile> with_cached_index(std::shared_ptr<TableIndexCache> cache,
                                                   std::shared_ptr<const StoredIndex> index,
                                                   std::shared_ptr<const TableFile> open,
                                                   std::span<const std::string> bounded);

}  // namespace forebay
