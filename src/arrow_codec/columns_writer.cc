#include "arrow_codec/columns_writer.h"

#include <arrow/array.h>
#include <fmt/format.h>

#include "arrow_codec/flat_leaf.h"

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

}  // namespace

ColumnsWriter::ColumnsWriter(const TablePlan& plan, std::span<const size_t> fields, int64_t rows)
    : plan_(plan), fields_(fields.begin(), fields.end()) {
  columns_.rows = rows;
  columns_.values.resize(fields.size());
  for (const size_t field : fields) columns_.schema.push_back(plan.schema[field]);
}

Status ColumnsWriter::add(size_t number, const std::vector<std::shared_ptr<arrow::Array>>& chunks, bool owned) {
  const Leaf& leaf = plan_.leaves[number];
  const auto named = [&](const Status& status) {
    // As it is: the figure that it holds decides what the engine does next.
    if (status.code() == Code::kOutOfBudget) return status;
    return Status(status.code(), fmt::format("the column '{}': {}", leaf.name, status.message()));
  };
  int64_t rows = 0;
  for (const auto& chunk : chunks) rows += chunk->length();
  if (rows != columns_.rows)
    return named(corrupt(fmt::format("{} rows were announced, {} are there", columns_.rows, rows)));
  if (chunks.empty()) return named(corrupt("has no values at all"));
  const auto flat = flatten_chunks(chunks, leaf, owned);
  if (!flat.ok()) return named(flat.status());
  if (leaf.nulls.kind == NullPolicy::Kind::kError) FOREBAY_RETURN_IF_ERROR(note_nulls(*flat, leaf, bad_));
  if (leaf.kind == FieldKind::kText) FOREBAY_RETURN_IF_ERROR(note_bad_text(*flat, leaf, bad_));
  for (size_t i = 0; i < fields_.size(); ++i) {
    const Output& output = plan_.outputs[fields_[i]];
    if (output.leaf != number) continue;
    auto values = output_values(*flat, leaf, output);
    if (!values.ok()) return named(values.status());
    columns_.values[i] = std::move(*values);
  }
  return {};
}

Result<Columns> ColumnsWriter::finish() {
  if (!bad_.empty()) columns_.bad_rows = std::make_shared<const std::map<int64_t, Status>>(std::move(bad_));
  return std::move(columns_);
}

}  // namespace forebay
