#include "serve/server/guest.h"

#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "forebay/ledger.h"
#include "serve/wire/ledger_message.h"

namespace forebay {

namespace {

// Before the first message is checked, a client must not make the server allocate much memory.
constexpr uint64_t kMostHello = 4096, kMostRequest = uint64_t{64} << 20;
// Longest wait for a batch. Other messages of the client are handled in between.
constexpr std::chrono::milliseconds kMostWait{100};
constexpr std::chrono::seconds kHelloWithin{10};

Position position_of(const Loader& loader) {
  return {loader.epoch(), loader.batches_per_epoch(), loader.finished(), loader.state()};
}

}  // namespace

Guest::Guest(FileDescriptor socket, pid_t process, Sharing& sharing)
    : channel_(std::move(socket), kMostHello, false), process_(process), sharing_(sharing) {
  look_.process = process;
}

Guest::~Guest() { close_feed(); }

std::shared_ptr<OpenedFeed> Guest::feed() const {
  const Lock lock(mutex_);
  return feed_;
}

void Guest::abort() {
  stop_.request_stop();
  channel_.shut_down();
  // Without the lock, because closing waits for work in progress, and look() must not wait for
  // that.
  if (const std::shared_ptr<OpenedFeed> now = feed()) now->feed().close();
}

void Guest::close_feed() {
  std::shared_ptr<OpenedFeed> was;
  not_given_.reset();
  {
    const Lock lock(mutex_);
    was = std::move(feed_);
  }
  if (was) was->feed().close();
}

Status Guest::greet() {
  FOREBAY_ASSIGN(const std::optional<Frame> frame, channel_.receive(kHelloWithin));
  if (!frame || frame->type != MessageType::kHello) return corrupt("a client that does not say who it is");
  FOREBAY_ASSIGN(const Hello hello, from_message<Hello>(frame->body));
  if (hello.magic != kServeMagic) return corrupt("a client that speaks another language");
  if (hello.version != kServeVersion)
    return unsupported(
        fmt::format("this server speaks version {}, the client version {}: they are of different "
                    "releases; stop the server (forebay serve stop) so that one of yours begins",
                    kServeVersion, hello.version));
  channel_.set_most_bytes(kMostRequest);
  const Lock lock(mutex_);
  look_.program = hello.program;
  return {};
}

void Guest::run() {
  Status status = greet();
  if (!status.ok()) {
    (void)channel_.send(MessageType::kFailed, to_message(status));
  } else {
    status = channel_.send(MessageType::kDone, "");
  }
  while (status.ok()) {
    Result<std::optional<Frame>> frame = channel_.receive(std::chrono::minutes(1));
    status = frame.status();
    if (status.ok() && frame->has_value()) status = answer(**frame);
    // Nothing after a corrupt frame can be decoded. The client is told why the connection ends.
    if (status.code() == Code::kCorrupt) (void)channel_.send(MessageType::kFailed, to_message(status));
  }
  channel_.shut_down();
  close_feed();
  {
    // The batches return to their pool after the lock is released.
    std::map<uint64_t, Held> let_go;
    const Lock lock(mutex_);
    let_go.swap(held_);
  }
  over_ = true;
}

// Sends errors of a request to the client. An error that is returned from here ends the connection.
Status Guest::answer(const Frame& frame) {
  if (frame.type == MessageType::kFreed) {
    let_go(frame.body);
    return {};
  }
  if (frame.type == MessageType::kNext) return next(frame.body);
  const Result<std::string> answer = answer_of(frame);
  if (answer.ok()) return channel_.send(MessageType::kDone, *answer);
  return channel_.send(MessageType::kFailed, to_message(answer.status()));
}

Result<Loader*> Guest::position() {
  const std::shared_ptr<OpenedFeed> now = feed();
  if (!now) return invalid_argument("the loader is closed; make a new one");
  return &now->feed().position();
}

Result<std::string> Guest::answer_of(const Frame& frame) {
  switch (frame.type) {
    case MessageType::kOpen: return open(frame.body);
    case MessageType::kStatus: return sharing_.status();
    case MessageType::kStop: sharing_.stop(); return std::string();
    case MessageType::kClose: close_feed(); return std::string();
    default: break;
  }
  FOREBAY_ASSIGN(Loader* const loader, position());
  const std::shared_ptr<OpenedFeed> now = feed();
  Status status;
  switch (frame.type) {
    case MessageType::kPrepare: status = loader->prepare(); break;
    case MessageType::kLook: return look_of_loader();
    case MessageType::kStats: return to_message(now->feed().stats());
    case MessageType::kErrors: return to_message(now->feed().errors());
    case MessageType::kDescribe: return describe();
    case MessageType::kEndTrace:
      status = loader->end_trace();
      now->feed().stay(false);
      break;
    case MessageType::kSetEpoch: {
      FOREBAY_ASSIGN(const int64_t epoch, from_message<int64_t>(frame.body));
      // set_epoch() to the current epoch changes nothing, and must not cost a seat in a group.
      const int64_t before = loader->epoch();
      status = loader->set_epoch(epoch);
      if (epoch != before) move(*now);
      break;
    }
    case MessageType::kLoadState: {
      FOREBAY_ASSIGN(const LoadRequest request, from_message<LoadRequest>(frame.body));
      status = loader->load_state(request.state, request.strict);
      if (status.ok()) move(*now);
      break;
    }
    case MessageType::kBeginTrace: {
      FOREBAY_ASSIGN(const TraceRequest request, from_message<TraceRequest>(frame.body));
      status = loader->begin_trace(request.path, request.most_bytes);
      if (status.ok()) now->feed().stay(true);
      break;
    }
    default: status = unsupported("a request that this server does not know");
  }
  if (!status.ok()) return status;
  return std::string();
}

void Guest::move(OpenedFeed& now) {
  not_given_.reset();
  now.feed().moved();
  given_to_ = position_of(now.feed().position());
}

Result<std::string> Guest::open(const std::string& body) {
  FOREBAY_ASSIGN(const OpenRequest request, from_message<OpenRequest>(body));
  if (feed()) return invalid_argument("this connection has a loader already");
  FOREBAY_ASSIGN(std::shared_ptr<OpenedFeed> opened, OpenedFeed::open(request, sharing_, stop_.get_token()));
  {
    const Lock lock(mutex_);
    feed_ = std::move(opened);
    look_.pipeline = feed_->description();
    look_.rank = request.options.job.rank.value_or(0);
    look_.world_size = request.options.job.world_size.value_or(1);
    look_.together = request.together;
  }
  given_to_ = position_of(feed()->feed().position());
  if (stop_.stop_requested()) close_feed();  // abort() came before there was a feed to close
  return std::string();
}

Result<std::string> Guest::look_of_loader() {
  FOREBAY_ASSIGN(Loader* const loader, position());
  // If a batch could not be delivered, the loader is one batch ahead of the client.
  return to_message(Look{not_given_ ? given_to_ : position_of(*loader), loader->size(), loader->fingerprint()});
}

Result<std::string> Guest::describe() {
  FOREBAY_ASSIGN(Loader* const loader, position());
  return to_message(SourceLook{loader->source_fields(), loader->row_groups(), loader->classes(), loader->warnings()});
}

Status Guest::next(const std::string& body) {
  const Result<uint32_t> timeout = from_message<uint32_t>(body);
  if (!timeout.ok()) return timeout.status();
  const std::shared_ptr<OpenedFeed> now = feed();
  if (!now) return channel_.send(MessageType::kFailed, to_message(invalid_argument("the loader is closed")));
  const auto asked = std::chrono::steady_clock::now();
  bool timed_out = false;
  Result<std::optional<Batch>> batch =
      not_given_ ? Result<std::optional<Batch>>(std::exchange(not_given_, std::nullopt))
                 : now->feed().next_for(std::min(kMostWait, std::chrono::milliseconds(*timeout)), &timed_out);
  {
    const Lock lock(mutex_);
    if (begun_ == std::chrono::steady_clock::time_point()) begun_ = asked;
    // This is the time that the server needed. The client asks ahead and may have waited less.
    look_.waited += std::chrono::duration<double>(std::chrono::steady_clock::now() - asked).count();
  }
  if (!batch.ok()) return channel_.send(MessageType::kFailed, to_message(batch.status()));
  if (timed_out) return channel_.send(MessageType::kNotYet, "");
  if (!batch->has_value()) {
    given_to_ = position_of(now->feed().position());
    return channel_.send(MessageType::kEnd, to_message(EndMessage{given_to_}));
  }
  return give(std::move(**batch));
}

// Memory that clients cannot map is copied to a slab. This concerns only tensors that did not come
// from a loader's pool.
Result<TensorPlace> Guest::place_of(const Tensor& tensor, Held& held) {
  TensorPlace place;
  place.dtype = tensor.dtype;
  place.shape.assign(tensor.shape.begin(), tensor.shape.end());
  const size_t bytes = tensor.buffer.data() == nullptr ? 0 : tensor.nbytes();
  if (bytes == 0) return place;
  std::optional<SharedBlocks::Place> found = sharing_.blocks->find(tensor.buffer.data());
  if (!found) {
    uint8_t* const block = sharing_.blocks->allocate(bytes);
    if (block == nullptr) return out_of_budget("no memory is left that clients can map", bytes);
    std::memcpy(block, tensor.buffer.data(), bytes);
    std::shared_ptr<void> owner(block, [blocks = sharing_.blocks, block, bytes](void*) { blocks->free(block, bytes); });
    held.copies.emplace_back(block, bytes, std::move(owner));
    found = sharing_.blocks->find(block);
  }
  place.slab = found->slab->number();
  place.offset = found->offset;
  held.bytes += bytes;
  // A weak reference, so that a slab without blocks is unmapped here and reported to the client.
  if (told_.emplace(place.slab, found->slab).second) new_slabs_.push_back(std::move(found->slab));
  return place;
}

Result<FieldMessage> Guest::place_of(const BatchField& field, Held& held) {
  FieldMessage message{field.name, field.kind, {}, {}, {}, field.lengths};
  FOREBAY_ASSIGN(message.values, place_of(field.values, held));
  FOREBAY_ASSIGN(message.offsets, place_of(field.offsets, held));
  FOREBAY_ASSIGN(message.string_offsets, place_of(field.string_offsets, held));
  return message;
}

Status Guest::send_slabs(std::vector<uint64_t>* gone) {
  for (size_t begin = 0; begin < new_slabs_.size(); begin += Channel::kMostDescriptors) {
    std::vector<SlabMessage> messages;
    std::vector<int> descriptors;
    for (size_t i = begin; i < new_slabs_.size() && descriptors.size() < Channel::kMostDescriptors; ++i) {
      messages.push_back({new_slabs_[i]->number(), new_slabs_[i]->bytes()});
      descriptors.push_back(new_slabs_[i]->descriptor());
    }
    FOREBAY_RETURN_IF_ERROR(channel_.send(MessageType::kSlabs, to_message(messages), descriptors));
  }
  new_slabs_.clear();
  std::erase_if(told_, [&](const auto& slab) {
    if (!slab.second.expired()) return false;
    gone->push_back(slab.first);
    return true;
  });
  return {};
}

Status Guest::give(Batch batch) {
  Held held;
  BatchMessage message;
  message.number = next_number_++;
  for (const BatchField& field : batch.fields) {
    Result<FieldMessage> placed = place_of(field, held);
    if (!placed.ok()) {
      not_given_ = std::move(batch);  // the next request tries again: memory may be free by then
      return channel_.send(MessageType::kFailed, to_message(placed.status()));
    }
    message.fields.push_back(std::move(*placed));
  }
  message.ids = batch.ids;
  message.positions = batch.positions;
  message.padding = batch.padding;
  message.epoch = batch.epoch;
  message.step = batch.step;
  message.behind = given_to_ = position_of(feed()->feed().position());
  held.batch = std::move(batch);
  {
    const Lock lock(mutex_);
    ++look_.batches;
    look_.samples += held.batch.size();
    look_.epoch = message.epoch;
    look_.bytes += held.bytes;
    look_.held_bytes += held.bytes;
    // Before the message is sent, because the client may free the batch as soon as it arrives.
    held_.emplace(message.number, std::move(held));
  }
  FOREBAY_RETURN_IF_ERROR(send_slabs(&message.gone_slabs));
  return channel_.send(MessageType::kBatch, to_message(message));
}

void Guest::let_go(const std::string& body) {
  const Result<std::vector<uint64_t>> numbers = from_message<std::vector<uint64_t>>(body);
  if (!numbers.ok()) return;
  std::vector<Held> gone;  // returns to the pool after the lock is released
  const Lock lock(mutex_);
  for (const uint64_t number : *numbers) {
    const auto found = held_.find(number);
    if (found == held_.end()) continue;
    look_.held_bytes -= found->second.bytes;
    gone.push_back(std::move(found->second));
    held_.erase(found);
  }
}

GuestLook Guest::look() const {
  const std::shared_ptr<OpenedFeed> now = feed();
  GuestLook look;
  {
    const Lock lock(mutex_);
    look = look_;
    look.held = static_cast<int64_t>(held_.size());
    if (begun_ != std::chrono::steady_clock::time_point())
      look.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
  }
  if (!now) return look;
  look.reads = true;
  look.shares = now->feed().shares();
  for (const CacheStats& cache : now->feed().stats().caches) look.cache_hits[cache.place] = cache.ram.hits;
  return look;
}

}  // namespace forebay
