#include "stream/rows/file_rows.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "stream/rows/row_place.h"

namespace forebay {

namespace {

// Payloads of small rows share a block of this size. This saves allocations, and a row that is
// stored for long keeps at most one block alive.
constexpr size_t kBlockBytes = size_t{1} << 10;

}  // namespace

Result<std::shared_ptr<const ChunkSource>> open_file_table(std::shared_ptr<OpenedFile> file, const std::string& path,
                                                           const RowReading& reading, const std::stop_token& stop) {
  DataFiles files;
  files.base = reading.pattern.base();
  files.files.push_back({path, file->size(), 0});
  // The table reads the open file, since its name may belong to another file by now.
  files.store = std::move(file);
  return open_table_files(std::move(files), reading.request, *reading.codecs, stop);
}

FileRows::FileRows(FolderPlace place, std::shared_ptr<OpenedFile> file, std::shared_ptr<const ChunkSource> table,
                   int64_t first, const RowReading& reading, const RowPayload& payload)
    : place_(std::move(place)), file_(std::move(file)), table_(std::move(table)), reading_(reading), payload_(payload),
      next_(first), last_(table_->size() - 1) {
  // The last row has the file's place as its offset, so it must be known before the first row.
  while (last_ >= 0 && !is_selected(last_)) --last_;
  skip_unselected();
}

bool FileRows::is_selected(int64_t row) const {
  const std::vector<uint64_t>* const kept = table_->kept_rows();
  return kept == nullptr || ((*kept)[static_cast<size_t>(row / 64)] >> (row % 64) & 1) != 0;
}

void FileRows::skip_unselected() {
  while (next_ <= last_ && !is_selected(next_)) ++next_;
}

LogRecord FileRows::record_of(int64_t row, Buffer payload) const {
  // The record of a bad row group is at the group's last row, which may be after `last_`.
  const RowPlace at{place_, row >= last_ ? RowPlace::kLast : row};
  return {0, at.to_string(), table_->key(row), std::move(payload)};
}

Result<std::vector<Buffer>> FileRows::fetch(int64_t chunk, const std::stop_token& stop) const {
  const ChunkSource::ChunkFetch fetch = table_->chunk_fetch(chunk);
  std::vector<Buffer> fetched;
  for (const ReadRequest& request : fetch.requests) {
    FOREBAY_ASSIGN(Buffer bytes, read_wait(*fetch.store, request, stop));
    fetched.push_back(std::move(bytes));
  }
  return fetched;
}

Result<Columns> FileRows::decode(int64_t chunk, const std::stop_token& stop) const {
  const uint64_t bytes = table_->chunk_cost(chunk).decoded_bytes;
  if (bytes > reading_.max_group_bytes)
    return out_of_budget(fmt::format("takes {} bytes of memory, and {} are the most for one that is followed; write "
                                     "smaller ones, or read fewer columns",
                                     bytes, reading_.max_group_bytes),
                         bytes);
  Result<std::vector<Buffer>> fetched = fetch(chunk, stop);
  // Bytes that were written in the meantime may look like damage, or like data.
  FOREBAY_RETURN_IF_ERROR(file_->check_unwritten());
  if (!fetched.ok()) return fetched.status();
  WorkMemory memory(reading_.max_group_bytes - bytes);
  return table_->decode(chunk, std::move(*fetched), memory);
}

// A row group that cannot be read is one record, in the place of its last row.
Status FileRows::load_group(const std::stop_token& stop, std::vector<LogRecord>& out) {
  while (table_->chunk_begin(chunk_ + 1) <= next_) ++chunk_;
  group_begin_ = table_->chunk_begin(chunk_);
  group_end_ = table_->chunk_begin(chunk_ + 1);
  Result<Columns> columns = decode(chunk_, stop);
  if (columns.ok()) {
    group_bytes_ = columns->nbytes();
    group_ = std::move(*columns);
    return {};
  }
  const Status& why = columns.status();
  if (!is_data_error(why.code())) return Status(why).with_key(table_->chunk_name(chunk_));
  out.push_back(record_of(group_end_ - 1, RowPayload::of_error(why)));
  out.back().key = table_->chunk_name(chunk_);
  next_ = group_end_;
  return {};
}

const Status* FileRows::bad_row(int64_t row) const {
  if (!group_->bad_rows) return nullptr;
  const auto bad = group_->bad_rows->find(row - group_begin_);
  return bad == group_->bad_rows->end() ? nullptr : &bad->second;
}

// Adds the next rows of the group, with their payloads in one block.
uint64_t FileRows::take_block(size_t records, uint64_t bytes, std::vector<LogRecord>& out) {
  std::vector<std::pair<int64_t, size_t>> rows;  // row and its bytes; 0: a bad row
  size_t size = 0;
  while (next_ <= std::min(last_, group_end_ - 1) && rows.size() < records &&
         size < std::min<uint64_t>(bytes, kBlockBytes)) {
    const size_t row_bytes = bad_row(next_) != nullptr ? 0 : payload_.bytes(*group_, next_ - group_begin_);
    if (!rows.empty() && size + row_bytes > kBlockBytes) break;
    rows.emplace_back(next_++, row_bytes);
    size += row_bytes;
    skip_unselected();
  }
  const Buffer block = Buffer::allocate(size);
  uint64_t taken = 0;
  size_t at = 0;
  for (const auto& [row, row_bytes] : rows) {
    Buffer payload = block.slice(at, row_bytes);
    if (row_bytes == 0)
      payload = RowPayload::of_error(*bad_row(row));
    else
      payload_.write(*group_, row - group_begin_, payload.data());
    at += row_bytes;
    out.push_back(record_of(row, std::move(payload)));
    taken += out.back().bytes();
  }
  return taken;
}

Status FileRows::take(size_t records, uint64_t bytes, const std::stop_token& stop, std::vector<LogRecord>& out) {
  const size_t until = out.size() + records;
  uint64_t taken = 0;
  while (!done() && out.size() < until && taken < bytes) {
    if (stop.stop_requested()) return cancelled("stopped while reading rows");
    if (!group_) FOREBAY_RETURN_IF_ERROR(load_group(stop, out));
    if (group_) taken += take_block(until - out.size(), bytes - taken, out);
    if (next_ < group_end_ && !done()) continue;
    group_.reset();
    group_bytes_ = 0;
    skip_unselected();
  }
  return {};
}

}  // namespace forebay
