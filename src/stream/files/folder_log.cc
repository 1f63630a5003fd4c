#include "stream/files/folder_log.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "stream/files/folder_reader.h"

namespace forebay {

namespace {

// The payload of a file is its size. Its bytes are fetched when a step needs them, as for files of
// a data set.
Buffer payload_of_size(uint64_t size) {
  Buffer payload = Buffer::allocate(sizeof size);
  std::memcpy(payload.data(), &size, sizeof size);
  return payload;
}

uint64_t size_in_payload(const Buffer& payload) {
  uint64_t size = 0;
  std::memcpy(&size, payload.data(), std::min(payload.size(), sizeof size));
  return size;
}

class FilesReader final : public FolderReader {
 public:
  FilesReader(FilePattern pattern, FolderPlace after, StreamClock& clock)
      : FolderReader(std::move(pattern), std::move(after), clock) {}

 private:
  Status poll(const std::vector<size_t>&, const Limits& limits, const std::stop_token& stop,
              std::vector<LogRecord>& records) override {
    FOREBAY_ASSIGN(std::vector<FollowedFolder::Found> found, folder_.next(std::max<size_t>(limits.records, 1), stop));
    for (FollowedFolder::Found& one : found)
      records.push_back({0, one.place.to_string(), std::move(one.place.key), payload_of_size(one.file.size)});
    return {};
  }
};

class FolderLog final : public RecordLog {
 public:
  FolderLog(std::shared_ptr<Store> store, FilePattern pattern, RecordFormat format, StreamClock& clock)
      : store_(std::move(store)), pattern_(std::move(pattern)), format_(std::move(format)), clock_(clock),
        schema_(format_.schema()) {
    for (size_t i = 0; i < schema_.size(); ++i) {
      const bool key = schema_[i].name == "key" && format_.form() != PayloadForm::kJson;
      schema_[i].fetched = !key;
    }
  }

  const Schema& schema() const override { return schema_; }
  const std::vector<std::string>& partitions() const override { return partitions_; }
  std::string identity() const override { return fmt::format("files {} {}", pattern_.text(), format_.identity()); }
  std::string name() const override { return pattern_.text(); }

  Result<std::unique_ptr<LogReader>> read_after(std::vector<LogPosition> from) const override {
    FolderPlace after;
    if (!from.empty() && !from[0].after.empty()) {
      FOREBAY_RETURN_IF_ERROR(check_offset(from[0].after));
      after = *FolderPlace::parse(from[0].after);
    }
    return std::unique_ptr<LogReader>(std::make_unique<FilesReader>(pattern_, std::move(after), clock_));
  }
  Result<std::vector<std::string>> ends(std::stop_token stop) const override {
    FOREBAY_ASSIGN(const FolderPlace last, last_settled(pattern_, clock_, stop));
    return std::vector<std::string>{last.key.empty() ? "" : last.to_string()};
  }
  int compare(const std::string& a, const std::string& b) const override {
    const auto order = *FolderPlace::parse(a) <=> *FolderPlace::parse(b);
    return order < 0 ? -1 : order > 0 ? 1 : 0;
  }
  Status check_offset(const std::string& offset) const override {
    if (FolderPlace::parse(offset)) return {};
    return invalid_argument(fmt::format("'{}' is no offset of a followed folder, such as '1700000000123456789/a.jpg'",
                                        offset.substr(0, 100)));
  }

  Store* store() const override { return store_.get(); }
  std::optional<SampleSource::Fetch> fetch(const LogRecord& record) const override {
    SampleSource::Fetch fetch;
    fetch.store = store_.get();
    fetch.size = size_in_payload(record.payload);
    fetch.request.key = pattern_.base() + record.key;
    // If the file was written to since the scan, its size differs, and the read reports an error.
    fetch.request.expected_size = fetch.size;
    return fetch;
  }
  Status load(const LogRecord& record, Buffer fetched, Record& out) const override {
    return format_.decode(record.key, fetched, out);
  }

 private:
  const std::shared_ptr<Store> store_;
  const FilePattern pattern_;
  const RecordFormat format_;
  StreamClock& clock_;
  Schema schema_;
  const std::vector<std::string> partitions_{pattern_.text()};
};

}  // namespace

Result<std::shared_ptr<const RecordLog>> folder_log(std::shared_ptr<Store> store, FilePattern pattern,
                                                    RecordFormat format, StreamClock& clock) {
  if (format.form() == PayloadForm::kFields)
    return invalid_argument("format='fields' is for named values, as Redis has them; files are bytes, text or json");
  return std::shared_ptr<const RecordLog>(
      std::make_shared<const FolderLog>(std::move(store), std::move(pattern), std::move(format), clock));
}

}  // namespace forebay
