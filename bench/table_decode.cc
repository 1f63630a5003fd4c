// One row group of Parquet, zstd, in memory: the codec against a bare loop over Arrow C++ with the same recycled memory, one thread.
// Arrow's side ends with Arrow arrays; ours with columns ready for batches.
#include <random>

#include <arrow/api.h>
#include <arrow/io/memory.h>
#include <benchmark/benchmark.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/writer.h>

#include "arrow_codec/codecs.h"
#include "arrow_codec/recycling_pool.h"

namespace {

using namespace forebay;

constexpr int64_t kRows = 50'000;
enum Kind { kFloat32, kInt64, kFloatLists, kTexts, kNullableInt64 };

template <typename T>
T take(arrow::Result<T> result) {
  if (!result.ok()) throw std::runtime_error(result.status().ToString());
  return std::move(result).ValueOrDie();
}

template <typename Builder, typename Value>
std::shared_ptr<arrow::Array> made(Value value) {
  Builder builder;
  for (int64_t row = 0; row < kRows; ++row) {
    if (!value(builder, row).ok()) throw std::bad_alloc();
  }
  return take(builder.Finish());
}

std::shared_ptr<arrow::Array> column(Kind kind, std::mt19937_64& random) {
  std::normal_distribution<float> normal;
  switch (kind) {
    case kFloat32:
      return made<arrow::FloatBuilder>([&](auto& builder, int64_t) { return builder.Append(normal(random)); });
    case kInt64:
      return made<arrow::Int64Builder>(
          [&](auto& builder, int64_t) { return builder.Append(static_cast<int64_t>(random() % 1'000'000)); });
    case kNullableInt64:
      return made<arrow::Int64Builder>([&](auto& builder, int64_t) {
        return random() % 5 == 0 ? builder.AppendNull() : builder.Append(static_cast<int64_t>(random() % 1'000'000));
      });
    case kTexts:
      return made<arrow::StringBuilder>(
          [&](auto& builder, int64_t) { return builder.Append(std::to_string(random() % 100'000)); });
    case kFloatLists: {
      auto values = std::make_shared<arrow::FloatBuilder>();
      arrow::ListBuilder lists(arrow::default_memory_pool(), values);
      for (int64_t row = 0; row < kRows; ++row) {
        if (!lists.Append().ok()) throw std::bad_alloc();
        for (uint64_t i = random() % 20; i > 0; --i) {
          if (!values->Append(normal(random)).ok()) throw std::bad_alloc();
        }
      }
      return take(lists.Finish());
    }
  }
  return nullptr;
}

/// Ten columns of the kind.
std::string file_of(Kind kind) {
  std::mt19937_64 random(kind);
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (int i = 0; i < 10; ++i) {
    arrays.push_back(column(kind, random));
    fields.push_back(arrow::field("c" + std::to_string(i), arrays.back()->type()));
  }
  const auto out = take(arrow::io::BufferOutputStream::Create());
  const auto properties = parquet::WriterProperties::Builder().compression(arrow::Compression::ZSTD)->build();
  const auto table = arrow::Table::Make(arrow::schema(fields), arrays);
  if (!parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), out, kRows, properties).ok())
    throw std::bad_alloc();
  return take(out->Finish())->ToString();
}

void arrow_loop(benchmark::State& state, Kind kind) {
  const std::string file = file_of(kind);
  const auto input = std::make_shared<arrow::io::BufferReader>(std::make_shared<arrow::Buffer>(file));
  const auto footer = parquet::ReadMetaData(input);
  arrow::MemoryPool* pool = &RecyclingPool::instance();
  parquet::ArrowReaderProperties properties(false);
  properties.set_pre_buffer(false);
  for (auto _ : state) {
    auto opened = parquet::ParquetFileReader::Open(input, parquet::ReaderProperties(pool), footer);
    const auto reader = take(parquet::arrow::FileReader::Make(pool, std::move(opened), properties));
    benchmark::DoNotOptimize(take(reader->ReadRowGroup(0)));
  }
  state.SetItemsProcessed(state.iterations() * kRows);
}

void codec_loop(benchmark::State& state, Kind kind) {
  const std::string file = file_of(kind);
  Buffer bytes = Buffer::allocate(file.size());
  std::copy(file.begin(), file.end(), bytes.data());
  NullPolicy nulls;
  nulls.kind = NullPolicy::Kind::kMask;
  const auto table = arrow_codecs().parquet().open(bytes, file.size(), nulls);
  if (!table.ok()) return state.SkipWithError(table.status().to_string().c_str());
  std::vector<size_t> fields;
  for (size_t i = 0; i < (*table)->schema().size(); ++i) {
    if (!(*table)->schema()[i].name.ends_with("_valid")) fields.push_back(i);
  }
  const TableFile::Piece piece{0, bytes};
  for (auto _ : state) {
    WorkMemory memory;
    const auto columns = (*table)->decode(0, fields, {&piece, 1}, memory);
    if (!columns.ok()) return state.SkipWithError(columns.status().to_string().c_str());
    benchmark::DoNotOptimize(columns->values.data());
  }
  state.SetItemsProcessed(state.iterations() * kRows);
}

BENCHMARK_CAPTURE(arrow_loop, float32, kFloat32);
BENCHMARK_CAPTURE(codec_loop, float32, kFloat32);
BENCHMARK_CAPTURE(arrow_loop, int64, kInt64);
BENCHMARK_CAPTURE(codec_loop, int64, kInt64);
BENCHMARK_CAPTURE(arrow_loop, int64_with_nulls, kNullableInt64);
BENCHMARK_CAPTURE(codec_loop, int64_with_nulls, kNullableInt64);
BENCHMARK_CAPTURE(arrow_loop, float_lists, kFloatLists);
BENCHMARK_CAPTURE(codec_loop, float_lists, kFloatLists);
BENCHMARK_CAPTURE(arrow_loop, texts, kTexts);
BENCHMARK_CAPTURE(codec_loop, texts, kTexts);

}  // namespace

BENCHMARK_MAIN();
