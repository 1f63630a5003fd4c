#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/buffer_allocator.h"
#include "base/buffer_chain.h"
#include "base/chunk_source.h"
#include "base/column_type.h"
#include "base/columns.h"
#include "base/reclaimable_memory.h"
#include "forebay/result.h"
#include "forebay/status.h"

namespace forebay {

/// How nulls of a table are read.
struct NullPolicy {
  enum class Kind : uint8_t {
    kError,  ///< the row is bad and is listed in Columns::bad_rows
    /// The null is replaced by `value`, or by the column's own value in `by_column`.
    kValue,
    /// The null is replaced by zero or an empty string. A bool field `<name>_valid` is added beside
    /// the column.
    kMask,
  };
  using Value = std::variant<std::monostate, bool, int64_t, double, std::string>;
  Kind kind = Kind::kError;
  Value value;
  /// Values by the name of a column, or by the name of a struct for all columns in it.
  std::vector<std::pair<std::string, Value>> by_column;
  /// Columns and structs that get masks whatever `kind` is.
  std::vector<std::string> masked = {};
  /// Suffix of a mask's name: the mask of column `a` is called `a_valid`, and the mask of its
  /// elements `a_items_valid`.
  std::string mask_ending = std::string(kMaskEnding);

  static constexpr std::string_view kMaskEnding = "_valid";
};

/// How a table is read. A column named here need not exist in every file.
struct TableReading {
  NullPolicy nulls;
  ColumnTypes types;  ///< columns that are read as another type than the file's

  TableReading(NullPolicy policy = {}, ColumnTypes wanted = {})  // NOLINT(google-explicit-constructor)
      : nulls(std::move(policy)), types(std::move(wanted)) {}
};

/// Statistics that a file stores about one field of one group. Absent members are unknown. NaN lies
/// outside of any bounds, so a filter that NaN can pass (`!=`) must not use the bounds of a float
/// field.
struct FieldBounds {
  using Bound = std::variant<std::monostate, int64_t, uint64_t, double, std::string>;
  Bound min, max;  ///< bounds, not necessarily values that occur
  std::optional<int64_t> nulls;
};

/// One table whose index has been read: its groups of rows, and how each group is decoded.
/// Immutable; every method may be called from any thread.
class TableFile {
 public:
  virtual ~TableFile() = default;
  /// Every field that the table has.
  virtual const Schema& schema() const = 0;
  /// Columns of the file that are not fields, each with the reason: "of type union, which has no
  /// place in a batch". A request for such a column is Unsupported, unless a field has the same
  /// name. (A member of a struct can have the name of a whole column.)
  virtual std::vector<std::pair<std::string, std::string>> unmapped() const { return {}; }
  /// Tells whether the field can be read as open() was asked to. InvalidArgument if the value for
  /// nulls does not fit the column, or if the column cannot be read as the requested type.
  virtual Status field_status(size_t /*field*/) const { return {}; }
  virtual int64_t groups() const = 0;
  virtual int64_t rows(int64_t group) const = 0;
  /// Byte ranges of the file that decode() needs for these fields (indices into schema()),
  /// ascending and disjoint. Adjacent ranges are not merged. Empty for tables in memory.
  virtual std::vector<ByteRange> ranges(int64_t group, std::span<const size_t> fields) const = 0;
  virtual ChunkCost cost(int64_t group, std::span<const size_t> fields) const = 0;
  virtual FieldBounds bounds(int64_t group, size_t field) const = 0;

  /// Bytes of the file that begin at `offset`.
  struct Piece {
    uint64_t offset = 0;
    Buffer bytes;
  };
  /// Decodes one group. `pieces` must cover ranges(group, fields); they may be divided in any way.
  virtual Result<Columns> decode(int64_t group, std::span<const size_t> fields, std::span<const Piece> pieces,
                                 WorkMemory& memory) const = 0;

  /// The same file with other options, without reading its index again. Null if the format does not
  /// support that.
  virtual Result<std::shared_ptr<const TableFile>> with_reading(const TableReading& /*reading*/) const {
    return std::shared_ptr<const TableFile>();
  }

