#include <algorithm>
#include <array>
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

#include "arrow_codec/arrow_releases.h"
#include "arrow_codec/arrow_status.h"
#include "arrow_codec/columns_writer.h"
#include "arrow_codec/parquet_table.h"
#include "arrow_codec/piece_file.h"
#include "arrow_codec/recycling_pool.h"

namespace forebay {

namespace {

// Most pages are smaller; memory for larger ones is requested when they come.
constexpr uint64_t kPageBytes = uint64_t{2} << 20;
// If a chunk claims to expand by more than this factor, the values of its pages are counted before
// memory is allocated for them.
constexpr uint64_t kUncheckedExpansion = 64;
// Chunks up to this size are not counted: a wrong claim costs little.
constexpr uint64_t kUncheckedBytes = uint64_t{1} << 20;

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
  // Used for footers without an Arrow schema; see ParquetTable::read_plain().
  read_large_strings(properties);
  // The pieces are already in memory; joining reads would copy them.
  properties.set_pre_buffer(false);
  FOREBAY_ASSIGN_ARROW(auto reader, make_file_reader(&RecyclingPool::instance(), std::move(file), properties),
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
  // NextPage() passes each data page to the filter, which has it skipped.
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
  const auto group_index = static_cast<int>(&group - groups_.data());
  for (const size_t i : leaves) {
    const Chunk& chunk = group.chunks[i];
    const uint64_t claimed = chunk.values * std::max<size_t>(1, dtype_size(plan_.leaves[i].dtype));
    // Dictionaries and run lengths can expand a lot, so a large claim is checked and not refused.
    if (claimed < kUncheckedBytes || claimed / kUncheckedExpansion < chunk.range.length) continue;
    const auto reader = open_reader(pieces, file_size_, footer_);
    const auto pages = reader->RowGroup(group_index)->GetColumnPageReader(plan_.leaves[i].number);
    const int64_t counted = count_values(*pages);
    if (counted != static_cast<int64_t>(chunk.values))
      return corrupt(fmt::format("the column '{}': {} values are claimed, the pages hold {}", plan_.leaves[i].name,
                                 chunk.values, counted));
  }
  return {};
}

/// Reads the leaves of one row group with Arrow. A reader is opened when the first leaf needs it.
/// One thread uses it.
class ParquetTable::LeafReader {
 public:
  /// How values are read.
  enum Form : uint8_t {
    kStored,   ///< with the Arrow schema of the footer, if there is one
    kPlain,    ///< with Parquet's own types
    kSeconds,  ///< 96-bit timestamps in seconds instead of nanoseconds
  };

  LeafReader(std::span<const Piece> pieces, uint64_t file_size, int64_t group, const Allowance& allowance)
      : pieces_(pieces), file_size_(file_size), group_(static_cast<int>(group)), allowance_(allowance) {}

  /// Names the column that is being read, for messages.
  const std::string& subject() const { return subject_; }
  void set_leaf(const std::string& name) { subject_ = fmt::format("the column '{}'", name); }

  bool is_open(Form form) const { return readers_[form] != nullptr; }
  Status open(Form form, const std::shared_ptr<parquet::FileMetaData>& footer) {
    const auto int96 = form == kSeconds ? arrow::TimeUnit::SECOND : arrow::TimeUnit::NANO;
    FOREBAY_ASSIGN(readers_[form], arrow_reader(open_reader(pieces_, file_size_, footer), int96));
    return {};
  }

  /// Returns the values of the leaf with this number in the file (Leaf::number). The form has to be
  /// open.
  Result<arrow::ArrayVector> read(Form form, int leaf_number) {
    auto table = read_row_group(*readers_[form], group_, {leaf_number});
    if (!allowance_.refusal().ok()) return allowance_.refusal();
    if (!table.ok()) return from_arrow(table.status(), subject_);
    if ((*table)->num_columns() != 1)
      return corrupt(fmt::format("{}: expected one column, found {}", subject_, (*table)->num_columns()));
    const auto chunks = (*table)->column(0);
    // From here on no other object holds the arrays, so nulls can be filled in place.
    *table = nullptr;
    return chunks->chunks();
  }

 private:
  const std::span<const Piece> pieces_;
  const uint64_t file_size_;
  const int group_;
  const Allowance& allowance_;
  std::string subject_ = "the Parquet file";
  std::array<std::unique_ptr<parquet::arrow::FileReader>, 3> readers_;
};

Result<Columns> ParquetTable::decode(int64_t group_index, std::span<const size_t> fields, std::span<const Piece> pieces,
                                     WorkMemory& memory) const {
  const Group& group = groups_[static_cast<size_t>(group_index)];
  const std::vector<size_t> leaves = leaves_of(fields);
  const uint64_t transient = transient_bytes(group, leaves);
  FOREBAY_RETURN_IF_ERROR(memory.reserve(transient));
  Allowance allowance(cost(group_index, fields).decoded_bytes + transient, memory);
  ColumnsWriter writer(plan_, fields, group.rows);
  LeafReader reader(pieces, file_size_, group_index, allowance);
  try {
    FOREBAY_RETURN_IF_ERROR(check_pages(group, leaves, pieces));
    FOREBAY_RETURN_IF_ERROR(reader.open(LeafReader::kStored, footer_));
    // Leaves are converted one by one, so that two columns are never in Arrow's form at once.
    for (const size_t leaf : leaves) {
      reader.set_leaf(plan_.leaves[leaf].name);
      FOREBAY_RETURN_IF_ERROR(decode_leaf(leaf, group.chunks[leaf], reader, writer));
    }
    return writer.finish();
  } catch (const std::exception& error) {
    if (!allowance.refusal().ok()) return allowance.refusal();
    return from_exception(error, reader.subject());
  }
}

Status ParquetTable::decode_leaf(size_t index, const Chunk& chunk, LeafReader& reader, ColumnsWriter& writer) const {
  const Leaf& leaf = plan_.leaves[index];
  const bool as_plain = plain_footer_ != nullptr && read_plain(leaf, chunk);
  Result<arrow::ArrayVector> values =
      as_plain ? read_as_plain(leaf, reader) : reader.read(LeafReader::kStored, leaf.number);
  // A dictionary may expand to more than 2 GiB of strings, and old writers do not state the size.
  const bool may_be_large = leaf.own.kind != FieldKind::kTensor && !leaf.steps.empty();
  if (!as_plain && may_be_large && values.status().code() == Code::kUnsupported) values = read_as_plain(leaf, reader);
  FOREBAY_ASSIGN(const arrow::ArrayVector chunks, std::move(values));
  if (!leaf.int96) return writer.add(index, chunks, /*owned=*/true);
  if (!reader.is_open(LeafReader::kSeconds))
    FOREBAY_RETURN_IF_ERROR(reader.open(LeafReader::kSeconds, as_plain ? plain_footer_ : footer_));
  FOREBAY_ASSIGN(const arrow::ArrayVector seconds, reader.read(LeafReader::kSeconds, leaf.number));
  return writer.add_int96(index, seconds, chunks);
}

Result<arrow::ArrayVector> ParquetTable::read_as_plain(const Leaf& leaf, LeafReader& reader) const {
  if (!reader.is_open(LeafReader::kPlain))
    FOREBAY_RETURN_IF_ERROR(reader.open(LeafReader::kPlain, plain_footer_ ? plain_footer_ : plain_footer()));
  return reader.read(LeafReader::kPlain, leaf.number);
}

}  // namespace forebay
