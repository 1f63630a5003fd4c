#include "stream/pushed_log.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace forebay {

namespace {

// Limits of the queue between the two threads. Neither should wait for the other at each record.
constexpr size_t kMaxPushed = 256;
constexpr uint64_t kMaxPushedBytes = uint64_t{4} << 20;

}  // namespace

struct PushedRecords::Gone {
  Mutex mutex;
  std::vector<std::string> keys FOREBAY_GUARDED_BY(mutex);
};

PushedRecords::PushedRecords() : gone_(std::make_shared<Gone>()) {}

PushedRecords::Pushed PushedRecords::push(std::string offset, std::string key, uint64_t bytes,
                                          std::chrono::milliseconds patience) {
  // When the last owner of the record releases it, its key goes to `gone`.
  auto tell = [gone = gone_, key](void*) {
    const Lock lock(gone->mutex);
    gone->keys.push_back(key);
  };
  Lock lock(mutex_);
  // The wait is bounded, so that a Python thread can check for Ctrl-C and for the end of its
  // loader.
  const bool room = changed_.wait_for(lock, patience, [&]() FOREBAY_REQUIRES(mutex_) {
    return closed_ || (records_.size() < kMaxPushed && bytes_ < kMaxPushedBytes);
  });
  if (closed_) return Pushed::kClosed;
  if (!room) return Pushed::kFull;
  LogRecord record;
  record.offset = std::move(offset);
  record.key = std::move(key);
  record.external_bytes = bytes;
  // The payload has no bytes but an owner. Copies of the record share it, and its deleter runs when
  // the last of them is destroyed.
  record.payload = Buffer(nullptr, 0, std::shared_ptr<void>(nullptr, std::move(tell)));
  bytes_ += record.bytes();
  records_.push_back(std::move(record));
  if (records_.size() == 1) changed_.notify_all();
  return Pushed::kTaken;
}

void PushedRecords::end() {
  const Lock lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

void PushedRecords::fail(Status status) {
  const Lock lock(mutex_);
  failure_ = std::move(status);
  ended_ = true;
  changed_.notify_all();
}

void PushedRecords::close() {
  std::deque<LogRecord> records;  // destroyed without the lock: each reports its release
  const Lock lock(mutex_);
  closed_ = true;
  records.swap(records_);
  bytes_ = 0;
  changed_.notify_all();
}

bool PushedRecords::closed() {
  const Lock lock(mutex_);
  return closed_;
}

std::vector<std::string> PushedRecords::take_gone() {
  const Lock lock(gone_->mutex);
  return std::exchange(gone_->keys, {});
}

class PushedLog::Reader final : public LogReader {
 public:
  Reader(const PushedLog& log, const LogPosition& from) : feed_(new PushedRecords), partition_(from.partition) {
    log.open_(from.partition, from.after, feed_);
  }
  ~Reader() override { feed_->close(); }

  Result<std::vector<LogRecord>> read(const std::vector<size_t>&, const Limits& limits, std::stop_token stop) override {
    std::vector<LogRecord> records;
    Lock lock(feed_->mutex_);
    feed_->changed_.wait_for(lock, stop, limits.wait, [&]() FOREBAY_REQUIRES(feed_->mutex_) {
      return !feed_->records_.empty() || feed_->ended_;
    });
    uint64_t bytes = 0;
    while (!feed_->records_.empty() && records.size() < limits.records && bytes <= limits.bytes) {
      const uint64_t size = feed_->records_.front().bytes();
      bytes += size;
      feed_->bytes_ -= size;
      records.push_back(std::move(feed_->records_.front()));
      records.back().partition = partition_;
      feed_->records_.pop_front();
    }
    // Records that were pushed before the end or the failure are given first.
    if (records.empty() && feed_->ended_) {
      FOREBAY_RETURN_IF_ERROR(feed_->failure_);
      ended_ = true;
    }
    feed_->changed_.notify_all();
    return records;
  }

  bool ended() const override { return ended_; }

 private:
  const std::shared_ptr<PushedRecords> feed_;
  const size_t partition_;
  bool ended_ = false;
};

PushedLog::PushedLog(std::string name, std::vector<std::string> partitions, Open open)
    : name_(std::move(name)), partitions_(std::move(partitions)), open_(std::move(open)) {
  schema_.open_ended = true;
}

Result<std::unique_ptr<LogReader>> PushedLog::read_after(std::vector<LogPosition> from) const {
  return std::unique_ptr<LogReader>(std::make_unique<Reader>(*this, from.front()));
}

Result<std::vector<std::string>> PushedLog::ends(std::stop_token) const {
  // Python never gets here: it refuses start="now" for programs.
  return Status(Code::kUnsupported, fmt::format("{} has no end to begin at: only its program knows one", name_));
}

Status PushedLog::check_offset(const std::string& offset) const {
  if (number_of_offset(offset)) return {};
  return invalid_argument(fmt::format("'{}' is no offset of {}: a count is wanted", offset.substr(0, 80), name_));
}

}  // namespace forebay
