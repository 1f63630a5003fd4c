#include "cluster/ucx/ucx_server.h"

#include <array>
#include <cstring>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "cluster/message.h"
#include "cluster/token.h"
#include "telemetry/log.h"

namespace forebay {

namespace {

/// Bodies begin at multiples of 64: zeros stand between them.
std::vector<Buffer> pieces_of(const AnswerParts& parts) {
  constexpr size_t kBoundary = 64;
  static const Buffer zeros = [] {
    Buffer made = Buffer::allocate(kBoundary);
    std::memset(made.data(), 0, kBoundary);
    return made;
  }();
  std::vector<Buffer> pieces{parts.head};
  for (const Buffer& body : parts.bodies) {
    if (body.empty()) continue;
    pieces.push_back(body);
    if (body.size() % kBoundary != 0) pieces.push_back(zeros.slice(0, kBoundary - body.size() % kBoundary));
  }
  return pieces;
}

}  // namespace

Status UcxServer::open(const ActiveMessageModule& module, const std::string& devices) {
  ActiveMessageOptions options;
  FOREBAY_ASSIGN(options.secret, new_token());
  options.devices = devices;
  options.on_question = [this](std::unique_ptr<ActiveMessages::Question> question) { queue(std::move(question)); };
  options.on_refused = [this](RefusedQuestion why) {
    refuse(why == RefusedQuestion::kStranger ? kStranger : kTooManyAskers);
  };
  options.most_question_bytes = kMostQuestionBytes;
  options.most_connections = options_.most_connections;
  options.patience = options_.patience;
  FOREBAY_ASSIGN(end_, module.open(std::move(options)));
  try {
    for (int i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { serve(); });
  } catch (const std::system_error& error) {
    return unavailable(fmt::format("cannot start a thread that serves peers: {}", error.what()));
  }
  return {};
}

UcxServer::~UcxServer() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  waiting_.clear();
}

void UcxServer::set_address(const std::string& address) {
  const std::lock_guard lock(mutex_);
  address_ = address;
}

void UcxServer::queue(std::unique_ptr<ActiveMessages::Question> question) {
  bool too_many = false;
  {
    const std::lock_guard lock(mutex_);
    if (closing_) return;
    too_many = waiting_.size() >= options_.most_waiting;
    if (!too_many) waiting_.push_back(std::move(question));
  }
  if (too_many) return refuse(kTooMany);
  changed_.notify_one();
}

void UcxServer::serve() {
  for (;;) {
    std::unique_ptr<ActiveMessages::Question> question;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return closing_ || !waiting_.empty(); });
      if (closing_) return;
      question = std::move(waiting_.front());
      waiting_.pop_front();
    }
    answer(*question);
  }
}

void UcxServer::answer(ActiveMessages::Question& question) {
  const Result<std::vector<WantedKey>> wanted = parse_question(question.bytes());
  if (!wanted.ok()) {
    refuse(kNonsense);
    return question.answer(kMalformed, {});
  }
  const AnswerParts parts = encode_answer(*wanted, find_all(*keys_, *wanted));
  uint64_t bytes = 0;
  for (const Buffer& body : parts.bodies) bytes += body.size();
  questions_.fetch_add(1, std::memory_order_relaxed);
  asked_.fetch_add(wanted->size(), std::memory_order_relaxed);
  found_.fetch_add(parts.bodies.size(), std::memory_order_relaxed);
  bytes_.fetch_add(bytes, std::memory_order_relaxed);
  question.answer(kAnswer, pieces_of(parts));
}

void UcxServer::refuse(Kind kind) {
  constexpr std::array<const char*, kKinds> kWords{"somebody who was not given its card",
                                                   "more askers than it has connections",
                                                   "more questions than may wait", "a malformed question"};
  refused_.fetch_add(1, std::memory_order_relaxed);
  std::string address;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(told_[kind], true)) return;
    address = address_;
  }
  log_warning(fmt::format("the peers' server at {} (UCX) refused {}; more of that kind are only counted", address,
                          kWords[kind]));
}

Listening::Stats UcxServer::stats() const {
  const auto get = [](const std::atomic<uint64_t>& counter) { return counter.load(std::memory_order_relaxed); };
  return {get(questions_), get(asked_), get(found_), get(bytes_), get(refused_)};
}

}  // namespace forebay
