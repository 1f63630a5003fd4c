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

#include "base/buffer_chain.h"
#include "base/chunk_source.h"
#include "base/column_type.h"
#include "base/columns.h"
#include "base/kept_bytes.h"
#include "base/take_memory.h"
#include "forebay/result.h"
#include "forebay/status.h"

namespace forebay {

/// What becomes of a null.
struct NullPolicy {
  enum class Kind : uint8_t {
    kError,  ///< its row is bad: Columns::bad_rows
    kValue,  ///< `value`, or the column's own in `by_column`, stands there
    kMask,   ///< zero or an empty string stands there, and a bool field `<name>_valid` comes with the column
  };
  using Value = std::variant<std::monostate, bool, int64_t, double, std::string>;
  Kind kind = Kind::kError;
  Value value;
  std::vector<std::pair<std::string, Value>> by_column;  ///< of columns, and of the columns in a struct by its name
  std::vector<std::string> masked = {};                  ///< columns and structs that have masks whatever `kind` is
  /// What the mask of a column is called behind its name (and of elements, behind `_items`).
  std::string mask_ending = std::string(kMaskEnding);

  static constexpr std::string_view kMaskEnding = "_valid";
};

/// How a table is read. Columns that it names need not exist in each file.
struct TableReading {
  NullPolicy nulls;
  ColumnTypes types;  ///< of columns that are read as another type than the file's

  TableReading(NullPolicy policy = {}, ColumnTypes wanted = {})  // NOLINT(google-explicit-constructor)
      : nulls(std::move(policy)), types(std::move(wanted)) {}
};

/// What a file's statistics say about one field of one group. Absent members are not known. NaN is outside of any bounds, so a
/// filter that NaN can pass (`!=`) must not go by those of floats.
struct FieldBounds {
  using Bound = std::variant<std::monostate, int64_t, uint64_t, double, std::string>;
  Bound min, max;  ///< bounds, not necessarily values that occur
  std::optional<int64_t> nulls;
};

/// One table whose index has been read: groups of rows and how each is decoded. Immutable; used by many threads.
class TableFile {
 public:
  virtual ~TableFile() = default;
  /// Every field the table gives.
  virtual const Schema& schema() const = 0;
  /// Columns of the file that are no field, and why: "of type union, which has no place in a batch". Naming one is Unsupported,
  /// but where a field has the same name: a member of a struct beside a column of that whole name.
  virtual std::vector<std::pair<std::string, std::string>> unmapped() const { return {}; }
  /// Why a field cannot be given under the reading of open(): InvalidArgument where the value for nulls does not fit it, or where the
  /// column cannot be read as the type that is wanted.
  virtual Status field_status(size_t /*field*/) const { return {}; }
  virtual int64_t groups() const = 0;
  virtual int64_t rows(int64_t group) const = 0;
  /// Byte ranges of the file that decode() needs for these fields (indices into schema()), ascending, apart, not yet joined.
  /// None for tables in memory.
  virtual std::vector<ByteRange> ranges(int64_t group, std::span<const size_t> fields) const = 0;
  virtual ChunkCost cost(int64_t group, std::span<const size_t> fields) const = 0;
  virtual FieldBounds bounds(int64_t group, size_t field) const = 0;

  /// Stored bytes from `offset` of the file on.
  struct Piece {
    uint64_t offset = 0;
    Buffer bytes;
  };
  /// `pieces` cover ranges(group, fields), in any division.
  virtual Result<Columns> decode(int64_t group, std::span<const size_t> fields, std::span<const Piece> pieces,
                                 WorkMemory& memory) const = 0;

  /// The same file under another reading, without reading its index again. Null where the format cannot do that.
  virtual Result<std::shared_ptr<const TableFile>> with_reading(const TableReading& /*reading*/) const {
    return std::shared_ptr<const TableFile>();
  }

