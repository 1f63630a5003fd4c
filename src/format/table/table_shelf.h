#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/table_codec.h"

namespace forebay {

/// The bytes of a file's index, compressed: a twentieth or less of what it is once it is opened.
class StoredIndex {
 public:
  StoredIndex(const Buffer& tail, std::span<const TableFile::Piece> more, uint64_t file_size);

  Result<std::shared_ptr<const TableFile>> open(const TableCodec& codec, const TableReading& reading) const;
  uint64_t bytes() const { return packed_.capacity() + places_.capacity() * sizeof(ByteRange); }

 private:
  std::string packed_;
  uint64_t tail_bytes_, all_bytes_, file_size_;
  std::vector<ByteRange> places_;  ///< of the pieces in the file; they stand behind the tail
};

/// What files of one kind have in common.
struct TableShape {
  Schema schema;
  std::vector<std::pair<std::string, std::string>> unmapped;
  std::vector<std::optional<TableFile::TimeType>> times;
  std::vector<Status> statuses;  ///< TableFile::field_status()
  std::vector<bool> masks;       ///< TableFile::is_mask()
  std::vector<TableFile::Origin> origins;
};

/// The indices of a table's files. Those that were used last stay open, up to a budget; the others are opened again from their stored
/// bytes. From any thread.
class TableShelf {
 public:
  using Open = std::shared_ptr<const TableFile>;
  static constexpr uint64_t kOpenBytes = uint64_t{64} << 20;

  TableShelf(const TableCodec& codec, TableReading reading, uint64_t open_bytes = kOpenBytes)
      : codec_(codec), reading_(std::move(reading)), budget_bytes_(open_bytes) {}

  /// A shelf for files that are read as other types: one for all of the same types. Its open indices have a budget of their own.
  std::shared_ptr<TableShelf> with_types(const TableReading& reading);
  Result<Open> open(const StoredIndex& index) const { return index.open(codec_, reading_); }

  Result<Open> get(const std::shared_ptr<const StoredIndex>& index) const;
  /// One that has just been opened.
  void put(const StoredIndex* index, Open open) const;
  /// The same object for all files of the same fields.
  std::shared_ptr<const TableShape> shape_of(const TableFile& file);
  uint64_t open_bytes() const;

 private:
  struct Kept {
    const StoredIndex* index;
    Open open;
    uint64_t bytes;
  };
  const TableCodec& codec_;
  const TableReading reading_;
  const uint64_t budget_bytes_;
  mutable std::mutex mutex_;
  mutable std::list<Kept> kept_;  ///< used last first
  mutable std::map<const StoredIndex*, std::list<Kept>::iterator> places_;
  mutable uint64_t bytes_ = 0;
  std::map<std::string, std::shared_ptr<const TableShape>> shapes_;
  std::map<std::string, std::shared_ptr<TableShelf>> others_;  ///< by column_types_text()
};

/// A file on the shelf: what plans are made of is at hand, all else opens its index. `bounded`: fields whose bounds are at hand, too.
std::shared_ptr<const TableFile> put_on_shelf(std::shared_ptr<TableShelf> shelf,
                                              std::shared_ptr<const StoredIndex> index,
                                              std::shared_ptr<const TableFile> open,
                                              std::span<const std::string> bounded);

}  // namespace forebay
