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

/// One line that is a row, without its end ("\n" or "\r\n") and without a byte order mark.
struct RowLine {
  int64_t row = 0;   ///< in its chunk
  int64_t line = 0;  ///< in its file, from 1: what messages say; of values the record
  std::span<const uint8_t> bytes;
  bool whole = true;  ///< else longer than kMostLineBytes, and these are its first bytes
};

/// What makes columns of the lines of a chunk. Immutable; any thread.
class LineReader {
 public:
  virtual ~LineReader() = default;
  virtual const Schema& schema() const = 0;
  /// The fields at these places, in this order.
  virtual std::shared_ptr<const LineReader> with_fields(std::span<const size_t> fields) const = 0;
  /// Tells it from all readers that make other values of the same bytes, whatever their fields.
  virtual std::string identity() const = 0;
  virtual uint64_t decoded_bytes(const LineSlice& slice, const std::string& file) const = 0;
  /// That decoding takes besides.
  virtual uint64_t working_bytes(const LineSlice&) const { return 0; }
  /// Starts on a chunk of `rows` rows that take `bytes` bytes in all.
  class Run {
   public:
    virtual ~Run() = default;
    /// In order of the rows. What is wrong makes this row bad.
    virtual Status add(const RowLine& line) = 0;
    /// A bad row: values that mean nothing.
    virtual void add_nothing() = 0;
    virtual Result<std::vector<ColumnValues>> finish() = 0;
  };
  virtual std::unique_ptr<Run> begin(int64_t rows, uint64_t bytes, const std::string& file) const = 0;
};

/// Lines of text files, or the values of files of JSON that is not lines (see TextForm). A chunk is a slice of consecutive rows of about a MiB, read by one request; ids count the rows of all files in byte order
/// of their keys. A line that is no row of its kind is bad in itself, and its error names file and line.
class LineSource final : public ChunkSource {
 public:
  LineSource(std::shared_ptr<const LineTable> table, std::shared_ptr<const LineReader> reader);

  const Schema& schema() const override { return reader_->schema(); }
  int64_t size() const override { return table_->begins.back(); }
  Hash128 version() const override;
  uint64_t index_bytes() const override { return table_->index_bytes(); }
  /// "novels/emma.txt line 17"; "…record 17" where blank lines may stand before it.
  std::string key(int64_t id) const override;
  int64_t chunks() const override { return static_cast<int64_t>(table_->chunks.size()); }
  int64_t chunk_begin(int64_t chunk) const override { return table_->begins[static_cast<size_t>(chunk)]; }
  /// "novels/emma.txt, lines from 17".
  std::string chunk_name(int64_t chunk) const override;
  ChunkCost chunk_cost(int64_t chunk) const override;
  ChunkFetch chunk_fetch(int64_t chunk) const override;
  Result<Columns> decode(int64_t chunk, std::vector<Buffer> fetched, WorkMemory& memory) const override;
  std::optional<Hash128> chunk_identity(int64_t chunk) const override;
  Result<std::shared_ptr<const ChunkSource>> with_fields(std::span<const std::string> names) const override;

 private:
  /// The slice with as many bytes as its text may have in UTF-8.
  LineSlice text_slice(int64_t chunk) const;
  const LineSlice& slice(int64_t chunk) const { return table_->chunks[static_cast<size_t>(chunk)].slice; }

  const std::shared_ptr<const LineTable> table_;
  const std::shared_ptr<const LineReader> reader_;
};

/// The rows of a slice's bytes, one after the other, as UTF-8. How many there were.
int64_t for_each_row(const LineSlice& slice, std::span<const uint8_t> bytes, const TextForm& form, LineRows rows,
                     const std::function<void(const RowLine&)>& visit);

}  // namespace forebay
