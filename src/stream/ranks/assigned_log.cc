#include "stream/ranks/assigned_log.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "stream/polling_reader.h"
#include "stream/ranks/request_pauses.h"
#include "telemetry/log.h"

namespace forebay {

namespace {

// A rank that does not answer for so long is given up: its partitions are read here.
constexpr std::chrono::seconds kOwnerPatience{2};
// Each follower takes a thread, so their number does not grow with the ranks.
constexpr size_t kMaxFollowers = 4;
// Partitions of one request (kMaxRankItems); a topic may have thousands.
constexpr size_t kMaxPartitionsRequested = 512;
// If one reader follows more ranks than this, the longest pause grows with their number.
constexpr size_t kRanksOfShortPause = 4;

// Reads partitions of this rank, and adds their records to the shelf for the other ranks.
class SharingReader final : public LogReader {
 public:
  SharingReader(std::unique_ptr<LogReader> reader, std::shared_ptr<RecordShelf> shelf)
      : reader_(std::move(reader)), shelf_(std::move(shelf)) {}

  Result<std::vector<LogRecord>> read(const std::vector<size_t>& wanted, const Limits& limits,
                                      std::stop_token stop) override {
    FOREBAY_ASSIGN(std::vector<LogRecord> records, reader_->read(wanted, limits, stop));
    // The next run reads these records again.
    if (stop.stop_requested()) return records;
    const std::vector<LogGap> gaps = reader_->take_gaps();
    gaps_.insert(gaps_.end(), gaps.begin(), gaps.end());
    if (!records.empty() || !gaps.empty()) shelf_->add(records, gaps);
    return records;
  }
  std::vector<LogGap> take_gaps() override { return std::exchange(gaps_, {}); }
  std::string trouble() const override { return reader_->trouble(); }
  int64_t reconnects() const override { return reader_->reconnects(); }
  uint64_t held_bytes() const override { return reader_->held_bytes(); }
  bool ended() const override { return reader_->ended(); }

 private:
  const std::unique_ptr<LogReader> reader_;
  const std::shared_ptr<RecordShelf> shelf_;
  std::vector<LogGap> gaps_;
};

// Follows partitions of other ranks: returns their records without payload, as notes report them.
// Once a rank is given up, it reads the rank's partitions itself.
class FollowingReader final : public PollingReader {
 public:
  FollowingReader(std::shared_ptr<const RecordLog> log, int ranks, AssignedLog::Ask ask,
                  std::shared_ptr<AssignedLog::Warned> warned, const std::vector<LogPosition>& from, StreamClock& clock)
      : PollingReader(clock), log_(std::move(log)), ask_(std::move(ask)), warned_(std::move(warned)) {
    for (const LogPosition& position : from) {
      const int rank = AssignedLog::reader_of(position.partition, ranks);
      const auto same = [&](const Owner& owner) { return owner.rank == rank; };
      auto owner = std::find_if(owners_.begin(), owners_.end(), same);
      if (owner == owners_.end()) owner = owners_.insert(owners_.end(), Owner{rank});
      owner->partitions.push_back({position.partition, 0, position.after});
    }
  }

  std::string trouble() const override {
    for (const Owner& owner : owners_) {
      if (owner.direct && !owner.direct->trouble().empty()) return owner.direct->trouble();
      if (!owner.trouble.empty())
        return fmt::format("rank {}, which reads '{}': {}", owner.rank,
                           log_->partitions()[owner.partitions.front().partition], owner.trouble);
    }
    return {};
  }
  int64_t reconnects() const override {
    int64_t sum = 0;
    for (const Owner& owner : owners_) sum += owner.direct ? owner.direct->reconnects() : 0;
    return sum;
  }
  uint64_t held_bytes() const override {
    uint64_t sum = 0;
    for (const Owner& owner : owners_) sum += owner.direct ? owner.direct->held_bytes() : 0;
    return sum;
  }

 private:
  struct Followed {
    size_t partition = 0;
    uint64_t notes = 0;  // received
    std::string last;    // offset of the last record
  };
  struct Owner {
    int rank = 0;
    std::vector<Followed> partitions = {};
    std::string trouble = {};
    StreamClock::Time since = {};            // since when `trouble` is set
    std::unique_ptr<LogReader> direct = {};  // set once the rank is given up
  };

  Status poll(const std::vector<size_t>& wanted, const Limits& limits, const std::stop_token& stop,
              std::vector<LogRecord>& records) override {
    for (Owner& owner : owners_) FOREBAY_RETURN_IF_ERROR(read_owner(owner, wanted, limits, stop, records));
    if (!records.empty() || !gaps_.empty()) pause_ = kShortestPause;
    return {};
  }

  Time next_poll(size_t) override {
    const auto longest = kLongestPause * static_cast<int>(std::max<size_t>(1, owners_.size() / kRanksOfShortPause));
    return clock_.now() + std::exchange(pause_, std::min(2 * pause_, longest));
  }

  Status read_owner(Owner& owner, const std::vector<size_t>& wanted, const Limits& limits, const std::stop_token& stop,
                    std::vector<LogRecord>& records) {
    std::vector<Followed*> asked;
    for (Followed& followed : owner.partitions)
      if (std::find(wanted.begin(), wanted.end(), followed.partition) != wanted.end()) asked.push_back(&followed);
    if (asked.empty() || stop.stop_requested()) return {};
    if (owner.direct) return read_direct(owner, asked, limits, stop, records);
    Status taken;
    for (size_t at = 0; at < asked.size() && taken.ok(); at += kMaxPartitionsRequested)
      taken =
          ask_for_notes(owner.rank, std::span(asked).subspan(at, std::min(kMaxPartitionsRequested, asked.size() - at)),
                        stop, records);
    return stop.stop_requested() ? Status() : note_answer(owner, taken);
  }

