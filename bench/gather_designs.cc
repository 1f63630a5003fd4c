// How rows of a block of row groups get into batches: the designs that docs/decisions/0007-units-and-packed-rows.md chose from.
//
//   bench_gather_designs [ROWS] [FLOATS] [INTS]      rows of a unit (50000), float32 and int64 columns (40, 20)
//
// Eight units are mixed; batches have 8,192 rows. Prints nanoseconds a row on one thread, median of 5 rounds, interleaved.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "pipeline/packed_rows.h"

namespace forebay {
namespace {

constexpr int64_t kUnits = 8, kBatch = 8192, kRounds = 5;

struct Data {
  Schema schema;
  std::vector<Columns> units;
  std::vector<Columns> packed;
  std::vector<int64_t> order;  // rows of the block, mixed
  int64_t rows = 0;
};

Field field_of(const std::string& name, DType dtype) {
  Field field;
  field.name = name;
  field.dtype = dtype;
  return field;
}

Data make_data(int64_t rows, int floats, int ints) {
  Data data;
  data.rows = rows;
  for (int i = 0; i < floats; ++i) data.schema.push_back(field_of("f" + std::to_string(i), DType::kFloat32));
  for (int i = 0; i < ints; ++i) data.schema.push_back(field_of("i" + std::to_string(i), DType::kInt64));
  const PackedRows packed(data.schema);
  for (int64_t unit = 0; unit < kUnits; ++unit) {
    Columns columns;
    columns.schema = data.schema;
    columns.rows = rows;
    for (const Field& field : data.schema) {
      Buffer values = Buffer::allocate(row_bytes(field) * static_cast<size_t>(rows));
      std::memset(values.data(), static_cast<int>(unit + 1), values.size());
      columns.values.push_back({std::move(values), {}});
    }
    data.packed.push_back(packed.pack(columns, Buffer::allocate(packed.packed_bytes(rows))));
    data.units.push_back(std::move(columns));
  }
  data.order.resize(static_cast<size_t>(rows * kUnits));
  std::iota(data.order.begin(), data.order.end(), 0);
  std::shuffle(data.order.begin(), data.order.end(), std::mt19937_64(7));
  return data;
}

// Column by column for `rows_at_once` rows: a batch, or the whole block.
void by_columns(const Data& data, int64_t rows_at_once, std::vector<std::vector<uint8_t>>& out) {
  const auto count = static_cast<int64_t>(data.order.size());
  for (int64_t begin = 0; begin < count; begin += rows_at_once) {
    const int64_t end = std::min(count, begin + rows_at_once);
    for (size_t column = 0; column < data.schema.size(); ++column) {
      const size_t bytes = row_bytes(data.schema[column]);
      const uint8_t* units[kUnits];
      for (size_t unit = 0; unit < kUnits; ++unit) units[unit] = data.units[unit].values[column].values.data();
      uint8_t* to = out[column].data();  // a batch's memory is used again
      const auto copy = [&]<size_t kBytes>() {
        for (int64_t i = begin; i < end; ++i, to += kBytes) {
          const int64_t row = data.order[static_cast<size_t>(i)];
          std::memcpy(to, units[row / data.rows] + static_cast<size_t>(row % data.rows) * kBytes, kBytes);
        }
      };
      bytes == 4 ? copy.operator()<4>() : copy.operator()<8>();
    }
  }
}

void packed_rows(const Data& data, const PackedRows& packed, std::vector<std::vector<uint8_t>>& out) {
  std::vector<const uint8_t*> rows(kBatch);
  std::vector<uint8_t*> slots;
  for (const PackedRows::Part& part : packed.parts()) slots.push_back(out[part.field].data());
  const auto count = static_cast<int64_t>(data.order.size());
  for (int64_t begin = 0; begin < count; begin += kBatch) {
    const auto here = static_cast<size_t>(std::min(kBatch, count - begin));
    for (size_t i = 0; i < here; ++i) {
      const int64_t row = data.order[static_cast<size_t>(begin) + i];
      rows[i] = data.packed[static_cast<size_t>(row / data.rows)].values[0].values.data() +
                packed.stride() * static_cast<size_t>(row % data.rows);
    }
    packed.gather({rows.data(), here}, slots);
  }
}

double ns_a_row(const Data& data, const std::function<void()>& work) {
  const auto begun = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  return took.count() * 1e9 / static_cast<double>(data.order.size());
}

int run(int64_t rows, int floats, int ints) {
  const Data data = make_data(rows, floats, ints);
  const PackedRows packed(data.schema);
  std::vector<std::vector<uint8_t>> block(data.schema.size());
  for (size_t i = 0; i < block.size(); ++i) block[i].resize(row_bytes(data.schema[i]) * data.order.size());
  Buffer memory = Buffer::allocate(packed.packed_bytes(rows));
  const std::vector<std::pair<const char*, std::function<void()>>> designs = {
      {"columns, a batch at a time", [&] { by_columns(data, kBatch, block); }},
      {"columns, the whole block", [&] { by_columns(data, static_cast<int64_t>(data.order.size()), block); }},
      {"packed rows", [&] { packed_rows(data, packed, block); }},
      {"packing them, once a unit",
       [&] {
         for (const Columns& unit : data.units) packed.pack(unit, memory);
       }},
  };
  std::vector<std::vector<double>> times(designs.size());
  for (int64_t round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < designs.size(); ++i) times[i].push_back(ns_a_row(data, designs[i].second));
  }
  std::printf("%lld rows a unit, %d float32 and %d int64 columns\n", static_cast<long long>(rows), floats, ints);
  for (size_t i = 0; i < designs.size(); ++i) {
    std::sort(times[i].begin(), times[i].end());
    std::printf("%-28s %6.0f ns a row (%.0f to %.0f)\n", designs[i].first, times[i][kRounds / 2], times[i].front(),
                times[i].back());
  }
  return 0;
}

}  // namespace
}  // namespace forebay

int main(int argc, char** argv) {
  const int64_t rows = argc > 1 ? std::atoll(argv[1]) : 50'000;
  return forebay::run(rows, argc > 2 ? std::atoi(argv[2]) : 40, argc > 3 ? std::atoi(argv[3]) : 20);
}
