#include <algorithm>
#include <map>

#include <arrow/array.h>
#include <arrow/chunked_array.h>
#include <arrow/table.h>
#include <fmt/format.h>
#include <parquet/arrow/reader.h>
#include <parquet/column_reader.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/properties.h>

#include "arrow_codec/arrow_status.h"
#include "arrow_codec/columns_writer.h"
#include "arrow_codec/parquet_table.h"
#include "arrow_codec/piece_file.h"
#include "arrow_codec/recycling_pool.h"

namespace forebay {

namespace {

// Most pages are smaller; memory for larger ones is requested when they come.
constexpr uint64_t kPageBytes = uint64_t{2} << 20;
// If a chunk claims to expand by more than this factor, its pages are counted before memory is
// allocated.
constexpr uint64_t kSuspicious = 64;
constexpr uint64_t kHarmless = uint64_t{1} << 20;

parquet::ReaderProperties reader_properties() {
  parquet::ReaderProperties properties(&RecyclingPool::instance());
  properties.set_page_checksum_verification(true);  // for pages that have one
  return properties;
}

std::unique_ptr<parquet::ParquetFileReader> open_reader(std::span<const TableFile::Piece> pieces, uint64_t file_size,
                                                        const std::shared_ptr<parquet::FileMetaData>& footer) {
  return parquet::ParquetFileReader::Open(std::make_shared<PieceFile>(pieces, file_size), reader_properties(), footer);
}

Result<std::unique_ptr<parquet::arrow::FileReader>> arrow_reader(std::unique_ptr<parquet::ParquetFileReader> file,
                                                                 arrow::TimeUnit::type int96) {
  parquet::ArrowReaderProperties properties(false);
  properties.set_coerce_int96_timestamp_unit(int96);
  // For footers without an Arrow schema; see ParquetTable::read_plain().
  properties.set_binary_type(arrow::Type::LARGE_BINARY);
  // The pieces are already in memory; joining reads would copy them.
  properties.set_pre_buffer(false);
  FOREBAY_ASSIGN_ARROW(auto reader,
                       parquet::arrow::FileReader::Make(&RecyclingPool::instance(), std::move(file), properties),
                       "the schema of the Parquet file");
  return reader;
}

/// Sum of the values in the headers of a chunk's pages. Nothing is decompressed.
int64_t count_values(parquet::PageReader& pages) {
  int64_t values = 0;
  pages.set_data_page_filter([&](const parquet::DataPageStats& page) {
    values += page.num_values;
    return true;
  });
  while (pages.NextPage() != nullptr) {
  }
  return values;
}

}  // namespace

uint64_t ParquetTable::transient_bytes(const Group& group, std::span<const size_t> leaves) const {
  uint64_t most = 0;
  for (const size_t i : leaves) {
    const Chunk& chunk = group.chunks[i];
    const Leaf& leaf = plan_.leaves[i];
    const bool levels = leaf.lists > (leaf.strings() ? 1 : 0) || !leaf.shape.fully_known() || leaf.shape.rank() > 0;
    // Levels take two 16-bit numbers per value. For strings and bools Arrow first builds another
    // form.
    uint64_t bytes = std::min(chunk.stored_bytes, kPageBytes) + (levels ? 4 : 2) * chunk.values + chunk.values / 4;
    if (leaf.strings()) bytes += chunk.values * 8;
    // The values are read twice, and combined into a third array.
    if (leaf.int96) bytes += chunk.values * 3 * sizeof(int64_t);
    if (leaf.string_lists())  // combined row by row
      bytes = chunk.string_bytes > UINT64_MAX - bytes ? UINT64_MAX : bytes + chunk.string_bytes;
    most = std::max(most, bytes);
  }
  return most;
}

Status ParquetTable::check_pages(const Group& group, std::span<const size_t> leaves,
                                 std::span<const Piece> pieces) const {
  const auto number = static_cast<int>(&group - groups_.data());
  for (const size_t i : leaves) {
    const Chunk& chunk = group.chunks[i];
    const uint64_t claimed = chunk.values * std::max<size_t>(1, dtype_size(plan_.leaves[i].dtype));
    // Dictionaries and run lengths can expand a lot, so a large claim is checked and not refused.
    if (claimed < kHarmless || claimed / kSuspicious < chunk.range.length) continue;
    const auto reader = open_reader(pieces, file_size_, footer_);
    const auto pages = reader->RowGroup(number)->GetColumnPageReader(plan_.leaves[i].number);
    const int64_t counted = count_values(*pages);
    if (counted != static_cast<int64_t>(chunk.values))
      return corrupt(fmt::format("the column '{}': {} values are claimed, the pages hold {}", plan_.leaves[i].name,
                                 chunk.values, counted));
  }
  return {};
}

Result<Columns> ParquetTable::decode(int64_t number, std::span<const size_t> fields, std::span<const Piece> pieces,
                                     WorkMemory& memory) const {
  const Group& group = groups_[static_cast<size_t>(number)];
  const std::vector<size_t> leaves = leaves_of(fields);
  const uint64_t transient = transient_bytes(group, leaves);
  FOREBAY_RETURN_IF_ERROR(memory.reserve(transient));
  Allowance allowance(cost(number, fields).decoded_bytes + transient, memory);
  ColumnsWriter writer(plan_, fields, group.rows);
  std::string what = "the Parquet file";
  try {
    FOREBAY_RETURN_IF_ERROR(check_pages(group, leaves, pieces));
    const auto open = [&](const std::shared_ptr<parquet::FileMetaData>& footer, arrow::TimeUnit::type int96) {
      return arrow_reader(open_reader(pieces, file_size_, footer), int96);
    };
    FOREBAY_ASSIGN(const auto reader, open(footer_, arrow::TimeUnit::NANO));
    std::unique_ptr<parquet::arrow::FileReader> in_seconds, plain;
    const auto read = [&](parquet::arrow::FileReader& from, size_t leaf) -> Result<arrow::ArrayVector> {
      auto table = from.ReadRowGroup(static_cast<int>(number), {plan_.leaves[leaf].number});
      if (!allowance.refusal().ok()) return allowance.refusal();
      if (!table.ok()) return from_arrow(table.status(), what);
      if ((*table)->num_columns() != 1) return corrupt(what + ": is not one column");
      const auto chunks = (*table)->column(0);
      // From here on no other object holds the arrays, so nulls can be filled in place.
      *table = nullptr;
      return chunks->chunks();
    };
    // Leaves are converted one by one, so that two columns are never in Arrow's form at once.
    for (const size_t leaf : leaves) {
      what = fmt::format("the column '{}'", plan_.leaves[leaf].name);
      const bool as_plain = plain_footer_ != nullptr && read_plain(plan_.leaves[leaf], group.chunks[leaf]);
      const auto read_as_plain = [&]() -> Result<arrow::ArrayVector> {
        if (plain == nullptr) {
          FOREBAY_ASSIGN(plain, open(plain_footer_ ? plain_footer_ : plain_footer(), arrow::TimeUnit::NANO));
        }
        return read(*plain, leaf);
      };
      Result<arrow::ArrayVector> made = as_plain ? read_as_plain() : read(*reader, leaf);
      // A dictionary may expand to more than 2 GiB of strings, and old writers do not state the
      // size.
      const bool may_be_large = plan_.leaves[leaf].own.kind != FieldKind::kTensor && !plan_.leaves[leaf].steps.empty();
      if (!as_plain && may_be_large && made.status().code() == Code::kUnsupported) made = read_as_plain();
      FOREBAY_ASSIGN(const arrow::ArrayVector chunks, std::move(made));
      if (!plan_.leaves[leaf].int96) {
        FOREBAY_RETURN_IF_ERROR(writer.add(leaf, chunks, true));
        continue;
      }
      if (in_seconds == nullptr) {
        FOREBAY_ASSIGN(in_seconds, open(as_plain ? plain_footer_ : footer_, arrow::TimeUnit::SECOND));
      }
      FOREBAY_ASSIGN(const arrow::ArrayVector seconds, read(*in_seconds, leaf));
      FOREBAY_RETURN_IF_ERROR(writer.add_int96(leaf, seconds, chunks));
    }
    return writer.finish();
  } catch (const std::exception& error) {
    if (!allowance.refusal().ok()) return allowance.refusal();
    return from_exception(error, what);
  }
}

}  // namespace forebay
