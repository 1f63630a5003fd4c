#include "format/lines/text_lines.h"

#include <cstring>

#include <fmt/format.h>

#include "base/utf8.h"

namespace forebay {

namespace {

constexpr uint64_t kNumberBytes = 20;  // ":" and a line number

/// Collects texts end to end, in memory of a known size.
class TextColumn {
 public:
  TextColumn(int64_t rows, uint64_t most_bytes)
      : values_(Buffer::allocate(most_bytes)),
        offsets_(Buffer::allocate((static_cast<size_t>(rows) + 1) * sizeof(int64_t))) {
    ends_ = reinterpret_cast<int64_t*>(offsets_.data());
    *ends_ = 0;
  }
  void add(std::span<const uint8_t> text) {
    if (!text.empty()) std::memcpy(values_.data() + *ends_, text.data(), text.size());
    ends_[1] = *ends_ + static_cast<int64_t>(text.size());
    ++ends_;
  }
  void add(const std::string& text) { add({reinterpret_cast<const uint8_t*>(text.data()), text.size()}); }
  ColumnValues finish() && {
    const auto used = static_cast<size_t>(*ends_);
    return {values_.slice(0, used), std::move(offsets_)};
  }

 private:
  Buffer values_, offsets_;
  int64_t* ends_ = nullptr;
};

class TextLineRun final : public LineReader::Run {
 public:
  TextLineRun(const Schema& schema, int64_t rows, uint64_t bytes, std::string file) : file_(std::move(file)) {
    for (const Field& field : schema) {
      keys_.push_back(field.name == "key");
      const uint64_t most = keys_.back() ? static_cast<uint64_t>(rows) * (file_.size() + kNumberBytes) : bytes;
      columns_.emplace_back(rows, most);
    }
  }

  Status add(const RowLine& line) override {
    if (!is_utf8(line.bytes)) {
      return corrupt(
          fmt::format("byte {} of the line begins no UTF-8; convert the file, or let on_error skip such lines",
                      first_not_utf8(line.bytes).value_or(0)));
    }
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (keys_[i])
        columns_[i].add(fmt::format("{}:{}", file_, line.line));
      else
        columns_[i].add(line.bytes);
    }
    return {};
  }
  void add_bad_row() override {
    for (TextColumn& column : columns_) column.add(std::span<const uint8_t>());
  }
  Result<std::vector<ColumnValues>> finish() override {
    std::vector<ColumnValues> values;
    for (TextColumn& column : columns_) values.push_back(std::move(column).finish());
    return values;
  }

 private:
  const std::string file_;
  std::vector<bool> keys_;
  std::vector<TextColumn> columns_;
};

class TextLineReader final : public LineReader {
 public:
  explicit TextLineReader(Schema schema) : schema_(std::move(schema)) {}
  const Schema& schema() const override { return schema_; }
  std::shared_ptr<const LineReader> with_fields(std::span<const size_t> fields) const override {
    Schema chosen;
    for (const size_t field : fields) chosen.push_back(schema_[field]);
    return std::make_shared<TextLineReader>(std::move(chosen));
  }
  std::string identity() const override { return "lines of text 1"; }
  uint64_t decoded_bytes(const LineSlice& slice, const std::string& file) const override {
    const auto rows = static_cast<uint64_t>(slice.rows);
    uint64_t bytes = 0;
    for (const Field& field : schema_) {
      bytes += (rows + 1) * sizeof(int64_t);
      bytes += field.name == "key" ? rows * (file.size() + kNumberBytes) : slice.end - slice.begin;
    }
    return bytes;
  }
  std::unique_ptr<Run> begin(int64_t rows, uint64_t bytes, const std::string& file) const override {
    return std::make_unique<TextLineRun>(schema_, rows, bytes, file);
  }

 private:
  const Schema schema_;
};

Field text_field(std::string name) {
  Field field;
  field.name = std::move(name);
  field.kind = FieldKind::kText;
  field.fetched = true;
  return field;
}

}  // namespace

std::shared_ptr<const LineReader> text_line_reader() {
  return std::make_shared<TextLineReader>(Schema({text_field("text"), text_field("key")}));
}

}  // namespace forebay
