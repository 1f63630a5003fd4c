#include "store/memory/memory_store.h"

#include "forebay/stats/store.h"
#include "store/conformance.h"

namespace forebay::conformance {

std::shared_ptr<Store> make_memory(const Objects& objects) {
  auto store = memory_store();
  for (const auto& [key, bytes] : objects) store->put(key, std::string_view(bytes));
  return store;
}

INSTANTIATE_TEST_SUITE_P(Memory, StoreConformance, testing::Values(Driver{"memory", make_memory}));

TEST(MemoryStore, PutReplacesAndEraseRemoves) {
  auto store = memory_store();
  store->put("x", "one");
  store->put("x", "two");
  EXPECT_EQ(text_of(read_wait(*store, whole("x"), {}).value()), "two");
  EXPECT_TRUE(store->erase("x"));
  EXPECT_FALSE(store->erase("x"));
  EXPECT_EQ(read_wait(*store, whole("x"), {}).status().code(), Code::kNotFound);
}

TEST(MemoryStore, ReadsNow) {
  auto store = memory_store();
  store->put("x", "one");
  EXPECT_TRUE(store->reads_now());
  EXPECT_EQ(text_of(store->read_now(whole("x"))->value()), "one");
  EXPECT_EQ(store->stats().immediate, 1u);
}

}  // namespace forebay::conformance
