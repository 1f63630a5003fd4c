// Tests what crosses the socket: each message arrives as it was sent, and bytes that are no message
// are refused before memory is allocated for them.
#include "serve/wire/message.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "serve/wire/ledger_message.h"

namespace forebay {
namespace {

const Position kPosition{3, 15, true, "{\"epoch\": 3}"};

TensorLocation location(uint64_t slab, uint64_t offset, std::vector<int64_t> shape) {
  return {slab, offset, DType::kFloat32, std::move(shape)};
}

// A message of each type in which no member has its default value.
template <typename T>
T sample();

template <>
Hello sample<Hello>() {
  return {kServeMagic, kServeVersion, "trainer"};
}
template <>
LoadRequest sample<LoadRequest>() {
  return {"{\"epoch\": 2}", false, true};
}
template <>
TraceRequest sample<TraceRequest>() {
  return {"/tmp/trace.json", 4096};
}
template <>
LoaderInfo sample<LoaderInfo>() {
  return {kPosition, 1'000'000'007, "0123456789abcdef"};
}
template <>
EndMessage sample<EndMessage>() {
  return {kPosition};
}
template <>
SourceInfo sample<SourceInfo>() {
  return {{{"image", "uint8", {-1, -1, 3}, "", false, false}, {"day", "int64", {}, "datetime64[D]", true, true}},
          {0, 100, 200},
          {"cat", "dog"},
          {{"dead_links", 2, "a/b.jpg", "two links lead nowhere"}}};
}
template <>
BatchMessage sample<BatchMessage>() {
  BatchMessage batch;
  batch.number = 9;
  batch.fields = {{"x", BatchField::Kind::kDense, location(1, 64, {2, 3}), {}, {}, {}},
                  {"words",
                   BatchField::Kind::kTextList,
                   location(2, 0, {11}),
                   location(2, 64, {3}),
                   location(2, 128, {5}),
                   {4, 5}}};
  batch.ids = {7, 8};
  batch.positions = {70, 80};
  batch.parts = {1, 0};
  batch.padding = 1;
  batch.epoch = 3;
  batch.step = 44;
  batch.made_rows = 6;
  batch.object = location(3, 64, {9});
  batch.after = kPosition;
  batch.dropped_slabs = {5, 6};
  return batch;
}
template <>
std::vector<SlabMessage> sample<std::vector<SlabMessage>>() {
  return {{1, 4096}, {2, uint64_t{1} << 40}};
}
template <>
std::vector<ErrorEntry> sample<std::vector<ErrorEntry>>() {
  return {{17, "a.jpg", "decode_image", "Corrupt", "no end", 2}, {-1, "", "", "NotFound", "gone", 1}};
}
template <>
OpenRequest sample<OpenRequest>() {
  OpenRequest request;
  request.pipeline = "{\"steps\": []}";
  request.options.seed = UINT64_MAX;
  request.options.epochs = 3;
  request.options.restart = true;
  request.options.job.rank = 1;
  request.options.job.world_size = 2;
  request.options.resources.threads = 3;
  request.options.resources.requests = 4;
  request.options.resources.memory = uint64_t{1} << 33;
  request.options.errors.on_error = OnError::kReplace;
  request.options.job.shard_by = ShardBy::kLocality;
  request.options.storage_options = {{"endpoint", "http://a"}, {"verify", "false"}};
  request.options.job.hosts = 5;
  request.options.errors.max_errors = ErrorLimit(0.25);
  request.state = "{\"epoch\": 1}";
  request.together = 4;
  request.code_source = "/proc/1/fd/2";
  request.functions = {".map(a.f) 1", ".map(a.g) 2"};
  return request;
}
template <>
Ledger sample<Ledger>() {
  Ledger ledger;
  ledger.steps.push_back({"decode", 5, 10, 20, 1.5, 0.25, 0.5});
  ledger.parts.push_back({"web/en", 5, 2, 40, 0.5});
  ledger.stores.emplace_back().latency_seconds = {{1.0, 2.0}, {3, 4, 5}, 6.0};
  ledger.caches.emplace_back().ram.off = "no memory";
  ledger.chunks = {1, 2, 1};
  ledger.waits.assembly = 0.75;
  ledger.tuning.push_back({1.0, "threads", 1, 2, "because"});
  return ledger;
}

template <typename T>
class Message : public testing::Test {};
using Messages = testing::Types<Hello, OpenRequest, LoadRequest, TraceRequest, LoaderInfo, EndMessage, SourceInfo,
                                BatchMessage, std::vector<SlabMessage>, std::vector<ErrorEntry>, Ledger>;
TYPED_TEST_SUITE(Message, Messages);

TYPED_TEST(Message, arrives_with_every_member) {
  const std::string bytes = to_message(sample<TypeParam>());
  const Result<TypeParam> read = from_message<TypeParam>(bytes);
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(to_message(*read), bytes);
  EXPECT_NE(to_message(TypeParam{}), bytes) << "the sample must differ from the default";
}

TYPED_TEST(Message, is_corrupt_if_any_byte_is_missing_or_left_over) {
  const std::string bytes = to_message(sample<TypeParam>());
  for (size_t length = 0; length < bytes.size(); ++length)
    ASSERT_EQ(from_message<TypeParam>(bytes.substr(0, length)).status().code(), Code::kCorrupt) << length;
  EXPECT_EQ(from_message<TypeParam>(bytes + '\0').status().code(), Code::kCorrupt);
}

// Some of these eight bytes are a length. If it were believed, the vector would be too long.
TYPED_TEST(Message, with_a_length_beyond_its_bytes_is_corrupt_or_another_message) {
  const std::string bytes = to_message(sample<TypeParam>());
  for (const uint64_t hostile : {UINT64_MAX, uint64_t{1} << 63, uint64_t{1} << 32, uint64_t{bytes.size()}}) {
    for (size_t at = 0; at + sizeof hostile <= bytes.size(); ++at) {
      std::string changed = bytes;
      std::memcpy(changed.data() + at, &hostile, sizeof hostile);
      const Result<TypeParam> read = from_message<TypeParam>(changed);
      if (read.ok()) {
        ASSERT_LE(to_message(*read).size(), bytes.size()) << at;
      } else {
        ASSERT_EQ(read.status().code(), Code::kCorrupt) << at;
      }
    }
  }
}

TYPED_TEST(Message, with_any_flipped_bit_is_corrupt_or_another_message) {
  const std::string bytes = to_message(sample<TypeParam>());
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string changed = bytes;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ 1 << bit % 8);
    const Result<TypeParam> read = from_message<TypeParam>(changed);
    if (read.ok()) {
      ASSERT_TRUE(from_message<TypeParam>(to_message(*read)).ok()) << bit;
    }
  }
}

TEST(Messages, of_a_batch_say_where_each_tensor_lies) {
  const BatchMessage read = *from_message<BatchMessage>(to_message(sample<BatchMessage>()));
  ASSERT_EQ(read.fields.size(), 2U);
  EXPECT_EQ(read.fields[0].name, "x");
  EXPECT_EQ(read.fields[0].values.offset, 64U);
  EXPECT_EQ(read.fields[1].kind, BatchField::Kind::kTextList);
  EXPECT_EQ(read.fields[1].string_offsets.offset, 128U);
  EXPECT_EQ(read.fields[1].string_offsets.shape, std::vector<int64_t>{5});
  EXPECT_EQ(read.fields[1].lengths, (std::vector<int64_t>{4, 5}));
  EXPECT_EQ(read.ids, (std::vector<int64_t>{7, 8}));
  EXPECT_EQ(read.parts, (std::vector<int32_t>{1, 0}));
  EXPECT_EQ(read.after.state, kPosition.state);
  EXPECT_EQ(read.dropped_slabs, (std::vector<uint64_t>{5, 6}));
  EXPECT_EQ(read.made_rows, 6);
  EXPECT_EQ(read.object.shape, std::vector<int64_t>{9});
}

TEST(Messages, carry_options_that_are_unset_as_unset) {
  const OpenRequest read = *from_message<OpenRequest>(to_message(OpenRequest()));
  EXPECT_FALSE(read.options.epochs || read.options.job.rank || read.options.job.world_size ||
               read.options.resources.threads);
  EXPECT_FALSE(read.options.resources.requests || read.options.resources.memory || read.options.job.hosts ||
               read.options.errors.max_errors);
  EXPECT_TRUE(read.options.storage_options.empty());
}

TEST(Messages, carry_a_limit_of_errors_as_a_count_or_as_a_share) {
  OpenRequest request;
  request.options.errors.max_errors = ErrorLimit(int64_t{12});
  EXPECT_EQ(from_message<OpenRequest>(to_message(request))->options.errors.max_errors->count, 12);
  request.options.errors.max_errors = ErrorLimit(0.5);
  EXPECT_EQ(from_message<OpenRequest>(to_message(request))->options.errors.max_errors->share, 0.5);
}

TEST(Messages, refuse_values_outside_of_their_enumerations) {
  BatchMessage batch = sample<BatchMessage>();
  batch.fields[0].kind = static_cast<BatchField::Kind>(6);
  EXPECT_EQ(from_message<BatchMessage>(to_message(batch)).status().code(), Code::kCorrupt);
  batch = sample<BatchMessage>();
  batch.fields[0].values.dtype = static_cast<DType>(kDTypeCount);
  EXPECT_EQ(from_message<BatchMessage>(to_message(batch)).status().code(), Code::kCorrupt);
  OpenRequest request;
  request.options.errors.on_error = static_cast<OnError>(100);
  EXPECT_EQ(from_message<OpenRequest>(to_message(request)).status().code(), Code::kCorrupt);
  request = OpenRequest();
  request.options.job.shard_by = static_cast<ShardBy>(100);
  EXPECT_EQ(from_message<OpenRequest>(to_message(request)).status().code(), Code::kCorrupt);
}

// FNV-1a, so that the test needs no other module's hash.
uint64_t checksum(const std::string& bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3;
  return hash;
}

// Both ends may be of different releases, so a change of the bytes needs another kServeVersion.
TEST(Messages, keep_their_bytes_as_long_as_the_version_stays) {
  EXPECT_EQ(kServeVersion, 3U);
  EXPECT_EQ(checksum(to_message(sample<Hello>())), 0x2ff6face7e9a0224U);
  EXPECT_EQ(checksum(to_message(sample<OpenRequest>())), 0x680e4d807d9e39cU);
  EXPECT_EQ(checksum(to_message(sample<LoadRequest>()) + to_message(sample<TraceRequest>())), 0x60d793625865ad56U);
  EXPECT_EQ(checksum(to_message(sample<LoaderInfo>()) + to_message(sample<SourceInfo>())), 0x10daef40fa7627b1U);
  EXPECT_EQ(checksum(to_message(sample<BatchMessage>()) + to_message(sample<EndMessage>())), 0xb4526683d071be8aU);
  EXPECT_EQ(checksum(to_message(sample<std::vector<SlabMessage>>())), 0x531bdd981a22057fU);
  EXPECT_EQ(checksum(to_message(sample<std::vector<ErrorEntry>>())), 0x9003a586be7ae6f2U);
  EXPECT_EQ(checksum(to_message(sample<Ledger>())), 0xcc433590faeb6aeeU);
}

TEST(Messages, have_numbers_that_do_not_change) {
  EXPECT_EQ(static_cast<int>(MessageType::kHello), 1);
  EXPECT_EQ(static_cast<int>(MessageType::kNext), 4);
  EXPECT_EQ(static_cast<int>(MessageType::kFreed), 5);
  EXPECT_EQ(static_cast<int>(MessageType::kStop), 16);
  EXPECT_EQ(static_cast<int>(MessageType::kSetWeights), 17);
  EXPECT_EQ(static_cast<int>(MessageType::kDone), 100);
  EXPECT_EQ(static_cast<int>(MessageType::kNotYet), 105);
}

TEST(StatusMessage, carries_every_code) {
  for (uint8_t code = 1; code <= static_cast<uint8_t>(Code::kInternal); ++code) {
    const Status status(static_cast<Code>(code), "text");
    EXPECT_EQ(status_from_message(to_message(status)).code(), status.code()) << int{code};
  }
}

TEST(StatusMessage, carries_every_place_or_none) {
  const Status bare = corrupt("no end");
  const Status whole =
      corrupt("no end").with_key("a.jpg").with_operator("decode_image").with_sample(0).with_range({0, 6});
  for (const Status& status : {bare, whole, out_of_budget("too large", 77)}) {
    const Status read = status_from_message(to_message(status));
    EXPECT_EQ(read.message(), status.message());
    EXPECT_EQ(read.key(), status.key());
    EXPECT_EQ(read.op(), status.op());
    EXPECT_EQ(read.sample(), status.sample());
    EXPECT_EQ(read.range().has_value(), status.range().has_value());
    EXPECT_EQ(read.bytes_needed(), status.bytes_needed());
  }
}

TEST(StatusMessage, that_is_damaged_is_an_error_and_never_success) {
  const std::string bytes = to_message(corrupt("no end").with_key("a.jpg").with_sample(17).with_range({4, 6}));
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_EQ(status_from_message(bytes.substr(0, length)).code(), Code::kCorrupt) << length;
  std::string unknown_code = bytes;
  unknown_code[0] = 127;
  EXPECT_EQ(status_from_message(unknown_code).code(), Code::kCorrupt);
}

}  // namespace
}  // namespace forebay
