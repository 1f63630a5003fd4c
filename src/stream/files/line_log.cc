#include "stream/files/line_log.h"

#include <algorithm>

#include <fmt/format.h>

#include "stream/files/growing_file.h"
#include "stream/number_offset.h"
#include "stream/polling_reader.h"

namespace forebay {

namespace {

/// The pause between two looks at all files, which grows with their number.
std::chrono::microseconds look_every(size_t files) {
  return std::chrono::microseconds(std::clamp<size_t>(files * 20, 2'000, 50'000));
}

class LinesReader final : public PollingReader {
 public:
  LinesReader(std::vector<GrowingFile> files, StreamClock& clock) : PollingReader(clock), files_(std::move(files)) {}

 private:
  Status poll(const std::vector<size_t>& wanted, const Limits& limits, const std::stop_token&,
              std::vector<LogRecord>& records) override {
    FOREBAY_ASSIGN(const std::vector<GrowingFile*> files, find_wanted(wanted, files_));
    const uint64_t share = std::max<uint64_t>(limits.bytes / wanted.size(), 1);
    for (GrowingFile* const file : files)
      FOREBAY_RETURN_IF_ERROR(file->read(std::max<size_t>(limits.records, 1), share, records));
    return {};
  }
  Time next_poll(size_t wanted) override { return clock_.now() + look_every(wanted); }

  std::vector<GrowingFile> files_;
};

class LineLog final : public RecordLog {
 public:
  LineLog(std::string pattern, std::vector<std::string> paths, RecordFormat format, StreamClock& clock)
      : pattern_(std::move(pattern)), paths_(std::move(paths)), format_(std::move(format)), clock_(clock) {}

  const Schema& schema() const override { return format_.schema(); }
  const std::vector<std::string>& partitions() const override { return paths_; }
  std::string identity() const override { return fmt::format("lines {} {}", pattern_, format_.identity()); }
  std::string name() const override { return pattern_; }
  size_t partitions_per_reader() const override { return paths_.size(); }

  Result<std::unique_ptr<LogReader>> read_after(std::vector<LogPosition> from) const override {
    std::vector<GrowingFile> files;
    for (const LogPosition& position : from) {
      if (!position.after.empty()) FOREBAY_RETURN_IF_ERROR(check_offset(position.after));
      files.emplace_back(position.partition, paths_.at(position.partition),
                         number_of_offset(position.after).value_or(0), format_.form() != PayloadForm::kJson);
    }
    return std::unique_ptr<LogReader>(std::make_unique<LinesReader>(std::move(files), clock_));
  }

  Result<std::vector<std::string>> ends(std::stop_token stop) const override {
    std::vector<std::string> ends;
    for (const std::string& path : paths_) {
      if (stop.stop_requested()) return cancelled("stopped while looking for the ends of files");
      FOREBAY_ASSIGN(const uint64_t end, GrowingFile::end_of_lines(path));
      ends.push_back(end == 0 ? "" : fmt::format("{}", end));
    }
    return ends;
  }
  int compare(const std::string& a, const std::string& b) const override { return compare_number_offsets(a, b); }
  Status check_offset(const std::string& offset) const override {
    return check_number_offset(offset, "lines (positions in bytes)", 1);
  }
  Status load(const LogRecord& record, Buffer, Record& out) const override {
    return format_.decode(record.key, record.payload, out);
  }

 private:
  const std::string pattern_;
  const std::vector<std::string> paths_;
  const RecordFormat format_;
  StreamClock& clock_;
};

}  // namespace

Result<std::shared_ptr<const RecordLog>> open_line_log(const FilePattern& pattern, RecordFormat format,
                                                       std::stop_token stop, StreamClock& clock) {
  std::vector<std::string> paths;
  FOREBAY_RETURN_IF_ERROR(pattern.scan(stop, [&](SeenFile&& file) { paths.push_back(std::move(file.path)); }));
  // Sorted by bytes, since ranks must agree on partitions and folders have no fixed order.
  std::ranges::sort(paths);
  const auto twice = std::ranges::unique(paths);
  paths.erase(twice.begin(), twice.end());
  if (paths.empty())
    return not_found(fmt::format("nothing matches '{}'; files that are to be followed must be there, empty perhaps",
                                 pattern.text()));
  return std::shared_ptr<const RecordLog>(
      std::make_shared<const LineLog>(pattern.text(), std::move(paths), std::move(format), clock));
}

}  // namespace forebay