  /// Estimated memory of this object in bytes.
  virtual uint64_t index_bytes() const { return 0; }
  using TimeType = forebay::TimeType;
  virtual std::optional<TimeType> time_type(size_t /*field*/) const { return {}; }
  /// The column that a field is computed from.
  struct Origin {
    /// The field with the column's values; another field for masks and lengths.
    size_t values = 0;
    std::vector<std::string> structs;  ///< enclosing structs and maps, the innermost last
    /// The file gives no type for the column (Arrow's null type): all its values are null.
    bool untyped = false;
    bool in_lists = false;  ///< a list lies between the row and the values
  };
  virtual Origin origin(size_t field) const { return {field, {}, false, false}; }
  /// Whether the field is a mask that NullPolicy::kMask added. A column of the file never is one,
  /// whatever its name.
  virtual bool is_mask(size_t /*field*/) const { return false; }
};

/// One file format of tables. It opens no files and starts no threads: the caller reads the bytes.
class TableCodec {
 public:
  virtual ~TableCodec() = default;
  /// Number of bytes at the end of the file that open() needs. `tail` holds the last bytes of the
  /// file, at least 16 of them or the whole file. Corrupt if the file does not end as this format
  /// does.
  virtual Result<uint64_t> index_tail_bytes(std::span<const uint8_t> tail, uint64_t file_size) const = 0;
  /// Further byte ranges that open() needs, beyond `tail` and `have`, ascending and disjoint. The
  /// caller reads them and asks again, with everything it has read, until the list is empty. (An
  /// Arrow file gives the number of rows of a batch at the head of that batch only. An Arrow stream
  /// also gives the position of the next batch there.) `tail` holds the bytes that
  /// index_tail_bytes() asked for.
  virtual Result<std::vector<ByteRange>> index_ranges(std::span<const uint8_t> /*tail*/, uint64_t /*file_size*/,
                                                      std::span<const TableFile::Piece> /*have*/) const {
    return std::vector<ByteRange>();
  }
  /// Opens a file. `tail` is as above, and `more` holds the bytes of index_ranges() in any
  /// division. Every count and offset in them is checked against `file_size`.
  virtual Result<std::shared_ptr<const TableFile>> open(Buffer tail, uint64_t file_size, const TableReading& reading,
                                                        std::span<const TableFile::Piece> more = {}) const = 0;
};

/// A table that was written to memory as a file.
struct WrittenTable {
  /// Large columns are not copied: their memory must not change while this object is used.
  BufferChain bytes;
  /// Position of the values in the file, by batch and column. For lists it covers the values of all
  /// rows, for strings their bytes.
  std::vector<std::vector<ByteRange>> values;
};

/// Interface of the module that contains Arrow. The module is loaded when the first table is
/// opened.
class TableCodecs {
 public:
  virtual ~TableCodecs() = default;
  virtual const TableCodec& parquet() const = 0;
  /// Arrow IPC files ("Feather 2").
  virtual const TableCodec& arrow_file() const = 0;
  /// Reads an ArrowArrayStream of the Arrow C data interface to its end and takes ownership of it.
  /// Each of its batches becomes a group; large batches become several. `stream` is an
  /// `ArrowArrayStream*`.
  virtual Result<std::shared_ptr<const TableFile>> take_stream(void* stream, const TableReading& reading) const = 0;
  /// Writes columns of one schema as a file of record batches. `compression` is "", "lz4" or
  /// "zstd". Equal columns give equal bytes. InvalidArgument, naming the column, for text that is
  /// not UTF-8. `memory` provides the memory of all parts that are not in `batches` already.
  virtual Result<WrittenTable> write_arrow_file(std::span<const Columns> batches, const std::string& compression,
                                                const BufferAllocator& memory) const = 0;
  Result<WrittenTable> write_arrow_file(std::span<const Columns> batches, const std::string& compression) const {
    return write_arrow_file(batches, compression, {});
  }
  /// Writes columns of one schema as a Parquet file, one row group for each element of `groups`. In
  /// all else it is like write_arrow_file().
  virtual Result<Buffer> write_parquet_file(std::span<const Columns> groups, const std::string& compression) const = 0;
  /// Version of the Arrow library, "arrow 26.0.1". It is part of the identity of cached results.
  virtual std::string version() const = 0;
  /// Memory of columns that are no longer used, up to 32 MiB, retained for the next columns. Valid
  /// for the lifetime of the process.
  virtual ReclaimableMemory& idle_memory() const = 0;
};

}  // namespace forebay
