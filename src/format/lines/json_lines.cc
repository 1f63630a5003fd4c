#include "format/lines/json_lines.h"

#include <fmt/format.h>

#include "format/lines/json_record.h"

namespace forebay {

namespace {

constexpr uint64_t kGrowth = 4;  // "[1,1,…]": two bytes per number here, eight in a column
constexpr size_t kMaxTypedBytes = 1 << 20;

struct JsonShape {
  std::vector<JsonField> fields;
  JsonNames names;
  NanPolicy nan = NanPolicy::kError;
};

/// The line as a JSON parser accepts it. `kept` owns the text if it had to be rewritten.
std::span<const uint8_t> parsable(std::span<const uint8_t> line, NanPolicy policy, std::optional<std::string>& kept) {
  kept = with_nan_replaced({reinterpret_cast<const char*>(line.data()), line.size()}, policy);
  if (!kept) return line;
  return {reinterpret_cast<const uint8_t*>(kept->data()), kept->size()};
}

class JsonRun final : public LineReader::Run {
 public:
  explicit JsonRun(const JsonShape& shape) : shape_(shape) {
    for (const JsonField& field : shape.fields) columns_.emplace_back(field);
  }
  Status add(const RowLine& line) override {
    std::optional<std::string> kept;
    return read_json_record(parsable(line.bytes, shape_.nan, kept), shape_.names, columns_, line.row);
  }
  void add_bad_row() override {
    for (JsonColumn& column : columns_) column.end_row_without_value();
  }
  Result<std::vector<ColumnValues>> finish() override {
    std::vector<ColumnValues> values;
    for (JsonColumn& column : columns_) values.push_back(std::move(column).finish());
    return values;
  }

 private:
  const JsonShape& shape_;
  std::vector<JsonColumn> columns_;
};

std::string instead_text(const JsonInstead& value) {
  return std::visit([](const auto& one) { return fmt::format("{}", one); }, value);
}

/// The most bytes that replacements for null take.
uint64_t instead_bytes(const JsonField& field, const LineSlice& slice) {
  const auto* const text = std::get_if<std::string>(&*field.instead);
  const uint64_t each = text != nullptr ? sizeof(uint32_t) + text->size() : sizeof(int64_t);
  // An object without members takes three characters in a list.
  return each * (is_json_list(field.type) ? (slice.end - slice.begin) / 3 : static_cast<uint64_t>(slice.rows));
}

class JsonLineReader final : public LineReader {
 public:
  JsonLineReader(JsonShape shape, std::string identity) : shape_(std::move(shape)), identity_(std::move(identity)) {
    for (const JsonField& field : shape_.fields) schema_.push_back(field_of_json(field));
  }
  const Schema& schema() const override { return schema_; }

  std::shared_ptr<const LineReader> with_fields(std::span<const size_t> fields) const override {
    JsonShape shape;
    for (const size_t field : fields) shape.fields.push_back(shape_.fields[field]);
    // A subset of compatible fields is compatible.
    shape.names = JsonNames::of(shape.fields).value();
    shape.nan = shape_.nan;
    return std::make_shared<JsonLineReader>(std::move(shape), identity_);
  }
  std::string identity() const override { return identity_; }

  uint64_t decoded_bytes(const LineSlice& slice, const std::string&) const override {
    const auto rows = static_cast<uint64_t>(slice.rows);
    uint64_t bytes = 0;
    bool lists = false;
    for (const JsonField& field : shape_.fields) {
      bytes += (rows + 1) * sizeof(int64_t);
      lists = lists || is_json_list(field.type);
      if (field.instead) bytes += instead_bytes(field, slice);
    }
    return bytes + (slice.end - slice.begin) * (lists ? kGrowth : 1);
  }
  // Columns grow to at most twice their size and are then copied.
  uint64_t working_bytes(const LineSlice& slice) const override { return 2 * decoded_bytes(slice, ""); }
  std::unique_ptr<Run> begin(int64_t, uint64_t, const std::string&) const override {
    return std::make_unique<JsonRun>(shape_);
  }

 private:
  const JsonShape shape_;
  const std::string identity_;
  Schema schema_;
};

}  // namespace

Result<std::shared_ptr<const LineReader>> json_line_reader(std::vector<JsonField> fields, NanPolicy nan) {
  JsonShape shape;
  shape.nan = nan;
  FOREBAY_ASSIGN(shape.names, JsonNames::of(fields));
  std::string identity = fmt::format("json lines 2 {}", static_cast<int>(nan));
  for (const JsonField& field : fields) {
    if (field.instead && !fits(*field.instead, field.type)) {
      return invalid_argument(fmt::format("null gives {} for '{}', which is {}; give a value of its kind",
                                          instead_text(*field.instead), field.name, json_type_word(field.type)));
    }
    identity += fmt::format("\n{}:{} {} {}", field.name.size(), field.name, json_type_word(field.type),
                            field.instead ? "else " + instead_text(*field.instead) : "");
  }
  shape.fields = std::move(fields);
  return std::shared_ptr<const LineReader>(std::make_shared<JsonLineReader>(std::move(shape), std::move(identity)));
}

Result<std::vector<JsonField>> find_json_fields(const LineTable& table, NanPolicy nan, std::stop_token stop) {
  if (table.chunks.empty()) return corrupt("the files hold no record at all; give other files");
  const LineChunk& first = table.chunks.front();
  const LineFile& file = table.files[first.file];
  ReadRequest request{file.key, ByteRange{first.slice.begin, first.slice.end - first.slice.begin}, file.size};
  FOREBAY_ASSIGN(const Buffer bytes, read_wait(*table.store, request, std::move(stop)));
  JsonTypeFinder finder;
  Status failed;
  for_each_row(first.slice, bytes.span(), file.form, table.rows, [&](const RowLine& line) {
    // A whole tree is built for each line, so long lines are left out.
    if (line.row >= kTypedRecords || !line.whole || line.bytes.size() > kMaxTypedBytes) return;
    std::optional<std::string> kept;
    if (Status added = finder.add(parsable(line.bytes, nan, kept)); !added.ok() && failed.ok())
      failed = corrupt(fmt::format("{} {}: {}", file.form.values ? "record" : "line", line.line, added.message()));
  });
  std::vector<JsonField> fields = finder.fields();
  if (!fields.empty()) return fields;
  const std::string why = failed.ok() ? "its records have no members" : failed.message();
  return corrupt(fmt::format("the first records of '{}' say nothing of their fields ({}); name them with fields=",
                             table.store->display_name(file.key), why));
}

}  // namespace forebay
