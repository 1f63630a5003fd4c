#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/table_codec.h"

namespace forebay::table_test {

/// A table with any properties that a test sets, including those that no valid file has.
struct StubTable final : TableFile {
  Schema fields;
  std::vector<std::pair<std::string, std::string>> unreadable = {};
  std::map<size_t, Status> statuses = {};
  std::map<size_t, TimeType> times = {};
  std::set<size_t> masks = {};
  std::map<size_t, Origin> origins = {};
  std::vector<int64_t> group_rows = {1};
  std::optional<int64_t> claimed_groups = {};
  Columns decoded = {};

  const Schema& schema() const override { return fields; }
  std::vector<std::pair<std::string, std::string>> unmapped() const override { return unreadable; }
  Status field_status(size_t field) const override {
    const auto found = statuses.find(field);
    return found == statuses.end() ? Status() : found->second;
  }
  int64_t groups() const override { return claimed_groups.value_or(static_cast<int64_t>(group_rows.size())); }
  int64_t rows(int64_t group) const override { return group_rows.at(static_cast<size_t>(group)); }
  std::vector<ByteRange> ranges(int64_t, std::span<const size_t>) const override { return {}; }
  ChunkCost cost(int64_t, std::span<const size_t>) const override { return {}; }
  FieldBounds bounds(int64_t, size_t) const override { return {}; }
  Result<Columns> decode(int64_t, std::span<const size_t>, std::span<const Piece>, WorkMemory&) const override {
    Columns columns;
    columns.rows = decoded.rows;
    columns.schema = decoded.schema;
    for (const ColumnValues& one : decoded.values) columns.values.push_back({one.values, one.offsets});
    return columns;
  }
  bool is_mask(size_t field) const override { return masks.contains(field); }
  Origin origin(size_t field) const override {
    const auto found = origins.find(field);
    if (found != origins.end()) return found->second;
    // Masks follow their columns.
    return {masks.contains(field) ? field - 1 : field, {}, false, false};
  }
  std::optional<TimeType> time_type(size_t field) const override {
    const auto found = times.find(field);
    return found == times.end() ? std::nullopt : std::optional(found->second);
  }
};

inline Field stub_field(std::string name, DType dtype = DType::kInt64, Shape shape = {}) {
  Field field;
  field.name = std::move(name);
  field.dtype = dtype;
  field.shape = shape;
  field.fetched = true;
  return field;
}

inline std::shared_ptr<StubTable> stub_table(std::vector<Field> fields) {
  auto made = std::make_shared<StubTable>();
  made->fields = Schema(std::move(fields));
  return made;
}

/// A table with int64 columns.
inline std::shared_ptr<StubTable> stub_of(const std::vector<std::string>& names) {
  std::vector<Field> fields;
  for (const std::string& name : names) fields.push_back(stub_field(name));
  return stub_table(std::move(fields));
}

}  // namespace forebay::table_test
