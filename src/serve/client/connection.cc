#include "serve/client/connection.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "serve/socket_path.h"
#include "serve/wire/portable_object.h"

namespace forebay {

namespace {

// Limit of one frame. Batches are sent as locations, so only ledgers and long lists of ids are
// large.
constexpr uint64_t kMaxAnswer = uint64_t{256} << 20;
constexpr std::chrono::seconds kAnswerWithin{30};
constexpr std::chrono::milliseconds kCloseCheck{100};  // interval of checks for close()
constexpr std::chrono::milliseconds kAhead{1000};      // longer than the server waits
constexpr size_t kFreedAtOnce = 256;

std::string program_name() {
  std::ifstream file("/proc/self/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

// Whether a request reads listings or passes over the data. Such requests have no time limit.
bool takes_long(MessageType type) { return type == MessageType::kOpen || type == MessageType::kPrepare; }

}  // namespace

Connection::Connection(FileDescriptor socket, WaitClock& clock)
    : clock_(clock), channel_(std::move(socket), kMaxAnswer, Channel::Descriptors::kAccept, clock) {}

Connection::Opening Connection::open(FileDescriptor socket, WaitClock& clock) {
  auto connection = std::make_shared<Connection>(std::move(socket), clock);
  Hello hello;
  hello.program = program_name();
  const Status status = connection->ask(MessageType::kHello, to_message(hello)).status();
  if (status.ok()) return {connection};
  const TimedLock lock(connection->request_mutex_);
  return {status, connection->answered_};
}

// Does not hang up: a server that is only slow would reuse the memory of batches that are still
// held here. The connection ends with the last of these batches.
Status Connection::mark_lost(Status why) {
  lost_ = true;
  return why;
}

// A slow server may still receive kClose later. Batches that it has delivered stay valid.
Status Connection::give_up() {
  (void)channel_.try_send(MessageType::kClose, "");
  return mark_lost(unavailable(fmt::format("the server does not answer; look at it with: {}",
                                           serve_command(peer_path(channel_.descriptor()), "status"))));
}

void Connection::close() {
  interrupted_ = true;
  // Does not wait for the answer and tries only for a while, since another thread may be sending or
  // the server may not be reading.
  for (int i = 0; i < 20 && !lost_; ++i) {
    if (channel_.try_send(MessageType::kClose, "")) return;
    std::this_thread::sleep_for(clock_.begin_wait(std::chrono::milliseconds(1)));
  }
}

Status Connection::map_slabs(const Frame& frame) {
  FOREBAY_ASSIGN(const std::vector<SlabMessage> slabs, from_message<std::vector<SlabMessage>>(frame.body));
  if (slabs.size() != frame.descriptors.size()) return corrupt("the server tells of slabs without sending them");
  for (size_t i = 0; i < slabs.size(); ++i) FOREBAY_RETURN_IF_ERROR(slabs_.add(slabs[i], frame.descriptors[i]));
  return {};
}

// Returns the next frame that is an answer, or nothing if none has arrived in time.
Result<std::optional<Frame>> Connection::receive_answer(std::chrono::milliseconds timeout) {
  const auto deadline = clock_.now() + timeout;
  while (true) {
    if (interrupted_) return cancelled("the loader was closed");
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock_.now());
    Result<std::optional<Frame>> frame = channel_.receive(std::clamp(left, std::chrono::milliseconds(0), kCloseCheck));
    if (!frame.ok()) return mark_lost(frame.status());
    if (!frame->has_value()) {
      if (left.count() <= 0) return std::optional<Frame>();
      continue;
    }
    if ((*frame)->type != MessageType::kSlabs) return frame;
    if (Status status = map_slabs(**frame); !status.ok()) return mark_lost(std::move(status));
  }
}

// A server that refuses a client sends the reason and hangs up before it has read anything.
Status Connection::reason_of_refusal(Status otherwise) {
  const Result<std::optional<Frame>> frame = channel_.receive(std::chrono::milliseconds(0));
  answered_ = frame.ok() && frame->has_value() && (*frame)->type == MessageType::kFailed;
  return answered_ ? status_from_message((*frame)->body) : otherwise;
}

Result<std::string> Connection::ask(MessageType type, std::string_view body) {
  if (process_generation() != generation_) return cancelled("this process was forked from the one that has the loader");
  const TimedLock lock(request_mutex_);
  if (lost_) return unavailable("the server has gone");
  send_freed();
  if (Status status = channel_.send(type, body); !status.ok()) return mark_lost(reason_of_refusal(std::move(status)));
  return answer_to_ask(takes_long(type) ? std::chrono::hours(24 * 365) : std::chrono::milliseconds(kAnswerWithin));
}

// Waits for the answer to ask(). The server answers in order, so the answer to an earlier request
// for the next batch comes first and is retained.
Result<std::string> Connection::answer_to_ask(std::chrono::milliseconds timeout) {
  while (true) {
    FOREBAY_ASSIGN(std::optional<Frame> frame, receive_answer(timeout));
    if (!frame) return give_up();
    if (next_requested_ && !next_answer_) {
      next_answer_ = std::move(frame);
      continue;
    }
    if (frame->type == MessageType::kDone) return std::move(frame->body);
    answered_ = frame->type == MessageType::kFailed;
    if (answered_) return status_from_message(frame->body);
    return mark_lost(corrupt("the server gives an answer that is none"));
  }
}

Status Connection::request_next(std::chrono::milliseconds timeout) {
  const auto ms = static_cast<uint32_t>(std::clamp<int64_t>(timeout.count(), 0, 1000));
  if (Status status = channel_.send(MessageType::kNext, to_message(ms)); !status.ok())
    return mark_lost(std::move(status));
  next_requested_ = true;
  return {};
}

// Waits until next_answer_ has a value. Returns false if the time is over before.
Result<bool> Connection::await_next(std::chrono::milliseconds timeout) {
  if (next_answer_) return true;
  FOREBAY_ASSIGN(next_answer_, receive_answer(timeout));
  return next_answer_.has_value();
}

Result<Connection::Next> Connection::take_next() {
  const Frame frame = std::move(*next_answer_);
  next_answer_.reset();
  next_requested_ = false;
  return decode_next(frame);
}

Result<Connection::Next> Connection::next(std::chrono::milliseconds timeout) {
  Next nothing;
  nothing.timed_out = true;
  if (!request_mutex_.try_lock_for(timeout)) return nothing;
  const TimedLock lock(request_mutex_, std::adopt_lock);
  if (lost_) return unavailable("the server has gone");
  send_freed();
  if (!next_requested_) FOREBAY_RETURN_IF_ERROR(request_next(timeout));
  FOREBAY_ASSIGN(const bool arrived, await_next(timeout));
  if (!arrived) return nothing;
  Result<Next> next = take_next();
  // If the server has exited by now, the next call finds out. This answer is complete.
  if (next.ok() && !next->timed_out && !next->after.finished && !lost_) (void)request_next(kAhead);
  return next;
}

Status Connection::discard_next() {
  const TimedLock lock(request_mutex_);
  if (!next_requested_) return {};
  FOREBAY_ASSIGN(const bool arrived, await_next(kAnswerWithin));
  if (!arrived) return give_up();
  (void)take_next();  // frees a batch
  return {};
}

Result<Connection::Next> Connection::decode_next(const Frame& frame) {
  Next next;
  switch (frame.type) {
    case MessageType::kNotYet: next.timed_out = true; return next;
    case MessageType::kFailed: return status_from_message(frame.body);
    case MessageType::kEnd: {
      FOREBAY_ASSIGN(EndMessage end, from_message<EndMessage>(frame.body));
      next.after = std::move(end.after);
      return next;
    }
    case MessageType::kBatch: {
      Result<BatchMessage> message = from_message<BatchMessage>(frame.body);
      if (!message.ok()) return mark_lost(message.status());
      next.after = std::move(message->after);
      FOREBAY_ASSIGN(next.batch, batch_of(std::move(*message)));
      return next;
    }
    default: return mark_lost(corrupt("the server gives an answer that is none"));
  }
}

Result<BatchField> Connection::field_of(FieldMessage message, const std::shared_ptr<void>& held) {
  BatchField field;
  field.name = std::move(message.name);
  field.kind = message.kind;
  field.lengths = std::move(message.lengths);
  FOREBAY_ASSIGN(field.values, slabs_.tensor(message.values, held));
  FOREBAY_ASSIGN(field.offsets, slabs_.tensor(message.offsets, held));
  FOREBAY_ASSIGN(field.string_offsets, slabs_.tensor(message.string_offsets, held));
  return field;
}

Result<Batch> Connection::batch_of(BatchMessage message) {
  const std::shared_ptr<void> held(
      nullptr, [self = shared_from_this(), number = message.number](void*) { self->free_batch(number); });
  Batch batch;
  for (FieldMessage& each : message.fields) {
    Result<BatchField> field = field_of(std::move(each), held);
    if (!field.ok()) return mark_lost(field.status());
    batch.fields.push_back(std::move(*field));
  }
  if (!message.object.shape.empty()) {
    Result<Tensor> bytes = slabs_.tensor(message.object, held);
    if (!bytes.ok()) return mark_lost(bytes.status());
    batch.object = std::make_shared<PortableObject>(PortableObject{std::move(*bytes)});
  }
  batch.made_rows = message.made_rows;
  batch.ids = std::move(message.ids);
  batch.positions = std::move(message.positions);
  batch.parts = std::move(message.parts);
  batch.padding = message.padding;
  batch.epoch = message.epoch;
  batch.step = message.step;
  // After the tensors, because these keep their slabs mapped.
  for (const uint64_t slab : message.dropped_slabs) slabs_.drop(slab);
  return batch;
}

// Runs on the thread that frees the last tensor, which must not wait. Numbers that cannot be sent
// now are sent before the next request.
void Connection::free_batch(uint64_t number) {
  // In the child of a fork the parent still holds the batch, and the socket is the parent's.
  if (process_generation() != generation_ || lost_) return;
  {
    const Lock lock(freed_mutex_);
    freed_.push_back(number);
  }
  send_freed();
}

void Connection::send_freed() {
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
