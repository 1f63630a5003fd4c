#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/table_codec.h"

namespace forebay {

/// A table in a format of its own, for tests. The file holds column chunks, an index in JSON, the
/// length of the index in eight digits, and "FAKE". A column chunk holds one byte per row (valid or
/// not) and then the values.
struct FakeTable {
  /// std::monostate means null.
  using Cell = std::variant<std::monostate, int64_t, double, std::string>;
  struct Column {
    std::string name;
    DType dtype = DType::kInt64;  ///< int64, float32 or float64
    bool text = false;
    bool nullable = false;
    int64_t ticks_per_day = 0;
  };
  std::vector<Column> columns;
  std::vector<std::vector<std::vector<Cell>>> groups;  ///< group → row → column
  bool statistics = true;
  size_t gap_bytes = 0;  ///< between column chunks

  std::string to_bytes() const;

 private:
  /// Appends the values of a column and returns the entry of the index.
  nlohmann::json append_chunk(const std::vector<std::vector<Cell>>& group, size_t column, std::string& file) const;
  static nlohmann::json append_value(const Column& column, const Cell& cell, std::string& values);
};

/// Counts of calls of a fake codec.
struct FakeCounts {
  std::atomic<int> opened{0}, decoded{0};
};

/// An opened FakeTable. Counts its decodes in `counts`, which may be null.
class FakeTableFile final : public TableFile {
 public:
  using Json = nlohmann::json;
  FakeTableFile(Json index, NullPolicy nulls, FakeCounts* counts)
      : index_(std::move(index)), nulls_(std::move(nulls)), counts_(counts) {
    for (size_t i = 0; i < index_["columns"].size(); ++i) {
      const Json& column = index_["columns"][i];
      Field field;
      field.name = column["name"];
      field.kind = column["text"] ? FieldKind::kText : FieldKind::kTensor;
      field.dtype = static_cast<DType>(column["dtype"].get<int>());
      field.fetched = true;
      schema_.push_back(field);
      columns_of_fields_.push_back({i, false});
      if (nulls_.kind != NullPolicy::Kind::kMask || !column["nullable"]) continue;
      Field valid;
      valid.name = field.name + nulls_.mask_ending;
      valid.dtype = DType::kBool;
      valid.fetched = true;
      schema_.push_back(valid);
      columns_of_fields_.push_back({i, true});
    }
  }

  const Schema& schema() const override { return schema_; }
  int64_t groups() const override { return static_cast<int64_t>(index_["groups"].size()); }
  int64_t rows(int64_t group) const override { return index_["groups"][at(group)]["rows"]; }
  uint64_t index_bytes() const override { return 1000; }
  Result<std::shared_ptr<const TableFile>> with_reading(const TableReading& reading) const override {
    return std::shared_ptr<const TableFile>(std::make_shared<FakeTableFile>(index_, reading.nulls, counts_));
  }
  /// A dot in a name separates a struct and its member.
  Origin origin(size_t field) const override {
    const std::string& name = schema_[field].name;
    std::vector<std::string> structs;
    if (const size_t dot = name.find('.'); dot != std::string::npos) structs.push_back(name.substr(0, dot));
    return {columns_of_fields_[field].second ? field - 1 : field, std::move(structs), false, false};
  }
  std::optional<TimeType> time_type(size_t field) const override {
    const int64_t ticks = index_["columns"][columns_of_fields_[field].first]["ticks"];
    return ticks == 0 || columns_of_fields_[field].second ? std::nullopt : std::optional(TimeType{ticks, true});
  }

  bool is_mask(size_t field) const override { return columns_of_fields_[field].second; }

  std::vector<ByteRange> ranges(int64_t group, std::span<const size_t> fields) const override {
    std::map<uint64_t, uint64_t> ranges;
    for (size_t field : fields) {
      const Json& chunk = chunk_of(group, field);
      ranges[chunk["offset"]] = chunk["length"];
    }
    std::vector<ByteRange> result;
    for (const auto& [offset, length] : ranges) result.push_back({offset, length});
    return result;
  }

  ChunkCost cost(int64_t group, std::span<const size_t> fields) const override {
    ChunkCost cost;
    for (const ByteRange& range : ranges(group, fields)) cost.fetched_bytes += range.length;
    cost.decoded_bytes = cost.fetched_bytes * 2;
    return cost;
  }

  FieldBounds bounds(int64_t group, size_t field) const override {
    FieldBounds bounds;
    const Json& chunk = chunk_of(group, field);
    if (!chunk.contains("nulls") || columns_of_fields_[field].second) return bounds;
    bounds.nulls = chunk["nulls"].get<int64_t>();
    if (chunk.contains("min")) {
      bounds.min = bound(chunk["min"]);
      bounds.max = bound(chunk["max"]);
    }
    return bounds;
  }

