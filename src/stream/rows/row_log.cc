#include "stream/rows/row_log.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "stream/files/folder_reader.h"
#include "stream/rows/file_rows.h"
#include "stream/rows/row_place.h"

namespace forebay {

namespace {

constexpr std::chrono::seconds kFirstFilePatience{30};
// A folder full of files that are no tables must not be read to its end.
constexpr int kFirstFilesTried = 16;

/// Whether the name of a file, or of a folder on its path, marks it as not being data.
bool is_below_aside(std::string_view key) {
  while (true) {
    // Each folder on the path counts: everything below _temporary/ is skipped.
    const size_t slash = key.find('/');
    if (is_auxiliary_name(key.substr(0, slash))) return true;
    if (slash == std::string_view::npos) return false;
    key.remove_prefix(slash + 1);
  }
}

std::string pattern_of_folder(const std::string& pattern, TableRequest::Format format) {
  struct ::stat info{};
  if (::stat(pattern.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) return pattern;
  const bool parquet = format == TableRequest::Format::kParquet;
  return fmt::format("{}{}**/*{}", pattern, pattern.ends_with('/') ? "" : "/",
                     parquet ? "{.parquet,.parq,.pq}" : "{.arrow,.feather,.ipc,.ftr}");
}

/// Corrupt if a file has other fields than the log. Names and types were compared when it was
/// opened, so only masks of nulls can differ.
Status check_same_fields(const Schema& first, const Schema& found) {
  for (size_t i = 0; i < std::max(first.size(), found.size()); ++i) {
    if (i < first.size() && i < found.size() && first[i].to_string() == found[i].to_string()) continue;
    const Field& field = i < found.size() ? found[i] : first[i];
    return corrupt(fmt::format("'{}' is a field of it or of the first file, and not of both", field.name));
  }
  return {};
}

/// One file, opened if it is still the file of that place.
struct OpenedTable {
  std::shared_ptr<OpenedFile> file;  ///< null if it is gone or was changed
  std::shared_ptr<const ChunkSource> table;
  Status status;  ///< error of its data
};

Result<OpenedTable> open_table_at(const FolderPlace& place, const RowReading& reading, const Schema* schema,
                                  const std::stop_token& stop) {
  const std::string path = reading.pattern.base() + place.key;
  OpenedTable opened;
  // Opened before its time is read: if the name still has the place's time then, the open file is
  // the file of that place.
  Result<std::shared_ptr<OpenedFile>> file = OpenedFile::open(path);
  if (!file.ok() && !is_data_error(file.status().code())) return file.status();
  const Result<SeenFile> now = FilePattern::look_at(path);
  if (!file.ok() || !now.ok() || now->changed_ns != place.changed_ns) return opened;
  opened.file = std::move(*file);
  Result<std::shared_ptr<const ChunkSource>> table = open_file_table(opened.file, path, reading, stop);
  // Checked first, since a file that is being written may look damaged.
  opened.status = opened.file->check_unwritten();
  if (opened.status.ok()) opened.status = table.status();
  // The request was checked with the first file, so a later file that does not fit it is bad. With
  // the first file itself the request may be wrong, which is reported at once.
  if (opened.status.code() == Code::kInvalidArgument && reading.request.model)
    opened.status = corrupt(opened.status.message()).with_key(path);
  if (opened.status.ok() && schema != nullptr) opened.status = check_same_fields(*schema, (*table)->schema());
  if (!opened.status.ok() && !is_data_error(opened.status.code())) return Status(opened.status).with_key(path);
  if (opened.status.ok()) opened.table = std::move(*table);
  return opened;
}

struct RowLogState {
  RowReading reading;
  StreamClock& clock;
  RowPayload payload;
  std::string identity;
  std::string name;
};

class RowsReader final : public FolderReader {
 public:
  RowsReader(std::shared_ptr<const RowLogState> log, RowPlace after)
      : FolderReader(log->reading.pattern, after.file, log->clock), log_(std::move(log)) {
    // After a file's last row that file is not needed; reading begins with the next file.
    if (after.row != RowPlace::kLast) resume_after_ = std::move(after);
  }

  uint64_t held_bytes() const override { return rows_ ? rows_->held_bytes() : 0; }
  /// A bad file is also reported here: the step that contains it may wait forever for other
  /// records.
  std::string trouble() const override { return trouble_; }

 private:
  Status poll(const std::vector<size_t>&, const Limits& limits, const std::stop_token& stop,
              std::vector<LogRecord>& records) override {
    uint64_t bytes = 0;
    const size_t most = std::max<size_t>(limits.records, 1);
    while (records.size() < most && bytes < std::max<uint64_t>(limits.bytes, 1)) {
      if (stop.stop_requested()) return {};
      if (!rows_) {
        FOREBAY_ASSIGN(const bool more, begin_file(stop, records));
        if (!more) return {};
        continue;
      }
      const size_t before = records.size();
      FOREBAY_RETURN_IF_ERROR(rows_->take(most - before, limits.bytes - bytes, stop, records));
      for (size_t i = before; i < records.size(); ++i) bytes += records[i].bytes();
      if (rows_->done()) rows_.reset();
    }
    return {};
  }

  /// Returns whether there was a file.
  Result<bool> begin_file(const std::stop_token& stop, std::vector<LogRecord>& records) {
    if (resume_after_) {
      const RowPlace at = *std::exchange(resume_after_, std::nullopt);
      return begin_at(at.file, at.row + 1, stop, records);
    }
    FOREBAY_ASSIGN(std::vector<FollowedFolder::Found> found, folder_.next(1, stop));
    // If the next file was changed or is gone, those after it may be available.
    if (found.empty()) return folder_.has_waiting();
    if (is_below_aside(found[0].place.key)) return true;
    return begin_at(found[0].place, 0, stop, records);
  }

  Result<bool> begin_at(const FolderPlace& place, int64_t row, const std::stop_token& stop,
                        std::vector<LogRecord>& records) {
    FOREBAY_ASSIGN(OpenedTable opened, open_table_at(place, log_->reading, &log_->payload.schema(), stop));
    const std::string path = log_->reading.pattern.base() + place.key;
    // A file that vanished before any of its rows was returned was never part of the log.
    if (!opened.file && row > 0)
      opened.status =
          not_found(fmt::format("was removed or changed after its row {} was given, with all behind it; "
                                "keep files until their rows have been read",
                                row - 1));
    trouble_ = opened.status.ok() ? "" : fmt::format("{}: {}", path, opened.status.message());
    if (!opened.status.ok())
      // The place of the file's last row, so that reading continues after the file.
      records.push_back({0, RowPlace{place}.to_string(), path, RowPayload::of_error(opened.status)});
    if (opened.table)
      rows_.emplace(place, std::move(opened.file), std::move(opened.table), row, log_->reading, log_->payload);
    return true;
  }

  const std::shared_ptr<const RowLogState> log_;
  std::optional<RowPlace> resume_after_;  ///< last row that was read of a partly read file
  std::optional<FileRows> rows_;
  std::string trouble_;  ///< error of the last file; empty if it is good
};

class RowLog final : public RecordLog {
 public:
  explicit RowLog(RowLogState parts)
      : state_(std::make_shared<const RowLogState>(std::move(parts))), partitions_{state_->name} {}

  const Schema& schema() const override { return state_->payload.schema(); }
  const std::vector<std::string>& partitions() const override { return partitions_; }
  std::string identity() const override { return state_->identity; }
  std::string name() const override { return state_->name; }

  Result<std::unique_ptr<LogReader>> read_after(std::vector<LogPosition> from) const override {
    RowPlace after;
    if (!from.empty() && !from[0].after.empty()) {
      FOREBAY_RETURN_IF_ERROR(check_offset(from[0].after));
      after = *RowPlace::parse(from[0].after);
    }
    return std::unique_ptr<LogReader>(std::make_unique<RowsReader>(state_, std::move(after)));
  }
  Result<std::vector<std::string>> ends(std::stop_token stop) const override {
    FOREBAY_ASSIGN(FolderPlace last, last_settled(state_->reading.pattern, state_->clock, stop));
    return std::vector<std::string>{last.key.empty() ? "" : RowPlace{std::move(last)}.to_string()};
  }
  int compare(const std::string& a, const std::string& b) const override {
    const auto order = *RowPlace::parse(a) <=> *RowPlace::parse(b);
    return order < 0 ? -1 : order > 0 ? 1 : 0;
  }
  Status check_offset(const std::string& offset) const override {
    if (RowPlace::parse(offset)) return {};
    return invalid_argument(
        fmt::format("'{}' is no offset of rows of a followed folder, such as '1700000000123456789#17/a.parquet'",
                    offset.substr(0, 100)));
  }
  Status load(const LogRecord& record, Buffer, Record& out) const override {
    return state_->payload.read(record.payload, record.key, out);
  }

 private:
  const std::shared_ptr<const RowLogState> state_;
  const std::vector<std::string> partitions_;
};

Result<bool> has_files(const FilePattern& pattern, const std::stop_token& stop) {
  bool any = false;
  FOREBAY_RETURN_IF_ERROR(pattern.scan(stop, [&](SeenFile&& file) {
    any = any || (!is_unfinished_name(file.path) && !is_below_aside(pattern.key(file.path)));
  }));
  return any;
}

/// Opens the first file in the log's order that can be read.
Result<std::shared_ptr<const ChunkSource>> first_table(const RowReading& reading, StreamClock& clock,
                                                       const std::stop_token& stop) {
  FOREBAY_ASSIGN(const bool any, has_files(reading.pattern, stop));
  if (!any)
    return not_found(
        fmt::format("nothing matches '{}' yet, and the first file says which columns there are; write a "
                    "file with these columns and no rows",
                    reading.pattern.text()));
  // Uses the log's order, so that all ranks take the same file as the first.
  FollowedFolder folder(reading.pattern, {}, clock);
  const auto end = clock.now() + kFirstFilePatience;
  Status first_bad;
  for (int tried = 0; tried < kFirstFilesTried && clock.now() < end;) {
    FOREBAY_ASSIGN(const std::vector<FollowedFolder::Found> found, folder.next(1, stop));
    if (found.empty()) {
      if (!first_bad.ok()) return first_bad;
      if (!clock.wait_for(std::chrono::milliseconds(20), stop))
        return cancelled("stopped while waiting for a first file");
      continue;
    }
    if (is_below_aside(found[0].place.key)) continue;
    ++tried;
    FOREBAY_ASSIGN(OpenedTable opened, open_table_at(found[0].place, reading, nullptr, stop));
    if (opened.table) return opened.table;
    if (first_bad.ok()) first_bad = opened.status;
  }
  if (!first_bad.ok()) return first_bad;
  return unavailable(
      fmt::format("'{}': no file has been left alone for a second in the last {}; write under names that end in "
                  ".tmp, and rename",
                  reading.pattern.text(), kFirstFilePatience.count()));
}

}  // namespace

Result<std::shared_ptr<const RecordLog>> open_row_log(const std::string& pattern, RowRequest request,
                                                      const TableCodecs& codecs, std::stop_token stop,
                                                      StreamClock& clock) {
  const bool parquet = request.table.format == TableRequest::Format::kParquet;
  FOREBAY_ASSIGN(FilePattern files, FilePattern::of(pattern_of_folder(pattern, request.table.format)));
  RowReading reading{std::move(files), std::move(request.table), &codecs, request.max_group_bytes};
  FOREBAY_ASSIGN(const std::shared_ptr<const ChunkSource> first, first_table(reading, clock, stop));
  reading.request.model = model_of(*first);
  Schema schema;
  std::string identity = fmt::format("rows of {} files {} {}", parquet ? "parquet" : "arrow", pattern, request.said);
  for (Field field : first->schema()) {
    identity += "\n" + field.to_string();
    field.fetched = false;  // it is part of the record
    schema.push_back(std::move(field));
  }
  return std::shared_ptr<const RecordLog>(std::make_shared<const RowLog>(
      RowLogState{std::move(reading), clock, RowPayload(std::move(schema)), std::move(identity), pattern}));
}

}  // namespace forebay
