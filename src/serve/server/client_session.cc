#include "serve/server/client_session.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "forebay/ledger.h"
#include "runtime/buffer_pool.h"
#include "serve/wire/ledger_message.h"
#include "serve/wire/portable_object.h"

namespace forebay {

namespace {

// Before the first message is checked, a client must not make the server allocate much memory.
constexpr uint64_t kMaxHello = 4096, kMaxRequest = uint64_t{64} << 20;
// Longest wait for a batch. Other messages of the client are handled in between.
constexpr std::chrono::milliseconds kMaxWait{100};
constexpr std::chrono::seconds kHelloWithin{10};

Position position_of(const Loader& loader) {
  return {loader.epoch(), loader.batches_per_epoch(), loader.finished(), loader.state()};
}

SourceInfo source_info_of(const Loader& loader) {
  return {loader.source_fields(), loader.row_groups(), loader.classes(), loader.warnings()};
}

}  // namespace

ClientSession::ClientSession(FileDescriptor socket, pid_t process, Sharing& sharing, WaitClock& clock)
    : channel_(std::move(socket), kMaxHello, Channel::Descriptors::kRefuse, clock), process_(process),
      sharing_(sharing) {
  counters_.process = process;
}

ClientSession::~ClientSession() { close_feed(); }

std::shared_ptr<OpenedFeed> ClientSession::opened_feed() const {
  const Lock lock(mutex_);
  return opened_feed_;
}

void ClientSession::abort() {
  stop_.request_stop();
  channel_.shut_down();
  // Without the lock, because closing waits for work in progress, and status() must not wait for
  // that.
  if (const std::shared_ptr<OpenedFeed> opened = opened_feed()) opened->feed().close();
}

void ClientSession::close_feed() {
  std::shared_ptr<OpenedFeed> closing;
  undelivered_.reset();
  {
    const Lock lock(mutex_);
    closing = std::move(opened_feed_);
  }
  if (closing) closing->feed().close();
}

Status ClientSession::check_hello(const Frame& frame) {
  if (frame.type != MessageType::kHello) return corrupt("a client that does not say who it is");
  FOREBAY_ASSIGN(const Hello hello, from_message<Hello>(frame.body));
  if (hello.magic != kServeMagic) return corrupt("a client that speaks another language");
  if (hello.version != kServeVersion)
    return unsupported(
        fmt::format("this server speaks version {}, the client version {}: they are of different "
                    "releases; stop the server (forebay serve stop) so that one of yours begins",
                    kServeVersion, hello.version));
  const Lock lock(mutex_);
  counters_.program = hello.program;
  return {};
}

// Receives and answers the first message.
Status ClientSession::greet() {
  FOREBAY_ASSIGN(const std::optional<Frame> frame, channel_.receive(kHelloWithin));
  const Status status = frame ? check_hello(*frame) : corrupt("a client that does not say who it is");
  if (!status.ok()) return status;
  channel_.set_most_bytes(kMaxRequest);
  return channel_.send(MessageType::kDone, "");
}

// Answers requests until the connection ends.
Status ClientSession::answer_all() try {
  FOREBAY_RETURN_IF_ERROR(greet());
  while (true) {
    FOREBAY_ASSIGN(const std::optional<Frame> frame, channel_.receive(std::chrono::minutes(1)));
    if (frame) FOREBAY_RETURN_IF_ERROR(answer(*frame));
  }
} catch (const std::bad_alloc&) {  // an error of this client, and not the end of the server
  return system_lacks_memory();
}

void ClientSession::serve() {
  const Status status = answer_all();
  // Tells the client why the connection ends, unless the client has ended it.
  if (status.code() != Code::kUnavailable) (void)channel_.send(MessageType::kFailed, to_message(status));
}

void ClientSession::run() {
  serve();
  channel_.shut_down();
  close_feed();
  {
    // The batches return to their pool after the lock is released.
    std::map<uint64_t, HeldBatch> freed;
    const Lock lock(mutex_);
    freed.swap(held_);
  }
  over_ = true;
}

// Sends errors of a request to the client. An error that is returned from here ends the connection.
Status ClientSession::answer(const Frame& frame) {
  if (frame.type == MessageType::kFreed) {
    free_batches(frame.body);
    return {};
  }
  if (frame.type == MessageType::kNext) return next(frame.body);
  const Result<std::string> answer = answer_of(frame);
  if (answer.ok()) return channel_.send(MessageType::kDone, *answer);
  return channel_.send(MessageType::kFailed, to_message(answer.status()));
}

Result<std::string> ClientSession::answer_of(const Frame& frame) {
  switch (frame.type) {
    case MessageType::kOpen: return open(frame.body);
    case MessageType::kStatus: return sharing_.status();
    case MessageType::kStop: sharing_.stop(); return std::string();
    case MessageType::kClose: close_feed(); return std::string();
    default: break;
  }
  const std::shared_ptr<OpenedFeed> opened = opened_feed();
  if (!opened) return invalid_argument("the loader is closed; make a new one");
  return answer_of_loader(frame, opened->feed());
}

Result<std::string> ClientSession::answer_of_loader(const Frame& frame, Feed& feed) {
  Loader& loader = feed.position();
  Status status;
  switch (frame.type) {
    case MessageType::kInfo: return to_message(info(loader));
    case MessageType::kStats: return to_message(feed.stats());
    case MessageType::kErrors: return to_message(feed.errors());
    case MessageType::kDescribe: return to_message(source_info_of(loader));
    case MessageType::kPrepare: status = loader.prepare(); break;
    case MessageType::kSetEpoch: status = set_epoch(frame.body, feed); break;
    case MessageType::kLoadState: status = load_state(frame.body, feed); break;
    case MessageType::kSetWeights: status = set_weights(frame.body, feed); break;
    case MessageType::kBeginTrace: status = begin_trace(frame.body, feed); break;
    case MessageType::kEndTrace: status = end_trace(feed); break;
    default: status = unsupported("a request that this server does not know");
  }
  if (!status.ok()) return status;
  return std::string();
}

Status ClientSession::set_epoch(const std::string& body, Feed& feed) {
  FOREBAY_ASSIGN(const int64_t epoch, from_message<int64_t>(body));
  Loader& loader = feed.position();
  // set_epoch() to the current epoch changes nothing, and must not cost a seat in a group.
  const int64_t before = loader.epoch();
  const Status status = loader.set_epoch(epoch);
  if (epoch != before) position_changed(feed);
  return status;
}

Status ClientSession::load_state(const std::string& body, Feed& feed) {
  FOREBAY_ASSIGN(const LoadRequest request, from_message<LoadRequest>(body));
  Loader& loader = feed.position();
  FOREBAY_RETURN_IF_ERROR(request.changed_parts ? loader.load_state_of_changed_parts(request.state, request.strict)
                                                : loader.load_state(request.state, request.strict));
  position_changed(feed);
  return {};
}

Status ClientSession::set_weights(const std::string& body, Feed& feed) {
  const Result<std::map<std::string, double>> weights = from_message<std::map<std::string, double>>(body);
  FOREBAY_RETURN_IF_ERROR(weights.status());
  FOREBAY_RETURN_IF_ERROR(feed.position().set_weights(*weights));
  position_changed(feed);
  return {};
}

Status ClientSession::begin_trace(const std::string& body, Feed& feed) {
  FOREBAY_ASSIGN(const TraceRequest request, from_message<TraceRequest>(body));
  FOREBAY_RETURN_IF_ERROR(feed.position().begin_trace(request.path, request.most_bytes));
  feed.pin_loader();
  return {};
}

Status ClientSession::end_trace(Feed& feed) {
  const Status status = feed.position().end_trace();
  feed.unpin_loader();
  return status;
}

void ClientSession::position_changed(Feed& feed) {
  undelivered_.reset();
  feed.position_changed();
  client_position_ = position_of(feed.position());
}

Result<std::string> ClientSession::open(const std::string& body) {
  FOREBAY_ASSIGN(const OpenRequest request, from_message<OpenRequest>(body));
  if (opened_feed()) return invalid_argument("this connection has a loader already");
  FOREBAY_ASSIGN(std::shared_ptr<OpenedFeed> opened, OpenedFeed::open(request, sharing_, stop_.get_token()));
  {
    const Lock lock(mutex_);
    opened_feed_ = std::move(opened);
    counters_.pipeline = opened_feed_->description();
    counters_.rank = request.options.job.rank.value_or(0);
    counters_.world_size = request.options.job.world_size.value_or(1);
    counters_.together = request.together;
  }
  client_position_ = position_of(opened_feed()->feed().position());
  if (stop_.stop_requested()) close_feed();  // abort() came before there was a feed to close
  return std::string();
}

LoaderInfo ClientSession::info(const Loader& loader) const {
  // If a batch could not be delivered, the loader is one batch ahead of the client.
  return {undelivered_ ? client_position_ : position_of(loader), loader.size(), loader.fingerprint()};
}

// Returns the batch that could not be delivered before, or the next one of the feed.
Result<std::optional<Batch>> ClientSession::next_batch(Feed& feed, std::chrono::milliseconds timeout, bool* timed_out) {
  const auto asked = std::chrono::steady_clock::now();
  Result<std::optional<Batch>> batch = undelivered_
                                           ? Result<std::optional<Batch>>(std::exchange(undelivered_, std::nullopt))
                                           : feed.next_for(std::min(kMaxWait, timeout), timed_out);
  const Lock lock(mutex_);
  if (begun_ == std::chrono::steady_clock::time_point()) begun_ = asked;
  // This is the time that the server needed. The client asks ahead and may have waited less.
  counters_.waited += std::chrono::duration<double>(std::chrono::steady_clock::now() - asked).count();
  return batch;
}

Status ClientSession::next(const std::string& body) {
  FOREBAY_ASSIGN(const uint32_t timeout_ms, from_message<uint32_t>(body));
  const std::shared_ptr<OpenedFeed> opened = opened_feed();
  if (!opened) return channel_.send(MessageType::kFailed, to_message(invalid_argument("the loader is closed")));
  bool timed_out = false;
  Result<std::optional<Batch>> batch = next_batch(opened->feed(), std::chrono::milliseconds(timeout_ms), &timed_out);
  if (!batch.ok()) return channel_.send(MessageType::kFailed, to_message(batch.status()));
  if (timed_out) return channel_.send(MessageType::kNotYet, "");
  if (batch->has_value()) return deliver(std::move(**batch));
  client_position_ = position_of(opened->feed().position());
  return channel_.send(MessageType::kEnd, to_message(EndMessage{client_position_}));
}

// Memory that clients cannot map is copied to a slab. This concerns only tensors that did not come
// from a loader's pool.
Result<TensorLocation> ClientSession::locate(const Tensor& tensor, HeldBatch& held) {
  TensorLocation location;
  location.dtype = tensor.dtype;
  location.shape.assign(tensor.shape.begin(), tensor.shape.end());
  const size_t bytes = tensor.buffer.data() == nullptr ? 0 : tensor.nbytes();
  if (bytes == 0) return location;
  std::optional<SharedBlocks::Location> found = sharing_.blocks->find(tensor.buffer.data());
  if (!found) {
    uint8_t* const block = sharing_.blocks->allocate(bytes);
    if (block == nullptr) return out_of_budget("no memory is left that clients can map", bytes);
    std::memcpy(block, tensor.buffer.data(), bytes);
    std::shared_ptr<void> owner(block, [blocks = sharing_.blocks, block, bytes](void*) { blocks->free(block, bytes); });
    held.copies.emplace_back(block, bytes, std::move(owner));
    found = sharing_.blocks->find(block);
  }
  location.slab = found->slab->number();
  location.offset = found->offset;
  held.bytes += bytes;
  // A weak reference, so that a slab without blocks is unmapped here and reported to the client.
  if (announced_.emplace(location.slab, found->slab).second) new_slabs_.push_back(std::move(found->slab));
  return location;
}

Result<FieldMessage> ClientSession::locate(const BatchField& field, HeldBatch& held) {
  FieldMessage message{field.name, field.kind, {}, {}, {}, field.lengths};
  FOREBAY_ASSIGN(message.values, locate(field.values, held));
  FOREBAY_ASSIGN(message.offsets, locate(field.offsets, held));
  FOREBAY_ASSIGN(message.string_offsets, locate(field.string_offsets, held));
  return message;
}

// Sends the new slabs, and adds the numbers of slabs that no longer exist to `dropped`.
Status ClientSession::send_slabs(std::vector<uint64_t>* dropped) {
  for (size_t begin = 0; begin < new_slabs_.size(); begin += Channel::kMaxDescriptors) {
    std::vector<SlabMessage> messages;
    std::vector<int> descriptors;
    for (size_t i = begin; i < new_slabs_.size() && descriptors.size() < Channel::kMaxDescriptors; ++i) {
      messages.push_back({new_slabs_[i]->number(), new_slabs_[i]->bytes()});
      descriptors.push_back(new_slabs_[i]->descriptor());
    }
    FOREBAY_RETURN_IF_ERROR(channel_.send(MessageType::kSlabs, to_message(messages), descriptors));
  }
  new_slabs_.clear();
  std::erase_if(announced_, [&](const auto& slab) {
    if (!slab.second.expired()) return false;
    dropped->push_back(slab.first);
    return true;
  });
  return {};
}

Result<BatchMessage> ClientSession::describe(const Batch& batch, HeldBatch& held) {
  BatchMessage message;
  message.number = next_number_++;
  for (const BatchField& field : batch.fields) {
    FOREBAY_ASSIGN(FieldMessage located, locate(field, held));
    message.fields.push_back(std::move(located));
  }
  if (batch.object) {
    FOREBAY_ASSIGN(message.object, locate(static_cast<const PortableObject*>(batch.object.get())->bytes, held));
  }
  message.made_rows = batch.made_rows;
  message.ids = batch.ids;
  message.positions = batch.positions;
  message.parts = batch.parts;
  message.padding = batch.padding;
  message.epoch = batch.epoch;
  message.step = batch.step;
  return message;
}

Status ClientSession::deliver(Batch batch) {
  HeldBatch held;
  Result<BatchMessage> message = describe(batch, held);
  if (!message.ok()) {
    undelivered_ = std::move(batch);  // the next request tries again: memory may be free by then
    return channel_.send(MessageType::kFailed, to_message(message.status()));
  }
  message->after = client_position_ = position_of(opened_feed()->feed().position());
  held.batch = std::move(batch);
  // Before the message is sent, because the client may free the batch as soon as it arrives.
  hold(message->number, std::move(held), message->epoch);
  FOREBAY_RETURN_IF_ERROR(send_slabs(&message->dropped_slabs));
  return channel_.send(MessageType::kBatch, to_message(*message));
}

void ClientSession::hold(uint64_t number, HeldBatch held, int64_t epoch) {
  const Lock lock(mutex_);
  ++counters_.batches;
  counters_.samples += held.batch.size();
  counters_.epoch = epoch;
  counters_.bytes += held.bytes;
  counters_.held_bytes += held.bytes;
  held_.emplace(number, std::move(held));
}

void ClientSession::free_batches(const std::string& body) {
  const Result<std::vector<uint64_t>> numbers = from_message<std::vector<uint64_t>>(body);
  if (!numbers.ok()) return;
  std::vector<HeldBatch> freed;  // returns to the pool after the lock is released
  const Lock lock(mutex_);
  for (const uint64_t number : *numbers) {
    const auto found = held_.find(number);
    if (found == held_.end()) continue;
    counters_.held_bytes -= found->second.bytes;
    freed.push_back(std::move(found->second));
    held_.erase(found);
  }
}

ClientStatus ClientSession::status() const {
  const std::shared_ptr<OpenedFeed> opened = opened_feed();
  ClientStatus status;
  {
    const Lock lock(mutex_);
    status = counters_;
    status.held = static_cast<int64_t>(held_.size());
    if (begun_ != std::chrono::steady_clock::time_point())
      status.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
  }
  if (!opened) return status;
  status.reads = true;
  status.shares = opened->feed().shares();
  for (const CacheStats& cache : opened->feed().stats().caches) status.cache_hits[cache.place] = cache.ram.hits;
  return status;
}

}  // namespace forebay
