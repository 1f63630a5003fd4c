#include "serve/client/connection.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace forebay {

namespace {

// Limit of one frame. Batches are sent as locations, so only ledgers and long lists of ids are
// large.
constexpr uint64_t kMostAnswer = uint64_t{256} << 20;
constexpr std::chrono::seconds kAnswerWithin{30};
constexpr std::chrono::milliseconds kLook{100};    // interval of checks for close()
constexpr std::chrono::milliseconds kAhead{1000};  // longer than the server waits
constexpr size_t kFreedAtOnce = 256;

std::string program_name() {
  std::ifstream file("/proc/self/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

/// Returns true for requests that read listings or pass over the data. They have no time limit.
bool takes_long(MessageType type) { return type == MessageType::kOpen || type == MessageType::kPrepare; }

}  // namespace

Connection::Connection(FileDescriptor socket) : channel_(std::move(socket), kMostAnswer, true) {}

Result<std::shared_ptr<Connection>> Connection::open(FileDescriptor socket, bool* turned_away) {
  auto connection = std::make_shared<Connection>(std::move(socket));
  Hello hello;
  hello.program = program_name();
  const Status status = connection->ask(MessageType::kHello, to_message(hello)).status();
  if (turned_away != nullptr) {
    const TimedLock lock(connection->turn_);
    *turned_away = !status.ok() && connection->told_;
  }
  if (!status.ok()) return status;
  return connection;
}

// Does not hang up: a server that is only slow would reuse the memory of batches that are still
// held here. The connection ends with the last of these batches.
Status Connection::lose(Status why) {
  lost_ = true;
  return why;
}

// A slow server may still receive kClose later. Batches that it has delivered stay valid.
Status Connection::give_up() {
  (void)channel_.try_send(MessageType::kClose, "");
  return lose(unavailable("the server does not answer; look at it with: forebay serve status"));
}

void Connection::close() {
  interrupted_ = true;
  // Does not wait for the answer and tries only for a while, since another thread may be sending or
  // the server may not be reading.
  for (int i = 0; i < 20 && !lost_; ++i) {
    if (channel_.try_send(MessageType::kClose, "")) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

Status Connection::take_slabs(const Frame& frame) {
  FOREBAY_ASSIGN(const std::vector<SlabMessage> slabs, from_message<std::vector<SlabMessage>>(frame.body));
  if (slabs.size() != frame.descriptors.size()) return corrupt("the server tells of slabs without sending them");
  for (size_t i = 0; i < slabs.size(); ++i) FOREBAY_RETURN_IF_ERROR(slabs_.add(slabs[i], frame.descriptors[i]));
  return {};
}

// Returns the next frame that is an answer.
Result<Frame> Connection::answer(std::chrono::milliseconds timeout, bool* timed_out) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  *timed_out = false;
  while (true) {
    if (interrupted_) return cancelled("the loader was closed");
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    Result<std::optional<Frame>> frame = channel_.receive(std::clamp(left, std::chrono::milliseconds(0), kLook));
    if (!frame.ok()) return lose(frame.status());
    if (!frame->has_value()) {
      *timed_out = left.count() <= 0;
      if (*timed_out) return Frame();
      continue;
    }
    if ((*frame)->type != MessageType::kSlabs) return std::move(**frame);
    if (Status status = take_slabs(**frame); !status.ok()) return lose(std::move(status));
  }
}

// A server that refuses a client sends the reason and hangs up before it has read anything.
Status Connection::last_words(Status why) {
  const Result<std::optional<Frame>> frame = channel_.receive(std::chrono::milliseconds(0));
  told_ = frame.ok() && frame->has_value() && (*frame)->type == MessageType::kFailed;
  return told_ ? status_from_message((*frame)->body) : why;
}

Result<std::string> Connection::ask(MessageType type, std::string_view body) {
  if (process_generation() != generation_) return cancelled("this process was forked from the one that has the loader");
  const TimedLock lock(turn_);
  if (lost_) return unavailable("the server has gone");
  tell_what_goes();
  if (Status status = channel_.send(type, body); !status.ok()) return lose(last_words(std::move(status)));
  const std::chrono::milliseconds within = takes_long(type) ? std::chrono::hours(24 * 365) : kAnswerWithin;
  while (true) {
    bool timed_out = false;
    Result<Frame> frame = answer(within, &timed_out);
    if (!frame.ok()) return frame.status();
    if (timed_out) return give_up();
    // The server answers in order, and the batch was requested before.
    if (next_asked_ && !next_answer_) {  // the answer to next() comes first
      next_answer_ = std::move(*frame);
      continue;
    }
    if (frame->type == MessageType::kDone) return std::move(frame->body);
    told_ = frame->type == MessageType::kFailed;
    if (told_) return status_from_message(frame->body);
    return lose(corrupt("the server gives an answer that is none"));
  }
}

Status Connection::ask_next(std::chrono::milliseconds timeout) {
  const auto ms = static_cast<uint32_t>(std::clamp<int64_t>(timeout.count(), 0, 1000));
  if (Status status = channel_.send(MessageType::kNext, to_message(ms)); !status.ok()) return lose(std::move(status));
  next_asked_ = true;
  return {};
}

Result<Connection::Next> Connection::next(std::chrono::milliseconds timeout) {
  Next nothing;
  nothing.timed_out = true;
  if (!turn_.try_lock_for(timeout)) return nothing;
  const TimedLock lock(turn_, std::adopt_lock);
  if (lost_) return unavailable("the server has gone");
  tell_what_goes();
  if (!next_asked_) FOREBAY_RETURN_IF_ERROR(ask_next(timeout));
  if (!next_answer_) {
    bool timed_out = false;
    Result<Frame> frame = answer(timeout, &timed_out);
    if (!frame.ok()) return frame.status();
    if (timed_out) return nothing;
    next_answer_ = std::move(*frame);
  }
  const Frame frame = std::move(*next_answer_);
  next_answer_.reset();
  next_asked_ = false;
  Result<Next> next = understand(frame);
  // If the server has exited by now, the next call finds out. This answer is complete.
  if (next.ok() && !next->timed_out && !next->behind.finished && !lost_) (void)ask_next(kAhead);
  return next;
}

Status Connection::forget_next() {
  const TimedLock lock(turn_);
  if (!next_asked_) return {};
  if (!next_answer_) {
    bool timed_out = false;
    Result<Frame> frame = answer(kAnswerWithin, &timed_out);
    if (!frame.ok()) return frame.status();
    if (timed_out) return give_up();
    next_answer_ = std::move(*frame);
  }
  const Frame frame = std::move(*next_answer_);
  next_answer_.reset();
  next_asked_ = false;
  (void)understand(frame);  // frees a batch
  return {};
}

Result<Connection::Next> Connection::understand(const Frame& frame) {
  Next next;
  switch (frame.type) {
    case MessageType::kNotYet: next.timed_out = true; return next;
    case MessageType::kFailed: return status_from_message(frame.body);
    case MessageType::kEnd: {
      FOREBAY_ASSIGN(EndMessage end, from_message<EndMessage>(frame.body));
      next.behind = std::move(end.behind);
      return next;
    }
    case MessageType::kBatch: {
      Result<BatchMessage> message = from_message<BatchMessage>(frame.body);
      if (!message.ok()) return lose(message.status());
      next.behind = std::move(message->behind);
      FOREBAY_ASSIGN(next.batch, batch_of(std::move(*message)));
      return next;
    }
    default: return lose(corrupt("the server gives an answer that is none"));
  }
}

Result<Batch> Connection::batch_of(BatchMessage message) {
  const std::shared_ptr<void> held(
      nullptr, [self = shared_from_this(), number = message.number](void*) { self->let_go(number); });
  Batch batch;
  for (FieldMessage& field : message.fields) {
    BatchField& made = batch.fields.emplace_back();
    made.name = std::move(field.name);
    made.kind = field.kind;
    made.lengths = std::move(field.lengths);
    for (const auto& [to, from] : {std::pair(&made.values, &field.values), std::pair(&made.offsets, &field.offsets),
                                   std::pair(&made.string_offsets, &field.string_offsets)}) {
      Result<Tensor> tensor = slabs_.tensor(*from, held);
      if (!tensor.ok()) return lose(tensor.status());
      *to = std::move(*tensor);
    }
  }
  batch.ids = std::move(message.ids);
  batch.positions = std::move(message.positions);
  batch.padding = message.padding;
  batch.epoch = message.epoch;
  batch.step = message.step;
  // After the tensors, because these keep their slabs mapped.
  for (const uint64_t slab : message.gone_slabs) slabs_.drop(slab);
  return batch;
}

// Runs on the thread that frees the last tensor, which must not wait. Numbers that cannot be sent
// now are sent before the next request.
void Connection::let_go(uint64_t number) {
  // In the child of a fork the parent still holds the batch, and the socket is the parent's.
  if (process_generation() != generation_ || lost_) return;
  {
    const Lock lock(freed_mutex_);
    freed_.push_back(number);
  }
  tell_what_goes();
}

void Connection::tell_what_goes() {
  const Lock lock(freed_mutex_);
  while (!freed_.empty()) {
    const auto end = freed_.end();
    // Each message must be small enough for try_send().
    const auto begin = freed_.size() > kFreedAtOnce ? end - kFreedAtOnce : freed_.begin();
    if (!channel_.try_send(MessageType::kFreed, to_message(std::vector<uint64_t>(begin, end)))) return;
    freed_.erase(begin, end);
  }
}

}  // namespace forebay