  /// Memory that this object holds; an estimate.
  virtual uint64_t index_bytes() const { return 0; }
  using TimeType = forebay::TimeType;
  virtual std::optional<TimeType> time_type(size_t /*field*/) const { return {}; }
  /// Where a field comes from.
  struct Origin {
    size_t values = 0;                 ///< the field with the column's values: of masks and lengths another one
    std::vector<std::string> structs;  ///< names of the structs (and maps) around the column, the innermost last
    /// The file says no more of the column than that all its values are null (Arrow's null type).
    bool untyped = false;
    bool in_lists = false;  ///< a list is on the way from the row to the values
  };
  virtual Origin origin(size_t field) const { return {field, {}, false, false}; }
  /// Whether a field is a mask that NullPolicy::kMask made. A column of the file is none, whatever its name.
  virtual bool is_mask(size_t /*field*/) const { return false; }
};

/// One format of tables. Knows no files and no threads.
class TableCodec {
 public:
  virtual ~TableCodec() = default;
  /// How many bytes at the end of a file open() wants, told from its last bytes (at least 16, or all of it). Corrupt where they
  /// are not the end of such a file.
  virtual Result<uint64_t> index_bytes(std::span<const uint8_t> tail, uint64_t file_size) const = 0;
  /// What open() wants besides those bytes and `have`, ascending and apart. Asked again with all that came, until nothing is
  /// wanted. (Arrow files say only at the head of each batch how many rows are in it; Arrow streams also where the next one is.)
  /// `tail`: the bytes that index_bytes() asked for.
  virtual Result<std::vector<ByteRange>> index_ranges(std::span<const uint8_t> /*tail*/, uint64_t /*file_size*/,
                                                      std::span<const TableFile::Piece> /*have*/) const {
    return std::vector<ByteRange>();
  }
  /// `tail`: those bytes; `more`: the bytes of index_ranges(), in any division. Checks every count and offset in them against
  /// `file_size`.
  virtual Result<std::shared_ptr<const TableFile>> open(Buffer tail, uint64_t file_size, const TableReading& reading,
                                                        std::span<const TableFile::Piece> more = {}) const = 0;
};

/// A file of a table that was written.
struct WrittenTable {
  BufferChain bytes;  ///< large columns are where they were: they must not change meanwhile
  /// Batch by batch and column by column: where in the file the values lie (of lists those of all rows, of strings their bytes).
  std::vector<std::vector<ByteRange>> values;
};

/// What the module with Arrow in it offers; it is loaded when the first table is opened.
class TableCodecs {
 public:
  virtual ~TableCodecs() = default;
  virtual const TableCodec& parquet() const = 0;
  /// Arrow IPC files ("Feather 2").
  virtual const TableCodec& arrow_file() const = 0;
  /// Reads a stream of the Arrow C data interface (an ArrowArrayStream, which is taken over) to its end; each of its batches
  /// becomes a group (large ones several). `stream` is an `ArrowArrayStream*`.
  virtual Result<std::shared_ptr<const TableFile>> take_stream(void* stream, const TableReading& reading) const = 0;
  /// Columns of one schema as a file of record batches. `compression`: "", "lz4" or "zstd". Equal columns give equal bytes. InvalidArgument, naming
  /// the column, for text that is not UTF-8. `memory`: of what is not there already.
  virtual Result<WrittenTable> write_arrow_file(std::span<const Columns> batches, const std::string& compression,
                                                const TakeMemory& memory) const = 0;
  Result<WrittenTable> write_arrow_file(std::span<const Columns> batches, const std::string& compression) const {
    return write_arrow_file(batches, compression, {});
  }
  /// Columns of one schema as a Parquet file, a row group each. As write_arrow_file().
  virtual Result<Buffer> write_parquet_file(std::span<const Columns> groups, const std::string& compression) const = 0;
  /// "arrow 26.0.1": part of the identity of what is cached.
  virtual std::string version() const = 0;
  /// Memory of columns that nobody holds any more, which is kept for the next ones, up to 32 MiB. Lives as long as the process.
  virtual KeptBytes& idle_memory() const = 0;
};

}  // namespace forebay
