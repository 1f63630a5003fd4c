// Rows of decoded row groups as records of a stream: encoded to payloads of their own (src/stream/rows) beside references to the columns.
//
//   build/release/bench/bench_rows [ROWS=65536] [ROUNDS=7]
//
// CPU time: every row of a group becomes a record, and the record's fields are written to a batch; medians of interleaved rounds with the least and the greatest, both ways must write the same bytes. Memory: what is alive
// where one row of a hundred is kept, as by a sample or for rehearsal, of ten row groups.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/hash.h"
#include "stream/record_log.h"
#include "stream/rows/row_payload.h"

namespace {

using namespace forebay;

constexpr size_t kBlockBytes = size_t{1} << 10;  // as FileRows has it

Field field_of(std::string name, FieldKind kind, DType dtype = DType::kUint8, Shape shape = {}) {
  Field field;
  field.name = std::move(name);
  field.kind = kind;
  field.dtype = dtype;
  field.shape = shape;
  return field;
}

ColumnValues numbers(int64_t rows, size_t row_bytes) {
  ColumnValues column;
  column.values = Buffer::allocate(static_cast<size_t>(rows) * row_bytes);
  for (size_t i = 0; i < column.values.size(); ++i)
    column.values.data()[i] = static_cast<uint8_t>(i * 2654435761u >> 13);
  return column;
}

ColumnValues texts(int64_t rows, size_t about) {
  ColumnValues column = numbers(rows, about + 8);
  column.offsets = Buffer::allocate(static_cast<size_t>(rows + 1) * sizeof(int64_t));
  auto* const offsets = reinterpret_cast<int64_t*>(column.offsets.data());
  offsets[0] = 0;
  for (int64_t row = 0; row < rows; ++row)
    offsets[row + 1] = offsets[row] + static_cast<int64_t>(about + static_cast<size_t>(row) % 8);
  return column;
}

Columns narrow(int64_t rows) {
  Columns columns;
  columns.rows = rows;
  columns.schema =
      Schema({field_of("id", FieldKind::kTensor, DType::kInt64), field_of("price", FieldKind::kTensor, DType::kFloat32),
              field_of("label", FieldKind::kTensor, DType::kInt32), field_of("name", FieldKind::kText)});
  columns.values = {numbers(rows, 8), numbers(rows, 4), numbers(rows, 4), texts(rows, 20)};
  return columns;
}

Columns wide(int64_t rows) {
  Columns columns;
  columns.rows = rows;
  columns.schema = Schema({field_of("label", FieldKind::kTensor, DType::kInt64), field_of("image", FieldKind::kBytes),
                           field_of("embedding", FieldKind::kTensor, DType::kFloat32, Shape{256})});
  columns.values = {numbers(rows, 8), texts(rows, 2000), numbers(rows, 1024)};
  return columns;
}

/// Where batches are written to, over and over.
class Batch {
 public:
  void take(Record& record) {
    for (Value& value : record) {
      const uint64_t size = value.nbytes();
      if (at_ + size > memory_.size()) at_ = 0;
      (void)value.write({memory_.data() + at_, size}, work_);
      if (hasher_) hasher_->update(memory_.data() + at_, size);
      at_ += size;
    }
  }
  void hash_into(Hasher* hasher) { hasher_ = hasher; }

