#include "format/table/filter_rows.h"

#include <algorithm>
#include <atomic>
#include <map>

#include <fmt/format.h>

#include "base/mutex.h"
#include "forebay/stats/store.h"
#include "format/files/joined_reads.h"
#include "format/files/reading_jobs.h"
#include "format/table/table_index.h"

namespace forebay {

namespace {

constexpr uint64_t kPassBytes = uint64_t{256} << 20;
constexpr uint64_t kMaxGroupBytes = uint64_t{4} << 30;
constexpr int64_t kMostRows = int64_t{1} << 36;  // 8 GiB of bits

Matches both(Matches a, Matches b) { return std::min(a, b); }
Matches either(Matches a, Matches b) { return std::max(a, b); }

/// One bit per row of the table, set by the jobs of all chunks. Chunks share words at their edges.
class KeptBits {
 public:
  explicit KeptBits(int64_t rows) : words_(static_cast<size_t>((rows + 63) / 64)) {}

  void keep_all(int64_t begin, int64_t end) {
    for (int64_t id = begin; id < end;) {
      const int64_t bit = id % 64, count = std::min<int64_t>(64 - bit, end - id);
      const uint64_t ones = count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
      keep(id / 64, ones << bit);
      id += count;
    }
  }
  void keep_some(int64_t begin, std::span<const uint8_t> matches) {
    uint64_t word = 0;
    for (size_t i = 0; i < matches.size(); ++i) {
      const int64_t id = begin + static_cast<int64_t>(i);
      word |= uint64_t{matches[i]} << (id % 64);
      if (id % 64 != 63 && i + 1 < matches.size()) continue;
      keep(id / 64, word);
      word = 0;
    }
  }
  std::vector<uint64_t> take() && { return std::move(words_); }

 private:
  void keep(int64_t word, uint64_t bits) {
    // Relaxed, because readers of the words have joined the threads that wrote them.
    if (bits != 0) std::atomic_ref(words_[static_cast<size_t>(word)]).fetch_or(bits, std::memory_order_relaxed);
  }
  std::vector<uint64_t> words_;
};

/// A filter and its table.
class FilterPass {
 public:
  FilterPass(const TableData& data, std::span<const std::shared_ptr<const TableFile>> masked, RowFilter filter)
      : data_(data), masked_(masked), filter_(std::move(filter)) {}

  Status prepare_conditions() {
    for (std::vector<RowCondition>& all : filter_) {
      for (RowCondition& condition : all) {
        if (const PartitionColumn* partition = partition_of(condition)) {
          Field field;
          field.name = partition->name;
          field.kind = partition->is_integer ? FieldKind::kTensor : FieldKind::kText;
          field.dtype = DType::kInt64;
          FOREBAY_RETURN_IF_ERROR(prepare(condition, field, std::nullopt));
          continue;
        }
        // The first file that has the column with a type. All others have it alike or lack it.
        const auto file =
            std::ranges::find_if(masked_, [&](const auto& each) { return field_of(condition, *each).has_value(); });
        if (file == masked_.end()) continue;  // null in all rows
        const Schema& schema = (*file)->schema();
        const std::optional<size_t> at = field_of(condition, **file);
        const auto time = (*file)->time_type(*at);
        const bool counts_from_1970 = time && time->since_1970;
        FOREBAY_RETURN_IF_ERROR(
            prepare(condition, schema[*at], counts_from_1970 ? std::optional(time->ticks_per_day) : std::nullopt));
      }
    }
    return {};
  }

  /// Decides without reading rows, if that is possible.
  Matches decide(size_t chunk) const {
    Matches any = Matches::kNone;
    for (const auto& all : filter_) {
      Matches every = Matches::kAll;
      for (const RowCondition& condition : all) every = both(every, decide(condition, chunk));
      any = either(any, every);
    }
    return any;
  }

  /// Fields of the chunk's file that must be read, ascending: the columns of the conditions, and
  /// their masks.
  std::vector<size_t> fields(size_t chunk) const {
    const Schema& schema = file_of(chunk).schema();
    std::vector<size_t> fields;
    for (const auto& all : filter_) {
      for (const RowCondition& condition : all) {
        if (decide(condition, chunk) != Matches::kSome) continue;
        fields.push_back(*schema.find(condition.column));
        if (const auto mask = mask_of(condition.column, file_of(chunk))) fields.push_back(*mask);
      }
    }
    std::ranges::sort(fields);
    fields.erase(std::unique(fields.begin(), fields.end()), fields.end());
    return fields;
  }

  const TableFile& file_of(size_t chunk) const { return *masked_[data_.chunks[chunk].part]; }
  ChunkCost cost(size_t chunk) const { return file_of(chunk).cost(data_.chunks[chunk].group, fields(chunk)); }