  Status ask_for_notes(int rank, std::span<Followed* const> asked, const std::stop_token& stop,
                       std::vector<LogRecord>& records) {
    std::vector<RankItem> notes;
    for (const Followed* const followed : asked) notes.push_back({followed->partition, followed->notes});
    FOREBAY_ASSIGN(const std::vector<ResponseItem> answers, ask_(rank, std::move(notes), stop));
    for (size_t i = 0; i < std::min(asked.size(), answers.size()); ++i) {
      if (answers[i].state == ResponseItem::State::kAbsent) return notes_dropped();
      if (answers[i].state == ResponseItem::State::kHere)
        FOREBAY_RETURN_IF_ERROR(take_notes(answers[i].body, *asked[i], records));
    }
    return {};
  }

  // The other rank has dropped notes that this rank has not fetched.
  static Status notes_dropped() { return not_found("it has forgotten what it has read since this rank last asked"); }

  Status take_notes(const Buffer& body, Followed& followed, std::vector<LogRecord>& records) {
    FOREBAY_ASSIGN(const std::vector<RecordNote> notes, parse_notes(body.span()));
    for (const RecordNote& note : notes) FOREBAY_RETURN_IF_ERROR(check(note));
    for (const RecordNote& note : notes) {
      ++followed.notes;
      if (note.gap) {
        gaps_.push_back(
            {followed.partition, note.missing < 0 ? std::nullopt : std::optional(note.missing), note.offset});
        continue;
      }
      LogRecord record;
      record.partition = followed.partition;
      record.offset = note.offset;
      record.remote = true;
      records.push_back(std::move(record));
      followed.last = note.offset;
    }
    return {};
  }

  Status check(const RecordNote& note) const {
    if (note.offset.empty()) return {};
    return log_->check_offset(note.offset);
  }

  // A rank that has stopped training, or is gone, sends no notes. Its partitions are then read
  // here.
  Status note_answer(Owner& owner, const Status& answered) {
    if (answered.ok()) {
      owner.trouble.clear();
      return {};
    }
    const Time now = clock_.now();
    if (owner.trouble.empty()) owner.since = now;
    owner.trouble = answered.message();
    if (answered.code() != Code::kNotFound && now - owner.since < kOwnerPatience) return {};
    if (!(*warned_)[static_cast<size_t>(owner.rank)].exchange(true))
      log_warning(fmt::format("{}: rank {} does not say what it reads ({}); its partitions are read here", log_->name(),
                              owner.rank, owner.trouble));
    std::vector<LogPosition> from;
    for (const Followed& followed : owner.partitions) from.push_back({followed.partition, followed.last});
    FOREBAY_ASSIGN(owner.direct, log_->read_after(std::move(from)));
    owner.trouble.clear();
    return {};
  }

  Status read_direct(Owner& owner, const std::vector<Followed*>& asked, Limits limits, const std::stop_token& stop,
                     std::vector<LogRecord>& records) {
    std::vector<size_t> partitions;
    for (const Followed* const followed : asked) partitions.push_back(followed->partition);
    // The same thread follows other ranks, which must not wait.
    if (owners_.size() > 1) limits.wait = std::min(limits.wait, kLongestPause);
    FOREBAY_ASSIGN(std::vector<LogRecord> read, owner.direct->read(partitions, limits, stop));
    const std::vector<LogGap> gaps = owner.direct->take_gaps();
    gaps_.insert(gaps_.end(), gaps.begin(), gaps.end());
    std::move(read.begin(), read.end(), std::back_inserter(records));
    return {};
  }

  const std::shared_ptr<const RecordLog> log_;
  const AssignedLog::Ask ask_;
  const std::shared_ptr<AssignedLog::Warned> warned_;
  std::vector<Owner> owners_;
  std::chrono::milliseconds pause_ = kShortestPause;
};

}  // namespace

// Partitions of this rank are grouped as the log groups them. Partitions of other ranks are grouped
// by rank, so that one request covers all that a rank reads.
std::vector<std::vector<size_t>> AssignedLog::readers() const {
  std::vector<std::vector<size_t>> groups;
  for (std::vector<size_t> group : log_->readers()) {
    std::erase_if(group, [&](size_t partition) { return reader_of(partition, ranks_) != rank_; });
    if (!group.empty()) groups.push_back(std::move(group));
  }
  std::vector<std::vector<size_t>> followers(std::min<size_t>(kMaxFollowers, static_cast<size_t>(ranks_)));
  for (size_t p = 0; p < partitions().size(); ++p) {
    const int reader = reader_of(p, ranks_);
    if (reader != rank_) followers[static_cast<size_t>(reader) % followers.size()].push_back(p);
  }
  for (std::vector<size_t>& group : followers)
    if (!group.empty()) groups.push_back(std::move(group));
  return groups;
}

// `from` is one group of readers(), so either all of its partitions are this rank's or none is.
Result<std::unique_ptr<LogReader>> AssignedLog::read_after(std::vector<LogPosition> from) const {
  if (!from.empty() && reader_of(from.front().partition, ranks_) != rank_)
    return std::unique_ptr<LogReader>(std::make_unique<FollowingReader>(log_, ranks_, ask_, warned_, from, clock_));
  FOREBAY_ASSIGN(std::unique_ptr<LogReader> reader, log_->read_after(std::move(from)));
  return std::unique_ptr<LogReader>(std::make_unique<SharingReader>(std::move(reader), shelf_));
}

}  // namespace forebay