 private:
  std::vector<uint8_t> memory_ = std::vector<uint8_t>(size_t{1} << 20);
  size_t at_ = 0;
  WorkMemory work_;
  Hasher* hasher_ = nullptr;
};

/// A record whose payload stands for a row of shared columns.
LogRecord reference(const std::shared_ptr<const Columns>& columns, int64_t row) {
  LogRecord record;
  record.offset = fmt::format("1700000000123456789#{}/a.parquet", row);
  record.key = fmt::format("a.parquet row {}", row);
  record.payload = Buffer(nullptr, 0, std::const_pointer_cast<Columns>(columns));
  record.elsewhere = static_cast<uint64_t>(row);
  return record;
}

std::vector<LogRecord> references(const std::shared_ptr<const Columns>& columns) {
  std::vector<LogRecord> records;
  for (int64_t row = 0; row < columns->rows; ++row) records.push_back(reference(columns, row));
  return records;
}

std::vector<LogRecord> payloads(const std::shared_ptr<const Columns>& columns, const RowPayload& payload) {
  std::vector<LogRecord> records;
  for (int64_t row = 0; row < columns->rows;) {
    std::vector<size_t> sizes;
    size_t size = 0;
    for (; row + static_cast<int64_t>(sizes.size()) < columns->rows && size < kBlockBytes; size += sizes.back())
      sizes.push_back(payload.bytes(*columns, row + static_cast<int64_t>(sizes.size())));
    const Buffer block = Buffer::allocate(size);
    size_t at = 0;
    for (const size_t one : sizes) {
      LogRecord record = reference(nullptr, row);
      record.elsewhere = 0;
      record.payload = block.slice(at, one);
      payload.write(*columns, row++, record.payload.data());
      at += one;
      records.push_back(std::move(record));
    }
  }
  return records;
}

using Load = std::function<void(const LogRecord&, Record&)>;

struct Way {
  const char* name;
  std::function<std::vector<LogRecord>()> make;
  Load load;
  std::vector<double> ns = {};
};

/// Of this thread's computing: what others do on the machine counts as little as can be.
double cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

double run_way(const Way& way, int64_t rows, Hasher* hasher) {
  Batch batch;
  batch.hash_into(hasher);
  const double began = cpu_ns();
  for (const LogRecord& record : way.make()) {
    Record fields;
    way.load(record, fields);
    batch.take(fields);
  }
  return (cpu_ns() - began) / static_cast<double>(rows);
}

/// What holds every hundredth record's payload.
uint64_t kept_bytes(const std::vector<LogRecord>& records, uint64_t owner_bytes) {
  std::set<const void*> owners;
  for (size_t i = 0; i < records.size(); i += 100) owners.insert(records[i].payload.owner().get());
  return owners.size() * owner_bytes;
}

void measure(const char* what, const Columns& given, int rounds) {
  const auto columns = std::make_shared<const Columns>(given);
  const RowPayload payload(columns->schema);
  std::vector<Way> ways;
  ways.push_back(
      {"references", [&] { return references(columns); },
       [&](const LogRecord& record, Record& fields) {
         fields =
             static_cast<const Columns*>(record.payload.owner().get())->row(static_cast<int64_t>(record.elsewhere));
       }});
  ways.push_back(
      {"payloads", [&] { return payloads(columns, payload); },
       [&](const LogRecord& record, Record& fields) { (void)payload.read(record.payload, record.key, fields); }});
  Hasher first, second;
  run_way(ways[0], columns->rows, &first);
  run_way(ways[1], columns->rows, &second);
  if (!(first.digest() == second.digest())) {
    std::fprintf(stderr, "%s: the ways differ\n", what);
    std::exit(1);
  }
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < ways.size(); ++i) {
      Way& way = ways[(i + static_cast<size_t>(round)) % ways.size()];
      way.ns.push_back(run_way(way, columns->rows, nullptr));
    }
  }
  const uint64_t group = columns->nbytes(), row = group / static_cast<uint64_t>(columns->rows);
  for (Way& way : ways) {
    std::sort(way.ns.begin(), way.ns.end());
    const double alive = static_cast<double>(
        kept_bytes(way.make(), &way == &ways.front() ? group : std::max<uint64_t>(row, kBlockBytes)));
    fmt::print(
        "{:7} {:10} {:7.0f} ns a row ({:.0f} to {:.0f}); {} bytes a row; of 10 groups 1 % kept: {:.1f} MB alive, "
        "{:.1f} MB of them wanted\n",
        what, way.name, way.ns[way.ns.size() / 2], way.ns.front(), way.ns.back(), row, 10 * alive / 1e6,
        static_cast<double>(group) / 1e7);
  }
}

}  // namespace

int main(int count, char** values) {
  const int64_t rows = count > 1 ? std::atoll(values[1]) : 65'536;
  const int rounds = count > 2 ? std::atoi(values[2]) : 7;
  measure("narrow", narrow(rows), rounds);
  measure("wide", wide(rows / 8), rounds);
  return 0;
}