  static std::map<int64_t, Status> bad_rows(const Columns& columns) {
    std::map<int64_t, Status> bad = columns.bad_rows ? *columns.bad_rows : std::map<int64_t, Status>();
    // A codec reports only rows of its group. Another row would be written outside of `any`.
    std::erase_if(bad, [&](const auto& each) { return each.first < 0 || each.first >= columns.rows; });
    return bad;
  }

  /// Returns one byte per row.
  std::vector<uint8_t> match(size_t chunk, const Columns& columns, std::span<const size_t> fields) const {
    const auto rows = static_cast<size_t>(columns.rows);
    std::vector<uint8_t> any(rows, 0), every(rows);
    for (const auto& all : filter_) {
      std::ranges::fill(every, uint8_t{1});
      for (const RowCondition& condition : all) apply(condition, chunk, columns, fields, every);
      for (size_t i = 0; i < rows; ++i) any[i] |= every[i];
    }
    // Bad rows stay in the table, so that reading them reports the error.
    for (const auto& [row, status] : bad_rows(columns)) any[static_cast<size_t>(row)] = 1;
    return any;
  }

 private:
  /// The mask of a column; not a column of the table that only has such a name.
  static std::optional<size_t> mask_of(const std::string& column, const TableFile& file) {
    // The second ending applies if the data set itself has masks, so that the filter reads the same
    // columns.
    for (const std::string_view ending : {kFilterMaskEnding, NullPolicy::kMaskEnding}) {
      const auto mask = file.schema().find(column + std::string(ending));
      if (mask && file.is_mask(*mask)) return mask;
    }
    return std::nullopt;
  }

  /// nullopt if all rows of the file are null in the column.
  static std::optional<size_t> field_of(const RowCondition& condition, const TableFile& file) {
    const std::optional<size_t> at = file.schema().find(condition.column);
    return at && !file.origin(*at).untyped ? at : std::nullopt;
  }

  const PartitionColumn* partition_of(const RowCondition& condition) const {
    const auto at = std::ranges::find(data_.partitions, condition.column, &PartitionColumn::name);
    return at == data_.partitions.end() ? nullptr : &*at;
  }

  Matches decide(const RowCondition& condition, size_t chunk) const {
    const TableChunk& chunk_data = data_.chunks[chunk];
    if (const PartitionColumn* partition = partition_of(condition)) {
      if (partition->is_null(chunk_data.part)) return Matches::kNone;
      const bool matches = partition->is_integer
                               ? match_value(condition, partition->integers[chunk_data.part])
                               : match_value(condition, std::string_view(*partition->texts[chunk_data.part]));
      return matches ? Matches::kAll : Matches::kNone;
    }
    const TableFile& file = file_of(chunk);
    const std::optional<size_t> field = field_of(condition, file);
    if (!field) return Matches::kNone;
    return match_bounds(condition, file.schema()[*field], file.bounds(chunk_data.group, *field), data_.rows(chunk));
  }

  void apply(const RowCondition& condition, size_t chunk, const Columns& columns, std::span<const size_t> fields,
             std::span<uint8_t> matches) const {
    const Matches known = decide(condition, chunk);
    if (known == Matches::kNone) std::ranges::fill(matches, uint8_t{0});
    if (known != Matches::kSome) return;
    const Schema& schema = file_of(chunk).schema();
    const size_t field = *schema.find(condition.column);
    const auto column_of = [&](size_t wanted) {
      return columns.values[static_cast<size_t>(std::ranges::find(fields, wanted) - fields.begin())];
    };
    const auto mask = mask_of(condition.column, file_of(chunk));
    const ColumnValues valid = mask ? column_of(*mask) : ColumnValues();
    match_rows(condition, schema[field], column_of(field), valid.values.span(), matches);
  }

  const TableData& data_;
  const std::span<const std::shared_ptr<const TableFile>> masked_;
  RowFilter filter_;
};

/// The results of the jobs, and the rows that they could not decide.
struct Findings {
  explicit Findings(int64_t rows) : kept(rows) {}
  KeptBits kept;
  Mutex mutex;
  UndecidedRows undecided FOREBAY_GUARDED_BY(mutex);
};

class FilterJob final : public ReadingJob {
 public:
  FilterJob(const TableData& data, const FilterPass& pass, size_t chunk, Findings& found)
      : data_(data), pass_(pass), chunk_(chunk), found_(found), fields_(pass.fields(chunk)) {
    const TablePart& part = data.parts[data.chunks[chunk].part];
    if (data.store)
      reads_ = joined_reads(part.key, part.size, pass.file_of(chunk).ranges(data.chunks[chunk].group, fields_));
  }

