#include "stream/decisions.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <future>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace forebay {

namespace {

constexpr size_t kMostAhead = 1024;  // chunks that are decided and not asked for by all
// Of one question: what is lost is asked for again, and says the same. The pauses: while what comes is not decided yet.
constexpr std::chrono::milliseconds kDeadline{1000}, kShortestPause{1}, kLongestPause{20};
constexpr std::chrono::seconds kLinger{5};           // for ranks that have not asked for the last chunks yet
constexpr std::chrono::seconds kLongestSilence{60};  // of rank 0, before the others give up
// A chunk is tens of bytes a partition, and a topic may have thousands of these.
constexpr uint64_t kMostChunkBytes = uint64_t{16} << 20, kMostRecordBytes = uint64_t{1} << 30;

// `seeks`: the chunks of another run begin with the same numbers.
Hash128 key_of(uint64_t seeks, int64_t first, int asker) {
  return hash128(fmt::format("chunk {} {} {}", seeks, first, asker));
}

// Of a kept record. Its number is in it, since whoever is asked must find it.
constexpr uint64_t kRecordKeys = 0x666f726562617901;
Hash128 key_of_record(uint64_t seeks, int64_t number) { return {kRecordKeys + seeks, static_cast<uint64_t>(number)}; }
// Of a rank that asks for nothing more.
constexpr uint64_t kGoodbyeKeys = 0x666f726562617902;
constexpr std::chrono::milliseconds kGoodbye{200};  // for rank 0 to hear it
// Elements of questions: chunks are their first numbers, records are below -1.
constexpr int64_t kRecordElements = -2;

Result<std::vector<AnsweredKey>> ask(Transport& transport, const PeerHost& host, std::vector<WantedKey> wanted,
                                     const std::stop_token& stop, std::chrono::milliseconds deadline = kDeadline) {
  std::promise<Result<std::vector<AnsweredKey>>> answered;
  // It answers exactly once, after a stop too: nobody waits here for ever.
  transport.fetch(host, std::move(wanted), deadline, stop,
                  [&](Result<std::vector<AnsweredKey>> answer) { answered.set_value(std::move(answer)); });
  return answered.get_future().get();
}

}  // namespace

/// Called from the threads of a transport and, under its lock, by the stream that decides.
class Decisions::Kept final : public KeySource, public ChunkWitness {
 public:
  void know(int ranks) {
    const std::lock_guard lock(mutex_);
    asked_.assign(static_cast<size_t>(ranks), kNever);
    by_key_.clear();
  }
  void lead(Stream* stream) {
    const std::lock_guard lock(mutex_);
    stream_ = stream;
  }
  void lend(std::shared_ptr<const KeptRecords> records) {
    const std::lock_guard lock(mutex_);
    records_ = std::move(records);
  }
  void begin_anew(uint64_t seeks) {
    const std::lock_guard lock(mutex_);
    seeks_ = seeks;
    chunks_.clear();
    by_key_.clear();
    std::fill(asked_.begin(), asked_.end(), kNever);
  }

  void decided(const Chunk& chunk) override {
    const std::lock_guard lock(mutex_);
    // A key for each who may ask: questions do not say whose they are, and what all have is found by who has asked.
    chunks_.push_back({chunk.first, chunk.to_json()});
    for (int rank = 1; rank < static_cast<int>(asked_.size()); ++rank)
      by_key_[key_of(seeks_, chunk.first, rank)] = {chunk.first, rank};
  }
  void ended(int64_t first) override {
    const std::lock_guard lock(mutex_);
    chunks_.push_back({first, "end"});
    for (int rank = 1; rank < static_cast<int>(asked_.size()); ++rank)
      by_key_[key_of(seeks_, first, rank)] = {first, rank};
  }
  /// Waits until all have been told all, but not for long.
  void linger() {
    std::unique_lock lock(mutex_);
    asked_for_.wait_for(lock, kLinger, [&] {
      return chunks_.empty() || std::all_of(asked_.begin() + 1, asked_.end(),
                                            [&](int64_t asked) { return asked >= chunks_.back().first; });
    });
  }
  bool may_decide() override {
    const std::lock_guard lock(mutex_);
    return chunks_.size() < kMostAhead;
  }
  std::string awaited() const override {
    const std::lock_guard lock(mutex_);
    const auto slowest = std::min_element(asked_.begin() + 1, asked_.end());
    return fmt::format("rank {}, which is {} chunks behind", slowest - asked_.begin(), chunks_.size());
  }