  Result<Columns> decode(int64_t group, std::span<const size_t> fields, std::span<const Piece> pieces,
                         WorkMemory&) const override {
    if (counts_) ++counts_->decoded;
    Columns columns;
    columns.rows = rows(group);
    std::map<int64_t, Status> bad;
    for (size_t field : fields) {
      columns.schema.push_back(schema_[field]);
      std::string chunk;
      if (!find_chunk(chunk_of(group, field), pieces, &chunk)) return internal_error("the pieces lack a chunk");
      if (chunk.size() < static_cast<size_t>(columns.rows) || chunk.ends_with("BROKEN"))
        return corrupt(fmt::format("column '{}' is damaged", schema_[field].name));
      columns.values.push_back(column_of(field, chunk, columns.rows, bad));
    }
    if (!bad.empty()) columns.bad_rows = std::make_shared<const std::map<int64_t, Status>>(std::move(bad));
    return columns;
  }

 private:
  static size_t at(int64_t group) { return static_cast<size_t>(group); }
  const Json& chunk_of(int64_t group, size_t field) const {
    return index_["groups"][at(group)]["chunks"][columns_of_fields_[field].first];
  }
  static FieldBounds::Bound bound(const Json& value) {
    if (value.is_string()) return value.get<std::string>();
    if (value.is_number_integer()) return value.get<int64_t>();
    return value.get<double>();
  }
  bool find_chunk(const Json& chunk, std::span<const Piece> pieces, std::string* bytes) const {
    if (index_.contains("body")) {  // in memory
      *bytes = index_["body"].get<std::string>().substr(chunk["offset"], chunk["length"]);
      return true;
    }
    uint64_t next = chunk["offset"];
    const uint64_t end = next + chunk["length"].get<uint64_t>();
    for (const Piece& piece : pieces) {
      if (piece.offset > next || piece.offset + piece.bytes.size() <= next) continue;
      const uint64_t length = std::min(end, piece.offset + piece.bytes.size()) - next;
      bytes->append(reinterpret_cast<const char*>(piece.bytes.data()) + (next - piece.offset), length);
      next += length;
    }
    return next == end;
  }

  static Buffer buffer(std::string_view bytes) {
    Buffer made = Buffer::allocate(bytes.size());
    std::memcpy(made.data(), bytes.data(), bytes.size());
    return made;
  }

  ColumnValues column_of(size_t field, const std::string& chunk, int64_t rows, std::map<int64_t, Status>& bad) const {
    const auto count = static_cast<size_t>(rows);
    if (columns_of_fields_[field].second) return {buffer(chunk.substr(0, count)), {}};
    std::string values = chunk.substr(count);
    const NullPolicy::Value& instead = nulls_.value;
    const auto* number = std::get_if<int64_t>(&instead);
    for (size_t row = 0; row < count; ++row) {
      if (chunk[row]) continue;
      if (nulls_.kind == NullPolicy::Kind::kValue && number && schema_[field].dtype == DType::kInt64)
        std::memcpy(values.data() + row * sizeof(int64_t), number, sizeof(int64_t));
      else if (nulls_.kind != NullPolicy::Kind::kMask)
        bad.emplace(row, corrupt(fmt::format("column '{}' is null here", schema_[field].name)));
    }
    if (schema_[field].kind == FieldKind::kTensor) return {buffer(values), {}};
    std::vector<int64_t> offsets{0};
    std::string texts;
    for (size_t row = 0, position = 0; row < count; ++row) {
      int64_t length = 0;
      std::memcpy(&length, values.data() + position, sizeof length);
      texts += values.substr(position + sizeof length, static_cast<size_t>(length));
      position += sizeof length + static_cast<size_t>(length);
      offsets.push_back(static_cast<int64_t>(texts.size()));
    }
    return {buffer(texts), buffer({reinterpret_cast<const char*>(offsets.data()), offsets.size() * sizeof(int64_t)})};
  }