  Result<NextReads> step(JobInput input) override {
    if (!input.status.ok()) return failed_read(input.status);
    if (input.buffers.size() != reads_.size()) return NextReads{reads_, {}};
    std::vector<TableFile::Piece> pieces;
    for (size_t i = 0; i < reads_.size(); ++i) pieces.push_back({reads_[i].range->offset, std::move(input.buffers[i])});
    WorkMemory memory(kMaxGroupBytes);
    const Result<Columns> columns = pass_.file_of(chunk_).decode(data_.chunks[chunk_].group, fields_, pieces, memory);
    if (!columns.ok()) return failed_read(columns.status());
    if (columns->rows != data_.rows(chunk_) || columns->values.size() != fields_.size())
      return failed_read(corrupt(fmt::format("holds {} rows where the file's index says {}; restore the file",
                                             columns->rows, data_.rows(chunk_))));
    const int64_t begin = data_.begins[chunk_];
    found_.kept.keep_some(begin, pass_.match(chunk_, *columns, fields_));
    if (!columns->bad_rows) return NextReads();
    const Lock lock(found_.mutex);
    for (const auto& [row, status] : pass_.bad_rows(*columns)) found_.undecided.rows.emplace(begin + row, status);
    return NextReads();
  }

 private:
  /// Rows that cannot be decided because of damage stay in the data set as bad rows. The loader's
  /// error policy applies to them.
  Result<NextReads> failed_read(const Status& status) const {
    Status named = Status(status).with_key(data_.chunk_name(chunk_)).with_operator("filter");
    if (!is_data_error(status.code())) return named;
    found_.kept.keep_all(data_.begins[chunk_], data_.begins[chunk_ + 1]);
    const Lock lock(found_.mutex);
    found_.undecided.chunks.emplace(chunk_, std::move(named));
    return NextReads();
  }

  const TableData& data_;
  const FilterPass& pass_;
  const size_t chunk_;
  Findings& found_;
  const std::vector<size_t> fields_;
  std::vector<ReadRequest> reads_;
};

/// Stands in for the store of tables in memory, which are never read from one.
class NoStore final : public Store {
 public:
  void read(const ReadRequest&, std::stop_token, ReadDone done) override { done(internal_error("nothing is stored")); }
  void list(const ListRequest&, std::stop_token, ListDone done) override { done(internal_error("nothing is stored")); }
  void stat(const std::string&, std::stop_token, StatDone done) override { done(internal_error("nothing is stored")); }
  std::string display_name(const std::string& key) const override { return key; }
  StoreStats stats() const override { return {}; }
};

}  // namespace

Result<FilteredRows> filter_rows(const TableData& data, std::span<const std::shared_ptr<const TableFile>> masked,
                                 RowFilter filter, std::stop_token stop) {
  if (data.begins.back() > kMostRows) {
    return out_of_budget(fmt::format("filter: {} rows are more than a filter keeps account of", data.begins.back()),
                         static_cast<uint64_t>(data.begins.back()) / 8);
  }
  FilterPass pass(data, masked, std::move(filter));
  FOREBAY_RETURN_IF_ERROR(pass.prepare_conditions());
  Findings found(data.begins.back());
  std::vector<size_t> open;
  std::vector<uint64_t> bytes;
  for (size_t chunk = 0; chunk < data.chunks.size(); ++chunk) {
    const Matches matches = pass.decide(chunk);
    if (matches == Matches::kAll) found.kept.keep_all(data.begins[chunk], data.begins[chunk + 1]);
    if (matches != Matches::kSome) continue;
    const ChunkCost cost = pass.cost(chunk);
    const auto rows = static_cast<uint64_t>(data.rows(chunk));
    if (cost.decoded_bytes > kMaxGroupBytes || rows > kMaxGroupBytes / 2) {
      return out_of_budget(fmt::format("filter: the columns that it looks at have {} bytes here; write smaller {}s",
                                       cost.decoded_bytes, data.group_word),
                           cost.decoded_bytes)
          .with_key(data.chunk_name(chunk));
    }
    open.push_back(chunk);
    bytes.push_back(cost.fetched_bytes + cost.decoded_bytes + 2 * rows);
  }
  NoStore none;
  const ReadingJobsOptions jobs{64, kPassBytes, [&](size_t job) { return bytes[job]; }};
  FOREBAY_RETURN_IF_ERROR(run_reading_jobs(
      data.store ? *data.store : none, open.size(),
      [&](size_t job) { return std::make_unique<FilterJob>(data, pass, open[job], found); }, jobs, std::move(stop)));
  const Lock lock(found.mutex);
  return FilteredRows{std::move(found.kept).take(), std::move(found.undecided)};
}

}  // namespace forebay
