#include "arrow_codec/columns_writer.h"

#include <cstring>
#include <span>

#include <arrow/array.h>
#include <fmt/format.h>

#include "arrow_codec/int96.h"
#include "arrow_codec/recycling_pool.h"

namespace forebay {

namespace {

Result<FlatLeaf> flatten_chunks(const std::vector<std::shared_ptr<arrow::Array>>& chunks, const Leaf& leaf,
                                bool owned) {
  if (chunks.size() == 1) return flatten(chunks[0], leaf, owned);
  std::vector<FlatLeaf> parts;
  for (const auto& chunk : chunks) {
    FOREBAY_ASSIGN(FlatLeaf part, flatten(chunk, leaf, owned));
    parts.push_back(std::move(part));
  }
  return join(parts);
}

Status named(const Leaf& leaf, const Status& status) {
  // OutOfBudget is returned unchanged, because the engine acts on its figure.
  if (status.ok() || status.code() == Code::kOutOfBudget) return status;
  return Status(status.code(), fmt::format("the column '{}': {}", leaf.name, status.message()));
}

/// Replaces the overflowed nanoseconds in `flat` by times in the leaf's unit.
Status join_ticks(const FlatLeaf& whole, const Leaf& leaf, FlatLeaf& flat) {
  constexpr int64_t kSecondsPerDay = 86'400;
  const size_t count = flat.values.size() / sizeof(int64_t);
  if (whole.values.size() != flat.values.size()) return corrupt("was not read twice alike");
  const int64_t ticks = leaf.time ? leaf.time->ticks_per_day / kSecondsPerDay : 1'000'000'000;
  if (ticks == 0) return unsupported("INT96 timestamps are not read as days; name a finer unit with types=");
  FOREBAY_ASSIGN(Buffer values, take_memory(flat.values.size()));
  FOREBAY_ASSIGN(flat.exact, take_memory(count));
  const auto numbers = [count](const Buffer& bytes) {
    return std::span(reinterpret_cast<const int64_t*>(bytes.data()), count);
  };
  auto* out = reinterpret_cast<int64_t*>(values.data());
  join_int96(numbers(whole.values), numbers(flat.values), ticks, out, flat.exact.data());
  const Buffer& valid = flat.valid.back();
  for (size_t i = 0; i < valid.size(); ++i) {
    if (valid.data()[i] != 0) continue;
    // Nulls were filled before, so the fill value is copied.
    out[i] = numbers(flat.values)[i];
    flat.exact.data()[i] = 1;
  }
  if (std::memchr(flat.exact.data(), 0, count) == nullptr) flat.exact = Buffer();
  flat.values = std::move(values);
  return {};
}

}  // namespace

ColumnsWriter::ColumnsWriter(const TablePlan& plan, std::span<const size_t> fields, int64_t rows)
    : plan_(plan), fields_(fields.begin(), fields.end()) {
  columns_.rows = rows;
  columns_.values.resize(fields.size());
  for (const size_t field : fields) columns_.schema.push_back(plan.schema[field]);
}

Status ColumnsWriter::add(size_t leaf_index, const std::vector<std::shared_ptr<arrow::Array>>& chunks, bool owned) {
  const Leaf& leaf = plan_.leaves[leaf_index];
  Status status = check_rows(chunks);
  if (!status.ok()) return named(leaf, status);
  const auto flat = flatten_chunks(chunks, leaf, owned);
  if (!flat.ok()) return named(leaf, flat.status());
  return named(leaf, add_flat(leaf_index, *flat));
}

Status ColumnsWriter::add_int96(size_t leaf_index, const std::vector<std::shared_ptr<arrow::Array>>& seconds,
                                const std::vector<std::shared_ptr<arrow::Array>>& nanoseconds) {
  const Leaf& leaf = plan_.leaves[leaf_index];
  for (const auto* chunks : {&seconds, &nanoseconds}) {
    if (const Status status = check_rows(*chunks); !status.ok()) return named(leaf, status);
  }
  // Reads ticks as Arrow returns them, whatever unit is requested.
  Leaf ticks = leaf;
  ticks.time.reset();
  const auto whole = flatten_chunks(seconds, ticks, true);
  if (!whole.ok()) return named(leaf, whole.status());
  auto flat = flatten_chunks(nanoseconds, ticks, true);
  if (!flat.ok()) return named(leaf, flat.status());
  if (const Status status = join_ticks(*whole, leaf, *flat); !status.ok()) return named(leaf, status);
  return named(leaf, add_flat(leaf_index, *flat));
}

Status ColumnsWriter::check_rows(const std::vector<std::shared_ptr<arrow::Array>>& chunks) const {
  int64_t rows = 0;
  for (const auto& chunk : chunks) rows += chunk->length();
  if (rows != columns_.rows) return corrupt(fmt::format("{} rows were announced, {} are there", columns_.rows, rows));
  return chunks.empty() ? corrupt("has no values at all") : Status();
}

Status ColumnsWriter::add_flat(size_t leaf_index, const FlatLeaf& flat) {
  const Leaf& leaf = plan_.leaves[leaf_index];
  if (leaf.nulls.kind == NullPolicy::Kind::kError) FOREBAY_RETURN_IF_ERROR(note_nulls(flat, leaf, bad_));
  if (leaf.kind == FieldKind::kText) FOREBAY_RETURN_IF_ERROR(note_bad_text(flat, leaf, bad_));
  FOREBAY_RETURN_IF_ERROR(note_lost(flat, leaf, bad_));
  for (size_t i = 0; i < fields_.size(); ++i) {
    const Output& output = plan_.outputs[fields_[i]];
    if (output.leaf != leaf_index) continue;
    FOREBAY_ASSIGN(columns_.values[i], output_values(flat, leaf, output));
  }
  return {};
}

Result<Columns> ColumnsWriter::finish() {
  columns_.bad_rows = std::move(bad_).take();
  return std::move(columns_);
}

}  // namespace forebay
