#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/chunk_source.h"
#include "format/lines/line_table.h"

namespace forebay {

/// One line that counts as a row, without its end ("\n" or "\r\n") and without a byte-order mark.
struct RowLine {
  int64_t row = 0;  ///< number in its chunk
  /// Number in its file for messages, from 1; for JSON values the number of the record.
  int64_t line = 0;
  std::span<const uint8_t> bytes;
  bool whole = true;  ///< false if the line exceeds kMostLineBytes; these are then its first bytes
};

/// Converts the lines of a chunk to columns. Immutable; any thread may use it.
class LineReader {
 public:
  virtual ~LineReader() = default;
  virtual const Schema& schema() const = 0;
  /// A reader of the fields at these indices, in this order.
  virtual std::shared_ptr<const LineReader> with_fields(std::span<const size_t> fields) const = 0;
  /// A text that differs between any two readers that make different values of the same bytes,
  /// regardless of their fields.
  virtual std::string identity() const = 0;
  virtual uint64_t decoded_bytes(const LineSlice& slice, const std::string& file) const = 0;
  /// Memory that decoding needs in addition to decoded_bytes().
  virtual uint64_t working_bytes(const LineSlice&) const { return 0; }
  /// Converts one chunk, of `rows` rows and `bytes` bytes in all. One thread.
  class Run {
   public:
    virtual ~Run() = default;
    /// Adds the next row. An error makes this row bad.
    virtual Status add(const RowLine& line) = 0;
    /// Adds a bad row, whose values have no meaning.
    virtual void add_bad_row() = 0;
    virtual Result<std::vector<ColumnValues>> finish() = 0;
  };
  virtual std::unique_ptr<Run> begin(int64_t rows, uint64_t bytes, const std::string& file) const = 0;
};

/// Lines of text files, or the values of JSON files that are not one record per line (see
/// TextForm). A chunk is a slice of consecutive rows of about a MiB, read by one request. Ids
/// number the rows of all files in byte order of their keys. A line that cannot be parsed is a bad
/// row whose error names file and line. Immutable.
class LineSource final : public ChunkSource {
 public:
  LineSource(std::shared_ptr<const LineTable> table, std::shared_ptr<const LineReader> reader);

  const Schema& schema() const override { return reader_->schema(); }
  int64_t size() const override { return table_->begins.back(); }
  Hash128 version() const override;
  uint64_t index_bytes() const override { return table_->index_bytes(); }
  /// "novels/emma.txt line 17", or "…record 17" if blank lines may precede the row.
  std::string key(int64_t id) const override;
  int64_t chunks() const override { return static_cast<int64_t>(table_->chunks.size()); }
  int64_t chunk_begin(int64_t chunk) const override { return table_->begins[static_cast<size_t>(chunk)]; }
  /// Such as "novels/emma.txt, lines from 17".
  std::string chunk_name(int64_t chunk) const override;
  ChunkCost chunk_cost(int64_t chunk) const override;
  ChunkFetch chunk_fetch(int64_t chunk) const override;
  Result<Columns> decode(int64_t chunk, std::vector<Buffer> fetched, WorkMemory& memory) const override;
  std::optional<Hash128> chunk_identity(int64_t chunk) const override;
  Result<std::shared_ptr<const ChunkSource>> with_fields(std::span<const std::string> names) const override;

 private:
  /// The slice, with its size enlarged to the maximum of its text in UTF-8.
  LineSlice text_slice(int64_t chunk) const;
  const LineSlice& slice(int64_t chunk) const { return table_->chunks[static_cast<size_t>(chunk)].slice; }

  const std::shared_ptr<const LineTable> table_;
  const std::shared_ptr<const LineReader> reader_;
};

/// Calls `visit` with each row of a slice as UTF-8, in order. Returns the number of rows.
int64_t for_each_row(const LineSlice& slice, std::span<const uint8_t> bytes, const TextForm& form, LineRows rows,
                     const std::function<void(const RowLine&)>& visit);

}  // namespace forebay
