#include "format/megatron/open_megatron.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/known_lengths.h"
#include "store/memory/memory_store.h"

namespace forebay::megatron_test {
namespace {

std::string index_bytes(const std::vector<int32_t>& lengths, const std::vector<int64_t>& documents,
                        const std::string& modes = "") {
  ByteWriter out;
  for (const char c : std::string("MMIDIDX\0\0", 9)) out.put(c);
  out.put(uint64_t{1});
  out.put(uint8_t{8});  // uint16
  out.put(uint64_t{lengths.size()});
  out.put(uint64_t{documents.size()});
  for (const int32_t length : lengths) out.put(length);
  int64_t at = 0;
  for (const int32_t length : lengths) out.put(std::exchange(at, at + 2 * length));
  for (const int64_t document : documents) out.put(document);
  return out.bytes() + modes;
}

/// Documents of 2 + 1, 0 and 1 tokens: 0, 1, 2, and 3.
std::shared_ptr<MemoryStore> store_of_three(const std::string& modes = "") {
  auto store = memory_store();
  store->put("a.idx", index_bytes({2, 1, 1}, {0, 2, 2, 3}, modes));
  const uint16_t tokens[] = {0, 1, 2, 3};
  store->put("a.bin", {reinterpret_cast<const char*>(tokens), sizeof tokens});
  return store;
}

Result<std::shared_ptr<const Source>> open(const std::shared_ptr<MemoryStore>& store,
                                           MegatronUnit unit = MegatronUnit::kDocument) {
  return open_megatron({store, "a", "", nullptr}, unit, {});
}

std::vector<uint16_t> tokens_of(const SampleSource& source, int64_t id) {
  const SampleSource::Fetch fetch = source.fetch(id);
  Record record;
  EXPECT_TRUE(source.load(id, read_wait(*fetch.store, fetch.request, {}).value(), record).ok());
  const Tensor& tokens = record[0].tensor;
  EXPECT_EQ(tokens.dtype, DType::kUint16);
  const auto* const values = reinterpret_cast<const uint16_t*>(tokens.buffer.data());
  return {values, values + tokens.shape[0]};
}

TEST(Megatron, documents_are_ranges_of_one_object) {
  const auto source = open(store_of_three()).value();
  ASSERT_EQ(source->size(), 3);
  EXPECT_EQ(source->schema().to_string(), "tokens: uint16 (?,)");
  EXPECT_EQ(tokens_of(*source->as_samples(), 0), (std::vector<uint16_t>{0, 1, 2}));
  EXPECT_EQ(tokens_of(*source->as_samples(), 1), (std::vector<uint16_t>{}));
  EXPECT_EQ(tokens_of(*source->as_samples(), 2), (std::vector<uint16_t>{3}));
  EXPECT_EQ(source->key(2), "memory:a.bin document 2");
}

TEST(Megatron, lengths_are_those_of_the_index) {
  const auto source = open(store_of_three("\1\2\3"), MegatronUnit::kSequence).value();
  const KnownLengths* const lengths = known_lengths(*source);
  ASSERT_NE(lengths, nullptr);
  ASSERT_TRUE(lengths->knows_lengths(0));
  EXPECT_FALSE(lengths->knows_lengths(1)) << "a mode is a number";
  for (int64_t id = 0; id < source->size(); ++id)
    EXPECT_EQ(lengths->length(0, id), std::ssize(tokens_of(*source->as_samples(), id)));
}

TEST(Megatron, modes_are_gathered_and_need_no_read) {
  const auto source = open(store_of_three("\1\2\3"), MegatronUnit::kSequence).value();
  const SampleSource& samples = *source->as_samples();
  EXPECT_EQ(source->schema().names(), "tokens, mode");
  ASSERT_TRUE(samples.gathers(1));
  EXPECT_FALSE(samples.gathers(0));
  int8_t modes[3] = {};
  const int64_t ids[] = {2, 0, 1};
  EXPECT_TRUE(samples.gather(1, ids, reinterpret_cast<uint8_t*>(modes)).ok());
  EXPECT_EQ(std::vector<int8_t>(modes, modes + 3), (std::vector<int8_t>{3, 1, 2}));
  Record record;
  EXPECT_TRUE(samples.load(1, Buffer(), record).ok());
  EXPECT_EQ(record[0].kind, FieldKind::kAny) << "nobody wanted the tokens";
  EXPECT_EQ(*record[1].tensor.data<int8_t>(), 2);
}

TEST(Megatron, the_version_follows_the_index_and_not_the_place) {
  const auto version = [](const auto& opened) { return opened.value()->version(); };
  const auto store = store_of_three();
  EXPECT_EQ(version(open(store)), version(open(store_of_three())));
  EXPECT_NE(version(open(store)), version(open(store, MegatronUnit::kSequence)));
  EXPECT_NE(version(open(store)), version(open(store_of_three("\1\2\3"))));
}

TEST(Megatron, what_cannot_be_opened_names_the_file) {
  const auto told = [](const std::shared_ptr<MemoryStore>& store) { return open(store).status().to_string(); };
  auto store = store_of_three();
  store->erase("a.bin");
  EXPECT_NE(told(store).find("there is no memory:a.bin; a Megatron data set is two files"), std::string::npos);
  store->put("a.bin", "1234567");
  EXPECT_NE(told(store).find("memory:a.idx"), std::string::npos) << told(store);
  EXPECT_NE(told(store).find("the .bin file has 7 bytes"), std::string::npos) << told(store);
  store->put("a.bin", "");
  store->put("a.idx", index_bytes({0, 0}, {0, 1, 2}));
  EXPECT_NE(told(store).find("holds no token"), std::string::npos) << told(store);
  store->erase("a.idx");
  EXPECT_NE(told(store).find("there is no memory:a.idx"), std::string::npos);
}

}  // namespace
}  // namespace forebay::megatron_test
