#include "stream/ranks/decisions.h"

#include <algorithm>
#include <chrono>
#include <climits>
#include <condition_variable>
#include <future>
#include <mutex>
#include <utility>

namespace forebay {

namespace {

constexpr std::chrono::milliseconds kGoodbyeDeadline{200};
constexpr std::chrono::seconds kLookForOthers{1};  // whether a rank that the others wait for is there
constexpr uint64_t kMostRecordBytes = uint64_t{1} << 30;
constexpr uint64_t kMostNoteBytes = uint64_t{4} << 20;  // of some hundreds, offsets below 1 KB

}  // namespace

Decisions::Decisions(std::shared_ptr<Transport> transport)
    : transport_(std::move(transport)), answers_(std::make_shared<RankAnswers>()) {}

Decisions::~Decisions() { close(); }

Result<std::shared_ptr<Decisions>> Decisions::open(std::shared_ptr<Transport> transport, const PeerHost& own) {
  std::shared_ptr<Decisions> decisions(new Decisions(std::move(transport)));
  FOREBAY_ASSIGN(decisions->listening_, decisions->transport_->listen(own.address, own.pass, decisions->answers_));
  return decisions;
}

void Decisions::know(std::vector<PeerHost> hosts, int rank) {
  hosts_ = std::move(hosts);
  rank_ = rank;
  answers_->know(rank, static_cast<int>(hosts_.size()));
}

void Decisions::lead_or_follow(Stream& stream, RunTerms terms) {
  if (rank_ == 0) {
    answers_->lead(&stream);
    answers_->tell_run(terms.to_json());
    stream.set_told(answers_);
    if (ranks() > 1)
      watching_ = std::jthread([this, &stream](const std::stop_token& stop) { watch_others(stream, stop); });
  } else {
    followed_ = std::make_shared<FollowedChunks>(transport_, hosts_.front(), rank_, std::move(terms), stream);
    stream.set_guide(followed_);
  }
}

// Without this nothing would happen any more where nothing can be decided: who could ask or read waits for that.
void Decisions::watch_others(Stream& stream, const std::stop_token& stop) const {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  while (!never.wait_for(lock, stop, kLookForOthers, [&] { return stop.stop_requested(); })) {
    if (Status heard = answers_->check_heard(std::chrono::steady_clock::now()); !heard.ok())
      stream.fail(std::move(heard));
  }
}

void Decisions::share(std::shared_ptr<RecordShelf> shelf, size_t partitions) {
  answers_->share(std::move(shelf));
  readers_ = std::min(ranks(), static_cast<int>(std::min<size_t>(partitions, INT_MAX)));
}

Result<std::vector<AnsweredKey>> Decisions::ask(int rank, std::vector<WantedKey> wanted,
                                                const std::stop_token& stop) const {
  return ask_rank(*transport_, hosts_[static_cast<size_t>(rank)], std::move(wanted), stop);
}

Result<std::vector<AnsweredKey>> Decisions::ask_for_records(int rank, std::span<const int64_t> numbers,
                                                            const std::stop_token& stop) const {
  std::vector<WantedKey> wanted;
  for (const int64_t number : numbers) {
    const RankKey key{RankQuestion::kKept, rank_, seeks_, static_cast<uint64_t>(number)};
    wanted.push_back({key.key(), kMostRecordBytes, kept_element(number)});
  }
  return ask(rank, std::move(wanted), stop);
}

Result<std::vector<AnsweredKey>> Decisions::ask_for_notes(int rank, std::span<const DealtLog::NotesWanted> wanted,
                                                          const std::stop_token& stop) const {
  std::vector<WantedKey> keys;
  for (const DealtLog::NotesWanted& one : wanted) {
    const RankKey key{RankQuestion::kNotes, rank_, seeks_, NotesPlace{one.partition, one.from}.number()};
    keys.push_back({key.key(), kMostNoteBytes, kComesSoonerOrLater});
  }
  return ask(rank, std::move(keys), stop);
}

Result<std::vector<AnsweredKey>> Decisions::ask_for_rows(int rank, std::span<const DealtRows::Asked> wanted,
                                                         const std::stop_token& stop) const {
  std::vector<WantedKey> keys;
  for (const DealtRows::Asked& one : wanted) {
    const RankKey key{RankQuestion::kRow, static_cast<int>(one.partition), seeks_, one.offset_hash};
    keys.push_back({key.key(), kMostRecordBytes, kThereOrNever});
  }
  return ask(rank, std::move(keys), stop);
}

void Decisions::begin_anew() {
  // All ranks count alike, so that a question of one run never finds an answer of another.
  ++seeks_;
  answers_->begin_anew(seeks_);
  if (followed_) followed_->begin_anew(seeks_);
}

void Decisions::close() {
  if (!listening_) return;
  if (followed_) followed_->stop();
  watching_.request_stop();
  if (watching_.joinable()) watching_.join();
  say_goodbye();
  // The others may not have asked for the last chunks: they ask ahead, and then need nobody.
  answers_->linger();
  answers_->lead(nullptr);
  // Waits for find() where it is under way, which may still call the stream.
  listening_.reset();
  held_.reset();
}

// So that those who have something for this rank do not wait for it.
void Decisions::say_goodbye() {
  const RankKey goodbye{RankQuestion::kGoodbye, rank_, seeks_, 0};
  std::vector<std::future<void>> heard;
  for (int rank = 0; rank < readers_; ++rank) {
    if (rank == rank_) continue;
    const auto done = std::make_shared<std::promise<void>>();
    heard.push_back(done->get_future());
    transport_->fetch(hosts_[static_cast<size_t>(rank)], {{goodbye.key(), 1, kThereOrNever}}, kGoodbyeDeadline, {},
                      [done](const Result<std::vector<AnsweredKey>>&) { done->set_value(); });
  }
  for (const std::future<void>& one : heard) one.wait();
}

}  // namespace forebay