  const Json index_;
  const NullPolicy nulls_;
  FakeCounts* const counts_;
  Schema schema_;
  // Per field: its column, and whether it is the column's mask.
  std::vector<std::pair<size_t, bool>> columns_of_fields_;
};

inline std::string FakeTable::to_bytes() const {
  nlohmann::json index;
  for (const Column& c : columns) {
    index["columns"].push_back({{"name", c.name},
                                {"dtype", static_cast<int>(c.dtype)},
                                {"text", c.text},
                                {"nullable", c.nullable},
                                {"ticks", c.ticks_per_day}});
  }
  index["groups"] = nlohmann::json::array();
  std::string file;
  for (const auto& group : groups) {
    nlohmann::json chunks = nlohmann::json::array();
    for (size_t c = 0; c < columns.size(); ++c) chunks.push_back(append_chunk(group, c, file));
    index["groups"].push_back({{"rows", group.size()}, {"chunks", chunks}});
  }
  const std::string text = index.dump();
  return file + text + fmt::format("{:08}FAKE", text.size());
}

inline nlohmann::json FakeTable::append_chunk(const std::vector<std::vector<Cell>>& group, size_t column,
                                              std::string& file) const {
  std::string valid, values;
  nlohmann::json min, max;
  int64_t nulls = 0;
  for (const auto& row : group) {
    const bool null = std::holds_alternative<std::monostate>(row[column]);
    valid += null ? '\0' : '\1';
    nulls += null ? 1 : 0;
    const nlohmann::json value = append_value(columns[column], row[column], values);
    if (null || (value.is_number_float() && std::isnan(value.get<double>()))) continue;
    if (min.is_null() || value < min) min = value;
    if (max.is_null() || value > max) max = value;
  }
  nlohmann::json chunk = {{"offset", file.size()}, {"length", valid.size() + values.size()}};
  if (statistics) chunk["nulls"] = nulls;
  if (statistics && !min.is_null()) {
    chunk["min"] = min;
    chunk["max"] = max;
  }
  file += valid + values + std::string(gap_bytes, '.');
  return chunk;
}

inline nlohmann::json FakeTable::append_value(const Column& column, const Cell& cell, std::string& values) {
  const bool null = std::holds_alternative<std::monostate>(cell);
  if (column.text) {
    const std::string text = null ? "" : std::get<std::string>(cell);
    const auto length = static_cast<int64_t>(text.size());
    values.append(reinterpret_cast<const char*>(&length), sizeof length) += text;
    return text;
  }
  if (column.dtype == DType::kInt64) {
    const int64_t number = null ? 0 : std::get<int64_t>(cell);
    values.append(reinterpret_cast<const char*>(&number), sizeof number);
    return number;
  }
  const double number = null ? 0 : std::get<double>(cell);
  const auto single = static_cast<float>(number);
  if (column.dtype == DType::kFloat32)
    values.append(reinterpret_cast<const char*>(&single), sizeof single);
  else
    values.append(reinterpret_cast<const char*>(&number), sizeof number);
  return number;
}

/// Codec of files that FakeTable::to_bytes() makes. Counts opened files in `counts`.
class FakeCodec final : public TableCodec {
 public:
  explicit FakeCodec(FakeCounts* counts) : counts_(counts) {}

  Result<uint64_t> index_tail_bytes(std::span<const uint8_t> tail, uint64_t) const override {
    const std::string_view text(reinterpret_cast<const char*>(tail.data()), tail.size());
    if (!text.ends_with("FAKE") || text.size() < 12) return corrupt("the last bytes are not 'FAKE'");
    return std::stoull(std::string(text.substr(text.size() - 12, 8))) + 12;
  }

  Result<std::shared_ptr<const TableFile>> open(Buffer tail, uint64_t, const TableReading& reading,
                                                std::span<const TableFile::Piece>) const override {
    if (counts_) ++counts_->opened;
    auto index = nlohmann::json::parse(tail.data(), tail.data() + tail.size() - 12, nullptr, false);
    if (index.is_discarded()) return corrupt("the index is not JSON");
    return std::shared_ptr<const TableFile>(std::make_shared<FakeTableFile>(std::move(index), reading.nulls, counts_));
  }

 private:
  FakeCounts* const counts_;
};

/// Provides FakeCodec for every format, and tables in memory from a FakeTable.
class FakeCodecs final : public TableCodecs {
 public:
  const TableCodec& parquet() const override { return codec_; }
  const TableCodec& arrow_file() const override { return codec_; }
  /// `stream` is a FakeTable*.
  Result<std::shared_ptr<const TableFile>> take_stream(void* stream, const TableReading& reading) const override {
    const std::string bytes = static_cast<const FakeTable*>(stream)->to_bytes();
    const size_t length = std::stoull(bytes.substr(bytes.size() - 12, 8));
    auto index = nlohmann::json::parse(bytes.substr(bytes.size() - 12 - length, length));
    // JSON cannot hold arbitrary bytes, so tests' tables in memory have only ASCII values.
    index["body"] = bytes.substr(0, bytes.size() - 12 - length);
    return std::shared_ptr<const TableFile>(std::make_shared<FakeTableFile>(std::move(index), reading.nulls, &counts));
  }
  Result<WrittenTable> write_arrow_file(std::span<const Columns>, const std::string&,
                                        const BufferAllocator&) const override {
    return Status(Code::kUnsupported, "tables of tests are not written");
  }
  Result<Buffer> write_parquet_file(std::span<const Columns>, const std::string&) const override {
    return Status(Code::kUnsupported, "tables of tests are not written");
  }
  std::string version() const override { return "fake 1"; }
  ReclaimableMemory& idle_memory() const override {
    static NothingKept nothing;
    return nothing;
  }

  mutable FakeCounts counts;

 private:
  struct NothingKept final : ReclaimableMemory {
    uint64_t bytes() const override { return 0; }
    uint64_t reclaim(uint64_t) override { return 0; }
  };
  const FakeCodec codec_{&counts};
};

}  // namespace forebay
