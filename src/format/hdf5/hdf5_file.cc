#include "format/hdf5/hdf5_file.h"

#include <algorithm>
#include <cstring>
#include <map>

#include <fmt/format.h>

#include "base/byte_count.h"
#include "base/utf8.h"
#include "format/hdf5/rows.h"

namespace forebay {

namespace {

// A row group of this size needs little memory, and takes one or two requests to a remote store.
constexpr uint64_t kSpanBytes = 2 << 20;
// If overlapping windows are many times the size of their rows, it is better to decode chunks twice
// than to enlarge row groups.
constexpr uint64_t kMaxSpanBytes = 32 << 20;
// Limit of the rows of a group of windows that are decoded again for the next group.
constexpr uint64_t kWindowsToShare = 8;

/// Returns bytes [offset, offset + bytes) of the file, joined if they are in several pieces.
Result<Buffer> find_piece(std::span<const TableFile::Piece> pieces, uint64_t offset, uint64_t bytes) {
  if (bytes == 0) return Buffer();
  auto piece = std::ranges::upper_bound(pieces, offset, {}, &TableFile::Piece::offset);
  if (piece == pieces.begin()) return internal_error("the pieces lack a chunk");
  --piece;
  const uint64_t skip = offset - piece->offset;
  if (skip <= piece->bytes.size() && bytes <= piece->bytes.size() - skip) return piece->bytes.slice(skip, bytes);
  Buffer joined = Buffer::allocate(bytes);
  // Long chunks take several requests (joined_reads()), whose pieces are adjacent.
  for (uint64_t done = 0; done < bytes; ++piece) {
    if (piece == pieces.end() || piece->offset > offset + done)
      return internal_error("the pieces lack a part of a chunk");
    const uint64_t from = offset + done - piece->offset;
    if (from >= piece->bytes.size()) return internal_error("the pieces lack a part of a chunk");
    const uint64_t now = std::min<uint64_t>(bytes - done, piece->bytes.size() - from);
    std::memcpy(joined.data() + done, piece->bytes.data() + from, now);
    done += now;
  }
  return joined;
}

Status bad_text(const std::string& field) {
  return corrupt(
      fmt::format("the field '{}' holds text that is not UTF-8; skip such rows with on_error=\"skip\"", field));
}

ColumnValues repeat_constant(const Hdf5Column& column, int64_t samples) {
  const size_t bytes = column.preloaded.values.size(), count = static_cast<size_t>(samples);
  ColumnValues made{Buffer::allocate(bytes * count), {}};
  for (size_t i = 0; bytes > 0 && i < count; ++i)
    std::memcpy(made.values.data() + i * bytes, column.preloaded.values.data(), bytes);
  if (column.field.kind != FieldKind::kText) return made;
  made.offsets = Buffer::allocate((count + 1) * sizeof(int64_t));
  auto* const offsets = reinterpret_cast<int64_t*>(made.offsets.data());
  for (size_t i = 0; i <= count; ++i) offsets[i] = static_cast<int64_t>(i * bytes);
  return made;
}

/// Texts of fixed length without their padding.
ColumnValues trimmed_texts(const Hdf5Column& column, const Buffer& rows, int64_t samples) {
  const auto count = static_cast<size_t>(samples);
  ColumnValues made{Buffer::allocate(rows.size()), Buffer::allocate((count + 1) * sizeof(int64_t))};
  auto* const offsets = reinterpret_cast<int64_t*>(made.offsets.data());
  offsets[0] = 0;
  for (size_t i = 0; i < count; ++i) {
    const std::string_view text = hdf5_text(column.leaf, rows.data() + i * column.leaf.bytes);
    if (!text.empty()) std::memcpy(made.values.data() + offsets[i], text.data(), text.size());
    offsets[i + 1] = offsets[i] + static_cast<int64_t>(text.size());
  }
  made.values = made.values.slice(0, static_cast<size_t>(offsets[count]));
  return made;
}

void note_bad_texts(const Hdf5Column& column, const ColumnValues& values, int64_t samples,
                    std::map<int64_t, Status>& bad) {
  if (column.field.kind != FieldKind::kText) return;
  for (int64_t i = 0; i < samples; ++i) {
    const int64_t begin = values.offset()[i];
    const auto bytes = static_cast<size_t>(values.offset()[i + 1] - begin);
    if (!is_utf8(values.values.span().subspan(static_cast<size_t>(begin), bytes)))
      bad.emplace(i, bad_text(column.field.name));
  }
}

}  // namespace

/// A column to fill.
struct Hdf5File::RequestedColumn {
  const Hdf5Column* column = nullptr;
  size_t index = 0;  ///< among the requested fields
  Buffer rows = {};
};

Hdf5File::Hdf5File(Hdf5Columns columns, const std::optional<Hdf5Windows>& windows, uint64_t base)
    : columns_(std::move(columns)), windows_(windows), base_(base),
      samples_(windows ? windows->count(columns_.rows) : columns_.rows) {
  for (const Hdf5Column& column : columns_.columns) schema_.push_back(column.field);
  group_samples_ = static_cast<int64_t>(plan_group_samples());
}

uint64_t Hdf5File::item_bytes(const Hdf5Column& column) const {
  switch (column.from) {
    case Hdf5Column::From::kNumbers:
      return (ByteCount(column.numbers_per_element) * dtype_size(column.field.dtype)).value();
    case Hdf5Column::From::kText: return column.leaf.bytes;
    default: return 0;
  }
}

uint64_t Hdf5File::sample_bytes(const Hdf5Column& column) const {
  const uint64_t offset = column.field.fixed_shape() ? 0 : sizeof(int64_t);
  if (column.from == Hdf5Column::From::kConstant) return column.preloaded.values.size() + offset;
  if (column.from == Hdf5Column::From::kPreloaded) return 0;
  const Hdf5DataSet& data = columns_.data[column.data];
  const ByteCount row = ByteCount(data.row_bytes() / data.type.bytes) * item_bytes(column);
  return (row * (windows_ ? static_cast<uint64_t>(windows_->rows) : 1) + offset).value();
}

// Row groups begin where the longest chunks do, so that these are decoded once. Shorter chunks end
// there too if their lengths divide.
uint64_t Hdf5File::plan_group_samples() const {
  ByteCount sample = 1;
  for (const Hdf5Column& column : columns_.columns) sample += sample_bytes(column);
  uint64_t bytes = sample.value(), step = 1;
  for (const Hdf5DataSet& data : columns_.data) step = std::max(step, data.chunk.empty() ? 1 : data.chunk[0]);
  const auto all = static_cast<uint64_t>(std::max<int64_t>(columns_.rows, 1));
  step = std::min(step, all);
  if (!windows_) return std::min(std::max<uint64_t>(1, kSpanBytes / bytes / step) * step, all);
  const auto stride = static_cast<uint64_t>(windows_->stride), window = static_cast<uint64_t>(windows_->rows);
  const uint64_t most = std::max<uint64_t>(1, kMaxSpanBytes / bytes);
  const ByteCount wanted = std::max(ByteCount(kSpanBytes / bytes) * stride, ByteCount(kWindowsToShare) * window);
  const ByteCount rows = std::max<ByteCount>(1, wanted / step) * step;
  return std::max<uint64_t>(1, std::min(most, (rows / stride).value()));
}

int64_t Hdf5File::rows(int64_t group) const { return std::min(group_samples_, samples_ - group * group_samples_); }

Hdf5File::Rows Hdf5File::rows_of(int64_t group) const {
  const auto first = static_cast<uint64_t>(group * group_samples_), count = static_cast<uint64_t>(rows(group));
  if (!windows_) return {first, count};
  const auto stride = static_cast<uint64_t>(windows_->stride);
  return {first * stride, (count - 1) * stride + static_cast<uint64_t>(windows_->rows)};
}

std::vector<ByteRange> Hdf5File::ranges(int64_t group, std::span<const size_t> fields) const {
  const Rows rows = rows_of(group);
  std::vector<bool> wanted(columns_.data.size());
  for (const size_t field : fields) {
    const Hdf5Column& column = columns_.columns[field];
    const bool stored = column.from == Hdf5Column::From::kNumbers || column.from == Hdf5Column::From::kText;
    if (stored) wanted[column.data] = true;
  }
  std::vector<ByteRange> all;
  for (size_t data = 0; data < wanted.size(); ++data) {
    if (!wanted[data]) continue;
    for (ByteRange range : hdf5_stored_ranges(columns_.data[data], rows.first, rows.count)) {
      if (range.length > 0) all.push_back({range.offset + base_, range.length});
    }
  }
  std::ranges::sort(all, {}, &ByteRange::offset);
  // In a damaged file two chunks may share bytes.
  std::vector<ByteRange> apart;
  for (const ByteRange& range : all) {
    const uint64_t end = apart.empty() ? 0 : apart.back().offset + apart.back().length;
    if (apart.empty() || range.offset >= end)
      apart.push_back(range);
    else
      apart.back().length = std::max(end, range.offset + range.length) - apart.back().offset;
  }
  return apart;
}

ChunkCost Hdf5File::cost(int64_t group, std::span<const size_t> fields) const {
  ChunkCost cost;
  for (const ByteRange& range : ranges(group, fields)) cost.fetched_bytes += range.length;
  const Rows rows_here = rows_of(group);
  for (const size_t field : fields) {
    const Hdf5Column& column = columns_.columns[field];
    ByteCount bytes = ByteCount(sample_bytes(column)) * static_cast<uint64_t>(rows(group)) + cost.decoded_bytes;
    // Rows are held in addition to the windows made of them, and texts in addition to the trimmed
    // ones.
    if (windows_ || column.from == Hdf5Column::From::kText) {
      const Hdf5DataSet& data = columns_.data[column.data];
      if (column.from != Hdf5Column::From::kConstant)
        bytes += ByteCount(data.row_bytes() / data.type.bytes) * item_bytes(column) * rows_here.count;
    }
    cost.decoded_bytes = bytes.value();
  }
  return cost;
}

uint64_t Hdf5File::index_bytes() const {
  uint64_t bytes = sizeof *this;
  for (const Hdf5DataSet& data : columns_.data) bytes += data.index_bytes();
  for (const Hdf5Column& column : columns_.columns)
    bytes += sizeof column + column.preloaded.values.size() + column.preloaded.offsets.size();
  return bytes;
}

namespace {

// Describes how the items of a column are extracted from the elements of its data set. Items that
// are whole elements in their final form are copied.
Hdf5Extract extract_of(const Hdf5Column& column, const Hdf5DataSet& set, uint64_t item_bytes) {
  Hdf5Extract extract{item_bytes, {}, nullptr};
  const bool whole = extract.item_bytes == set.type.bytes;
  if (column.from == Hdf5Column::From::kText && !whole) {
    extract.convert = [&column, &set](const uint8_t* in, uint64_t count, uint8_t* out) {
      for (uint64_t i = 0; i < count; ++i)
        std::memcpy(out + i * column.leaf.bytes, in + i * set.type.bytes + column.offset, column.leaf.bytes);
    };
  } else if (column.from == Hdf5Column::From::kNumbers && !(whole && column.numbers.is_copy())) {
    extract.convert = [&column, &set](const uint8_t* in, uint64_t count, uint8_t* out) {
      column.numbers.convert(in + column.offset, set.type.bytes, count, column.numbers_per_element, out);
    };
  }
  return extract;
}

}  // namespace

Status Hdf5File::decode_data(size_t data, Rows rows, std::span<RequestedColumn> requested_columns,
                             std::span<const Piece> pieces, Hdf5Filtering& filtering, WorkMemory& memory) const {
  const Hdf5DataSet& set = columns_.data[data];
  const uint64_t elements = set.row_bytes() / set.type.bytes * rows.count;
  std::vector<Hdf5Extract> extracts;
  for (RequestedColumn& requested : requested_columns) {
    const Hdf5Column& column = *requested.column;
    const bool stored = column.from == Hdf5Column::From::kNumbers || column.from == Hdf5Column::From::kText;
    if (!stored || column.data != data) continue;
    extracts.push_back(extract_of(column, set, item_bytes(column)));
    requested.rows = Buffer::allocate(elements * extracts.back().item_bytes);
    extracts.back().out = requested.rows.data();
  }
  if (extracts.empty()) return {};
  const Hdf5Stored stored = [&](uint64_t address, uint64_t bytes) {
    return find_piece(pieces, address + base_, bytes);
  };
  const Status read = read_hdf5_rows(set, rows.first, rows.count, stored, extracts, filtering, memory);
  // OutOfBudget keeps its figure, because the caller asks again for that much memory.
  if (read.ok() || read.code() == Code::kOutOfBudget) return read;
  Status failure(read.code(), fmt::format("'{}': {}", set.path, read.message()));
  return read.range() ? std::move(failure).with_range({read.range()->offset + base_, read.range()->length}) : failure;
}

ColumnValues Hdf5File::windowed(const Hdf5Column& column, Buffer rows, int64_t samples) const {
  const auto stride = static_cast<uint64_t>(windows_->stride), window = static_cast<uint64_t>(windows_->rows);
  // Adjacent windows are the rows themselves.
  if (stride == window) return {std::move(rows), {}};
  const uint64_t window_bytes = row_bytes(column.field), row = window_bytes / window;
  ColumnValues made{Buffer::allocate(window_bytes * static_cast<uint64_t>(samples)), {}};
  for (uint64_t i = 0; window_bytes > 0 && i < static_cast<uint64_t>(samples); ++i)
    std::memcpy(made.values.data() + i * window_bytes, rows.data() + i * stride * row, window_bytes);
  return made;
}

ColumnValues Hdf5File::preloaded(const Hdf5Column& column, Rows rows) const {
  const size_t begin = rows.first * sizeof(int64_t), count = (rows.count + 1) * sizeof(int64_t);
  return {column.preloaded.values, column.preloaded.offsets.slice(begin, count)};
}

Result<Columns> Hdf5File::decode(int64_t group, std::span<const size_t> fields, std::span<const Piece> pieces,
                                 WorkMemory& memory) const {
  const Rows rows_here = rows_of(group);
  Columns columns;
  columns.rows = rows(group);
  columns.values.resize(fields.size());
  std::vector<RequestedColumn> requested_columns;
  for (size_t i = 0; i < fields.size(); ++i) {
    requested_columns.push_back({&columns_.columns[fields[i]], i});
    columns.schema.push_back(schema_[fields[i]]);
  }
  Hdf5Filtering filtering;
  for (size_t data = 0; data < columns_.data.size(); ++data)
    FOREBAY_RETURN_IF_ERROR(decode_data(data, rows_here, requested_columns, pieces, filtering, memory));
  std::map<int64_t, Status> bad;
  for (RequestedColumn& requested : requested_columns) {
    const Hdf5Column& column = *requested.column;
    ColumnValues& values = columns.values[requested.index];
    switch (column.from) {
      case Hdf5Column::From::kNumbers:
        values = windows_ ? windowed(column, std::move(requested.rows), columns.rows)
                          : ColumnValues{std::move(requested.rows), {}};
        break;
      case Hdf5Column::From::kText: values = trimmed_texts(column, requested.rows, columns.rows); break;
      case Hdf5Column::From::kPreloaded: values = preloaded(column, rows_here); break;
      case Hdf5Column::From::kConstant: values = repeat_constant(column, columns.rows); break;
    }
    // Constants were checked when the file was opened.
    if (column.from != Hdf5Column::From::kConstant) note_bad_texts(column, values, columns.rows, bad);
  }
  if (!bad.empty()) columns.bad_rows = std::make_shared<const std::map<int64_t, Status>>(std::move(bad));
  return columns;
}

}  // namespace forebay