  std::optional<Buffer> find(const Hash128& key) override {
    if (const std::shared_ptr<const KeptRecords> records = records_of(key))
      return records->bytes_of(static_cast<int64_t>(key.low));
    if (const std::optional<int> rank = rank_that_leaves(key)) return leave(*rank);
    std::string text;
    Stream* to_tell = nullptr;
    {
      const std::lock_guard lock(mutex_);
      const auto found = by_key_.find(key);
      if (found == by_key_.end()) return std::nullopt;
      const auto [first, rank] = found->second;
      const auto chunk =
          std::find_if(chunks_.begin(), chunks_.end(), [&](const auto& one) { return one.first == first; });
      if (chunk == chunks_.end()) return std::nullopt;
      text = chunk->second;
      to_tell = note_asked(rank, first);
    }
    // Without the lock, which the stream takes under its own. It is alive: close() waits for these calls before the stream goes.
    if (to_tell != nullptr) to_tell->look_again();
    Buffer body = Buffer::allocate(text.size());
    std::copy(text.begin(), text.end(), body.data());
    return body;
  }
  // Whoever decides will, sooner or later.
  std::optional<uint64_t> coming(int64_t element) override {
    if (element > kRecordElements) return element >= 0 ? std::optional<uint64_t>(1) : std::nullopt;
    std::shared_ptr<const KeptRecords> records;
    {
      const std::lock_guard lock(mutex_);
      records = records_;
    }
    // Without the lock: who keeps records looks at the stream meanwhile, and the stream tells what it decides under its own.
    return records && records->will_know(kRecordElements - element) ? std::optional<uint64_t>(1) : std::nullopt;
  }

 private:
  // Null where it is the key of something else, or of a record of another run.
  std::shared_ptr<const KeptRecords> records_of(const Hash128& key) {
    const std::lock_guard lock(mutex_);
    return key.high == kRecordKeys + seeks_ ? records_ : nullptr;
  }

  std::optional<int> rank_that_leaves(const Hash128& key) {
    const std::lock_guard lock(mutex_);
    if (key.high != kGoodbyeKeys + seeks_ || key.low == 0 || key.low >= asked_.size()) return std::nullopt;
    return static_cast<int>(key.low);
  }
  Buffer leave(int rank) {
    Stream* to_tell = nullptr;
    {
      const std::lock_guard lock(mutex_);
      to_tell = note_asked(rank, std::numeric_limits<int64_t>::max());
    }
    if (to_tell != nullptr) to_tell->look_again();
    return Buffer::allocate(1);
  }
  // The stream that may decide more now, if that is news.
  Stream* note_asked(int rank, int64_t first) {
    int64_t& asked = asked_[static_cast<size_t>(rank)];
    asked = std::max(asked, first);
    asked_for_.notify_all();
    return forget_what_all_have() ? stream_ : nullptr;
  }

  // A rank that asks for a chunk has all before it. True where more may be decided now.
  bool forget_what_all_have() {
    // Before all have asked it is kNever, and nothing is forgotten.
    const int64_t least = *std::min_element(asked_.begin() + 1, asked_.end());
    const bool full = chunks_.size() >= kMostAhead;
    while (!chunks_.empty() && chunks_.front().first < least) {
      for (int rank = 1; rank < static_cast<int>(asked_.size()); ++rank)
        by_key_.erase(key_of(seeks_, chunks_.front().first, rank));
      chunks_.pop_front();
    }
    return full && chunks_.size() < kMostAhead;
  }

  static constexpr int64_t kNever = -1;

