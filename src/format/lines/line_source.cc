#include "format/lines/line_source.h"

#include <cstdint>
#include <cstring>

#include <fmt/format.h>

#include "format/lines/json_values.h"

namespace forebay {

namespace {

std::span<const uint8_t> without_carriage_return(std::span<const uint8_t> line) {
  return !line.empty() && line.back() == '\r' ? line.first(line.size() - 1) : line;
}

Status line_too_long() {
  return corrupt(fmt::format("the line is longer than {} bytes; is this a file of lines?", kMostLineBytes));
}

Status at_row(Status status, const std::string& file, std::string_view word, int64_t row) {
  return Status(status.code(), fmt::format("{} {}: {}", word, row, status.message()))
      .with_key(fmt::format("{} {} {}", file, word, row));
}

using Visit = std::function<void(const RowLine&)>;

int64_t for_each_line(const LineSlice& slice, std::span<const uint8_t> bytes, LineRows rows, const Visit& visit) {
  RowLine line;
  line.line = slice.first_line;
  if (slice.begin == 0) bytes = without_byte_order_mark(bytes);
  bool first = true;
  // A file with only a byte-order mark has one empty line, as scan_block() counted.
  while (!bytes.empty() || (first && slice.begin == 0)) {
    first = false;
    const void* const found = bytes.empty() ? nullptr : std::memchr(bytes.data(), '\n', bytes.size());
    const size_t length = found ? static_cast<size_t>(static_cast<const uint8_t*>(found) - bytes.data()) : bytes.size();
    ++line.line;
    line.whole = found != nullptr || !slice.cut;
    line.bytes = found ? without_carriage_return(bytes.first(length)) : bytes;
    bytes = bytes.subspan(found ? length + 1 : length);
    if (rows == LineRows::kNotBlank && line.whole && is_blank(line.bytes)) continue;
    visit(line);
    ++line.row;
  }
  return line.row;
}

/// A slice begins with a value, so its values are top-level here even if they are elements of a
/// list.
int64_t for_each_value(const LineSlice& slice, std::span<const uint8_t> bytes, const Visit& visit) {
  RowLine value;
  value.line = slice.first_row;
  JsonValues values;
  constexpr size_t kOutside = SIZE_MAX;  // GCC 12 warns about an optional
  size_t begin = kOutside;
  const auto end_at = [&](size_t end) {
    value.bytes = bytes.subspan(begin, end - begin);
    ++value.line;
    visit(value);
    ++value.row;
    begin = kOutside;
  };
  for (size_t at = 0; at < bytes.size(); ++at) {
    const JsonValues::Events events = values.take(bytes[at]);
    if (events.before == JsonValues::Event::kEnd) end_at(at);
    if (events.here == JsonValues::Event::kBegin) begin = at;
    if (events.here == JsonValues::Event::kEnd && begin != kOutside) end_at(at + 1);
  }
  value.whole = !slice.cut;
  if (begin != kOutside && (values.finish() == JsonValues::Event::kEnd || slice.cut)) end_at(bytes.size());
  return value.row;
}

}  // namespace

int64_t for_each_row(const LineSlice& slice, std::span<const uint8_t> bytes, const TextForm& form, LineRows rows,
                     const Visit& visit) {
  std::string wide;
  if (form.encoding != TextEncoding::kUtf8) {
    wide = utf16_as_utf8(bytes, form.encoding);
    bytes = {reinterpret_cast<const uint8_t*>(wide.data()), wide.size()};
  }
  return form.values ? for_each_value(slice, bytes, visit) : for_each_line(slice, bytes, rows, visit);
}

LineSource::LineSource(std::shared_ptr<const LineTable> table, std::shared_ptr<const LineReader> reader)
    : table_(std::move(table)), reader_(std::move(reader)) {}

Hash128 LineSource::version() const {
  Hasher hasher;
  hasher.update_value(table_->version.high);
  hasher.update_value(table_->version.low);
  hasher.update(reader_->identity());
  return hasher.digest();
}

std::string LineSource::key(int64_t id) const {
  const int64_t chunk = table_->chunk_of(id);
  const LineChunk& at = table_->chunks[static_cast<size_t>(chunk)];
  const std::string file = table_->store->display_name(table_->file_of(chunk).key);
  const int64_t row = at.slice.first_row + id - chunk_begin(chunk);
  return fmt::format("{} {} {}", file, table_->every_line[at.file] ? "line" : "record", row + 1);
}

std::string LineSource::chunk_name(int64_t chunk) const {
  const LineFile& file = table_->file_of(chunk);
  return fmt::format("{}, {} from {}", table_->store->display_name(file.key), file.form.values ? "records" : "lines",
                     slice(chunk).first_line + 1);
}

LineSlice LineSource::text_slice(int64_t chunk) const {
  LineSlice text = slice(chunk);
  text.end = text.begin + utf8_bytes(text.end - text.begin, table_->file_of(chunk).form.encoding);
  return text;
}

ChunkCost LineSource::chunk_cost(int64_t chunk) const {
  const LineSlice& lines = slice(chunk);
  return {lines.end - lines.begin, reader_->decoded_bytes(text_slice(chunk), table_->name(table_->file_of(chunk)))};
}

ChunkSource::ChunkFetch LineSource::chunk_fetch(int64_t chunk) const {
  const LineFile& file = table_->file_of(chunk);
  const LineSlice& lines = slice(chunk);
  ChunkFetch fetch{table_->store.get(), {}};
  fetch.requests.push_back({file.key, ByteRange{lines.begin, lines.end - lines.begin}, file.size});
  return fetch;
}

Result<Columns> LineSource::decode(int64_t chunk, std::vector<Buffer> fetched, WorkMemory& memory) const {
  const LineSlice &lines = slice(chunk), text = text_slice(chunk);
  const LineFile& file = table_->file_of(chunk);
  const uint64_t wide_bytes = file.form.encoding == TextEncoding::kUtf8 ? 0 : text.end - text.begin;
  FOREBAY_RETURN_IF_ERROR(memory.reserve(reader_->working_bytes(text) + wide_bytes));
  if (fetched.size() != 1 || fetched[0].size() != lines.end - lines.begin)
    return internal_error("the read of some lines gave another length");
  const std::string display_name = table_->store->display_name(file.key);
  const auto run = reader_->begin(lines.rows, text.end - text.begin, table_->name(file));
  const std::string_view word = file.form.values ? "record" : "line";
  std::map<int64_t, Status> bad;
  const int64_t rows = for_each_row(lines, fetched[0].span(), file.form, table_->rows, [&](const RowLine& line) {
    // The file has more lines than when it was scanned. The error follows below; columns have
    // memory only for this many rows.
    if (line.row >= lines.rows) return;
    Status added = line.whole ? run->add(line) : line_too_long();
    if (added.ok()) return;
    run->add_bad_row();
    bad.emplace(line.row, at_row(std::move(added), display_name, word, line.line));
  });
  if (rows != lines.rows) {
    return corrupt(
               fmt::format("holds {} rows where there were {}: the file has changed; open it anew", rows, lines.rows))
        .with_key(chunk_name(chunk));
  }
  Columns columns;
  columns.schema = schema();
  columns.rows = rows;
  FOREBAY_ASSIGN(columns.values, run->finish());
  if (!bad.empty()) columns.bad_rows = std::make_shared<const std::map<int64_t, Status>>(std::move(bad));
  return columns;
}

std::optional<Hash128> LineSource::chunk_identity(int64_t chunk) const {
  const LineFile& file = table_->file_of(chunk);
  if (file.version == 0) return std::nullopt;
  const LineSlice& lines = slice(chunk);
  Hasher hasher;
  hasher.update(fmt::format("{}\n{} {} {} {} {}\n{}\n", table_->store->display_name(file.key), file.size, file.version,
                            lines.begin, lines.end, table_->name(file), reader_->identity()));
  for (const Field& field : schema()) hasher.update(fmt::format("{}:{}\n", field.name.size(), field.to_string()));
  return hasher.digest();
}

Result<std::shared_ptr<const ChunkSource>> LineSource::with_fields(std::span<const std::string> names) const {
  std::vector<size_t> fields;
  for (const std::string& name : names) {
    const std::optional<size_t> at = schema().find(name);
    if (!at) return invalid_argument(fmt::format("there is no field '{}'; the fields are: {}", name, schema().names()));
    fields.push_back(*at);
  }
  return std::shared_ptr<const ChunkSource>(std::make_shared<LineSource>(table_, reader_->with_fields(fields)));
}

}  // namespace forebay
