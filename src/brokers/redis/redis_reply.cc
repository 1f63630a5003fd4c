#include "brokers/redis/redis_reply.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <hiredis/read.h>

#include "stream/named_values.h"

namespace forebay {

namespace {

constexpr size_t kChunk = 256 << 10;

RedisReply& reply_of(const redisReadTask* task) { return *static_cast<RedisReply*>(task->privdata); }
/// Returns a pointer that is not null, as the parser requires for each part.
void* a_part() {
  static char part;
  return &part;
}

void* make_string(const redisReadTask* task, char* text, size_t length) {
  auto kind = RedisReply::Kind::kString;
  if (task->type == REDIS_REPLY_ERROR) kind = RedisReply::Kind::kError;
  if (task->type == REDIS_REPLY_STATUS) kind = RedisReply::Kind::kStatus;
  reply_of(task).add_string(kind, {text, length});
  return a_part();
}
// hiredis counts elements by int before version 1, and by size_t from there on.
template <typename Count>
void* make_array(const redisReadTask* task, Count elements) {
  reply_of(task).add(RedisReply::Kind::kArray, static_cast<int64_t>(elements));
  return a_part();
}
void* make_integer(const redisReadTask* task, long long value) {
  reply_of(task).add(RedisReply::Kind::kInteger, value);
  return a_part();
}
void* make_nil(const redisReadTask* task) {
  reply_of(task).add(RedisReply::Kind::kNil, 0);
  return a_part();
}

redisReplyObjectFunctions part_makers() {
  redisReplyObjectFunctions makers{};  // what only later versions and protocols have stays null
  makers.createString = make_string;
  makers.createArray = make_array;
  makers.createInteger = make_integer;
  makers.createNil = make_nil;
  makers.freeObject = [](void*) {};
  return makers;
}

redisReplyObjectFunctions kPartMakers = part_makers();

}  // namespace

std::string_view RedisReply::text(size_t i) const {
  const Part& part = parts_[i];
  return {reinterpret_cast<const char*>(chunks_[part.chunk].data()) + part.at, static_cast<size_t>(part.number)};
}

Buffer RedisReply::strings(size_t first, size_t last) const {
  const Part &begin = parts_[first], &end = parts_[last];
  if (begin.chunk == end.chunk) {
    const size_t from = begin.at - kNamedLength;
    return chunks_[begin.chunk].slice(from, end.at + static_cast<size_t>(end.number) - from);
  }
  size_t bytes = 0;
  for (size_t i = first; i <= last; ++i) bytes += kNamedLength + static_cast<size_t>(parts_[i].number);
  Buffer joined = Buffer::allocate(bytes);
  uint8_t* out = joined.data();
  for (size_t i = first; i <= last; ++i) {
    const size_t length = kNamedLength + static_cast<size_t>(parts_[i].number);
    std::memcpy(out, chunks_[parts_[i].chunk].data() + parts_[i].at - kNamedLength, length);
    out += length;
  }
  return joined;
}

void RedisReply::add_string(Kind kind, std::string_view text) {
  const size_t needed = kNamedLength + text.size();
  if (chunks_.empty() || chunks_.back().size() - used_ < needed) {
    chunks_.push_back(Buffer::allocate(std::max(kChunk, needed)));
    used_ = 0;
  }
  uint8_t* const out = chunks_.back().data() + used_;
  put_named_length(out, text.size());
  if (!text.empty()) std::memcpy(out + kNamedLength, text.data(), text.size());
  parts_.push_back(
      {kind, static_cast<uint32_t>(chunks_.size() - 1), used_ + kNamedLength, static_cast<int64_t>(text.size())});
  used_ += needed;
  bytes_ += needed;
}

void RedisReply::finish() {
  for (size_t i = 0; i < parts_.size();) i = finish_part(i);
}

// Recurses as deep as arrays are nested; the parser allows seven levels.
size_t RedisReply::finish_part(size_t i) {
  if (parts_[i].kind != Kind::kArray) return i + 1;
  size_t next = i + 1;
  // The parser turns an array of -1 elements into nil.
  for (int64_t k = 0; k < parts_[i].number && next < parts_.size(); ++k) next = finish_part(next);
  parts_[i].at = next;
  return next;
}

void RedisReply::clear() {
  parts_.clear();
  chunks_.clear();  // readers may still use them
  used_ = 0;
  bytes_ = 0;
}

struct RedisParser::State {
  State() : reader(redisReaderCreateWithFunctions(&kPartMakers)) {
    reader->maxbuf = 0;  // keeps the parser from freeing its buffer in between
    reader->privdata = &reply;
  }
  ~State() { redisReaderFree(reader); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  redisReader* reader;
  RedisReply reply;
  bool given = false;
};

RedisParser::RedisParser() : state_(std::make_unique<State>()) {}
RedisParser::~RedisParser() = default;
RedisParser::RedisParser(RedisParser&&) noexcept = default;
RedisParser& RedisParser::operator=(RedisParser&&) noexcept = default;

void RedisParser::feed(std::span<const uint8_t> bytes) {
  redisReaderFeed(state_->reader, reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Result<const RedisReply*> RedisParser::next() {
  // Cleared only after a complete reply was returned; the parts of an incomplete one stay.
  if (state_->given) state_->reply.clear();
  state_->given = false;
  void* whole = nullptr;
  if (redisReaderGetReply(state_->reader, &whole) != REDIS_OK)
    return corrupt(fmt::format("no answer of a Redis server: {}", state_->reader->errstr));
  // Checked while the reply arrives: an endless reply must not fill the memory.
  const uint64_t waiting = state_->reader->len - state_->reader->pos;
  if (state_->reply.bytes() + waiting > kMostBytes || state_->reply.size() > kMostBytes / sizeof(RedisReply::Part))
    return corrupt(fmt::format("an answer of more than {} MiB", kMostBytes >> 20));
  if (whole == nullptr) return nullptr;
  state_->given = true;
  state_->reply.finish();
  return &state_->reply;
}

}  // namespace forebay