  mutable std::mutex mutex_;
  std::condition_variable asked_for_;
  Stream* stream_ = nullptr;
  uint64_t seeks_ = 0;
  std::deque<std::pair<int64_t, std::string>> chunks_;
  struct Less {
    bool operator()(const Hash128& a, const Hash128& b) const {
      return std::pair(a.high, a.low) < std::pair(b.high, b.low);
    }
  };
  std::map<Hash128, std::pair<int64_t, int>, Less> by_key_;
  std::vector<int64_t> asked_;  // by rank: the first record of the last chunk it asked for
  std::shared_ptr<const KeptRecords> records_;
};

/// A thread asks rank 0 for what comes next.
class Decisions::Followed final : public ChunkGuide {
 public:
  Followed(std::shared_ptr<Transport> transport, PeerHost leader, int rank, Stream& stream)
      : transport_(std::move(transport)), leader_(std::move(leader)), rank_(rank), stream_(stream),
        thread_([this](std::stop_token stop) { ask_on(std::move(stop)); }) {}
  ~Followed() override { stop(); }

  void stop() {
    thread_.request_stop();
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  void begin_anew(uint64_t seeks) {
    const std::lock_guard lock(mutex_);
    seeks_ = seeks;
    next_.reset();
    told_.clear();
    ended_ = false;
    failure_ = {};
    trouble_.clear();
  }

  Result<Answer> at(int64_t first) override {
    const std::lock_guard lock(mutex_);
    FOREBAY_RETURN_IF_ERROR(failure_);
    while (!told_.empty() && told_.front().first < first) told_.pop_front();
    changed_.notify_all();
    if (!told_.empty() && told_.front().first == first) {
      const auto& [number, chunk] = told_.front();
      return chunk ? Answer{Says::kThis, *chunk} : Answer{Says::kEnd, {}};
    }
    // After begin_anew(), or where a state's own chunk led past what was asked for.
    if (next_ != first) {
      told_.clear();
      ended_ = false;
      next_ = first;
    }
    return Answer{Says::kLater, {}};
  }
  std::string awaited() const override {
    const std::lock_guard lock(mutex_);
    return trouble_.empty() ? "rank 0, which decides what comes next" : "rank 0: " + trouble_;
  }

 private:
  bool wants_more() const { return next_ && !ended_ && failure_.ok() && told_.size() < kMostAhead; }

  // Ahead of what is needed, so that nobody waits for an answer, or for a rank that has come to its end and is gone.
  void ask_on(std::stop_token stop) {
    std::unique_lock lock(mutex_);
    auto pause = kShortestPause;
    while (changed_.wait(lock, stop, [&] { return wants_more(); })) {
      const int64_t first = *next_;
      const uint64_t seeks = seeks_;
      lock.unlock();
      const Result<std::vector<AnsweredKey>> answer =
          ask(*transport_, leader_, {{key_of(seeks, first, rank_), kMostChunkBytes, first}}, stop);
      lock.lock();
      if (stop.stop_requested()) return;
      // begin_anew() or at() came meanwhile: the answer is of another run, or of another place of this one.
      if (seeks != seeks_ || next_ != first) continue;
      if (take(first, answer)) {
        pause = kShortestPause;
        lock.unlock();
        // It calls at(), which takes this lock under the stream's.
        stream_.look_again();
        lock.lock();
      } else {
        changed_.wait_for(lock, stop, pause, [] { return false; });
        pause = std::min(2 * pause, kLongestPause);
      }
    }
  }

  // Whether it is known now what comes, or that nothing will.
  bool take(int64_t first, const Result<std::vector<AnsweredKey>>& answer) {
    const auto now = std::chrono::steady_clock::now();
    // From the first question that failed on: with enough told there may have been none for long.
    if (answer.ok() || trouble_.empty()) heard_ = now;
    trouble_ = answer.ok() ? "" : answer.status().message();
    if (now - heard_ > kLongestSilence) {
      failure_ = unavailable(fmt::format("rank 0, which decides what comes next, has not answered for {} s: {}",
                                         kLongestSilence.count(), trouble_));
      return true;
    }
    // Mostly kComing: it is not decided yet, for which there is no limit. A stream may be quiet for days.
    if (!answer.ok() || answer->size() != 1 || answer->front().state != AnsweredKey::State::kHere) return false;
    const Buffer& body = answer->front().body;
    const std::string_view text(reinterpret_cast<const char*>(body.data()), body.size());
    if (text == "end") {
      told_.push_back({first, std::nullopt});
      return ended_ = true;
    }
    Result<Chunk> chunk = Chunk::from_json(text, stream_.log().partitions().size());
    if (!chunk.ok() || chunk->first != first) {
      failure_ = Status(Code::kCorrupt, "rank 0 gave something else than the next chunk of the stream");
      return true;
    }
    next_ = first + chunk->size();
    told_.push_back({first, std::move(*chunk)});
    return true;
  }

  const std::shared_ptr<Transport> transport_;
  const PeerHost leader_;
  const int rank_;
  Stream& stream_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  uint64_t seeks_ = 0;
  std::optional<int64_t> next_;                                // what is asked for
  std::deque<std::pair<int64_t, std::optional<Chunk>>> told_;  // and was not needed yet; nothing: the end
  bool ended_ = false;
  Status failure_;
  std::string trouble_;
  std::chrono::steady_clock::time_point heard_;  // when rank 0 last answered
  std::jthread thread_;
};

Decisions::Decisions(std::shared_ptr<Transport> transport)
    : transport_(std::move(transport)), kept_(std::make_shared<Kept>()) {}

Decisions::~Decisions() { close(); }

Result<std::shared_ptr<Decisions>> Decisions::open(std::shared_ptr<Transport> transport, const PeerHost& own) {
  std::shared_ptr<Decisions> decisions(new Decisions(std::move(transport)));
  FOREBAY_ASSIGN(decisions->listening_, decisions->transport_->listen(own.address, own.pass, decisions->kept_));
  return decisions;
}

void Decisions::know(std::vector<PeerHost> hosts, int rank) {
  hosts_ = std::move(hosts);
  rank_ = rank;
  kept_->know(static_cast<int>(hosts_.size()));
}

void Decisions::lead_or_follow(Stream& stream) {
  if (rank_ == 0) {
    kept_->lead(&stream);
    stream.set_told(kept_);
  } else {
    followed_ = std::make_shared<Followed>(transport_, hosts_.front(), rank_, stream);
    stream.set_guide(followed_);
  }
}

void Decisions::lend(std::shared_ptr<const KeptRecords> kept) { kept_->lend(std::move(kept)); }

Result<std::vector<AnsweredKey>> Decisions::ask_for_records(int rank, std::span<const int64_t> numbers,
                                                            const std::stop_token& stop) const {
  std::vector<WantedKey> wanted;
  for (const int64_t number : numbers)
    // Elements below -1, so that coming() tells records from chunks.
    wanted.push_back({key_of_record(seeks_, number), kMostRecordBytes, kRecordElements - number});
  return ask(*transport_, hosts_[static_cast<size_t>(rank)], std::move(wanted), stop);
}

void Decisions::begin_anew() {
  // All ranks count alike, so that a question of one run never finds an answer of another.
  ++seeks_;
  kept_->begin_anew(seeks_);
  if (followed_) followed_->begin_anew(seeks_);
}

void Decisions::close() {
  if (!listening_) return;
  // The others may not have asked for the last chunks: they ask ahead, and then need nobody.
  if (rank_ == 0) kept_->linger();
  kept_->lead(nullptr);
  if (followed_) {
    followed_->stop();
    // So that rank 0 does not wait for this one with what it decided.
    (void)ask(*transport_, hosts_.front(), {{{kGoodbyeKeys + seeks_, static_cast<uint64_t>(rank_)}, 1}}, {}, kGoodbye);
  }
  // Waits for find() where it is under way, which may still call the stream.
  listening_.reset();
}

}  // namespace forebay
