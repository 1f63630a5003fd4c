#include "store/conformance.h"

#include <fmt/format.h>

#include "forebay/stats/store.h"

// Tests the promises of Store on every driver.
namespace forebay::conformance {

TEST_P(StoreConformance, ReadsWholeObjects) {
  const std::string big = some_bytes(1'000'003);
  const auto store = make({{"a/small", "hello"}, {"big", big}});
  EXPECT_EQ(text_of(read(*store, whole("a/small")).value()), "hello");
  EXPECT_EQ(text_of(read(*store, whole("big")).value()), big);
  ReadRequest sized = whole("big");
  sized.expected_size = big.size();
  EXPECT_EQ(text_of(read(*store, sized).value()), big);
}

TEST_P(StoreConformance, ReadsRanges) {
  const auto store = make({{"x", "0123456789"}});
  const auto part = [&](uint64_t offset, uint64_t length) {
    ReadRequest request = whole("x");
    request.range = ByteRange{offset, length};
    return read(*store, request);
  };
  EXPECT_EQ(text_of(part(0, 10).value()), "0123456789");
  EXPECT_EQ(text_of(part(3, 4).value()), "3456");
  EXPECT_EQ(text_of(part(9, 1).value()), "9");
  EXPECT_EQ(text_of(part(10, 0).value()), "");
  EXPECT_EQ(text_of(part(4, 0).value()), "");
}

TEST_P(StoreConformance, RangesBeyondTheEndAreCorrupt) {
  const auto store = make({{"x", "0123456789"}});
  for (const ByteRange range : {ByteRange{0, 11}, ByteRange{10, 1}, ByteRange{11, 0}, ByteRange{UINT64_MAX, 1},
                                ByteRange{1, UINT64_MAX}, ByteRange{UINT64_MAX, UINT64_MAX}}) {
    ReadRequest request = whole("x");
    request.range = range;
    const auto answer = read(*store, request);
    EXPECT_EQ(answer.status().code(), Code::kCorrupt) << range.offset << "+" << range.length;
    EXPECT_NE(answer.status().message().find("shorter than expected"), std::string::npos) << answer.status().message();
  }
}

TEST_P(StoreConformance, EmptyObjectsAreObjects) {
  const auto store = make({{"empty", ""}});
  EXPECT_EQ(read(*store, whole("empty")).value().size(), 0u);
  EXPECT_EQ(stat_wait(*store, "empty", {}).value().size, 0u);
}

TEST_P(StoreConformance, MissingObjectsAreNotFoundAndNamed) {
  const auto store = make({{"a/x", "1"}});
  for (const std::string key : {"y", "a/y", "b/x", "a/x/y"}) {
    const auto answer = read(*store, whole(key));
    EXPECT_EQ(answer.status().code(), Code::kNotFound) << key;
    EXPECT_EQ(answer.status().key(), store->display_name(key));
    EXPECT_EQ(stat_wait(*store, key, {}).status().code(), Code::kNotFound) << key;
  }
  if (lists(*store)) {
    EXPECT_EQ(list_wait(*store, {"nowhere/", "", 10}, {}).status().code(), Code::kNotFound);
  }
}

TEST_P(StoreConformance, ChangedObjectsAreCorruptAndSaySo) {
  const auto store = make({{"x", "0123456789"}});
  for (const uint64_t listed : {uint64_t{7}, uint64_t{11}, uint64_t{0}}) {
    ReadRequest request = whole("x");
    request.expected_size = listed;
    const auto answer = read(*store, request);
    EXPECT_EQ(answer.status().code(), Code::kCorrupt);
    EXPECT_NE(answer.status().message().find("changed: the listing said " + std::to_string(listed) + " bytes, now 10"),
              std::string::npos)
        << answer.status().message();
  }
}

TEST_P(StoreConformance, StatGivesSizes) {
  const auto store = make({{"a/x", "12345"}});
  const auto info = stat_wait(*store, "a/x", {});
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(info->key, "a/x");
  EXPECT_EQ(info->size, 5u);
}

TEST_P(StoreConformance, ListsOneLevel) {
  const auto store =
      make({{"top", "1"}, {"a/x", "12"}, {"a/b/y", "123"}, {"a-b/z", ""}, {".hidden", ""}, {"a/.h/x", ""}});
  if (!lists(*store)) return;
  const ListPage top = list(*store, "", 1000);
  EXPECT_EQ(top.prefixes, (std::vector<std::string>{"a-b/", "a/"}));
  ASSERT_EQ(top.objects.size(), 1u);
  EXPECT_EQ(top.objects[0].key, "top");
  EXPECT_EQ(top.hidden, 1u);
  const ListPage below = list(*store, "a/", 1000);
  EXPECT_EQ(below.prefixes, std::vector<std::string>{"a/b/"});
  ASSERT_EQ(below.objects.size(), 1u);
  EXPECT_EQ(below.objects[0].key, "a/x");
  EXPECT_EQ(below.objects[0].size, 2u);
  EXPECT_EQ(below.hidden, 1u);
}

TEST_P(StoreConformance, TinyPagesEqualOneBigPage) {
  Objects objects;
  for (int i = 0; i < 57; ++i)
    objects[fmt::format("d/{}.jpg", i * 7919 % 101)] = std::string(static_cast<size_t>(i), 'x');
  for (int i = 0; i < 9; ++i) objects[fmt::format("d/f{}/x", i)] = "1";
  objects["d/.hidden1"] = objects["d/.hidden2"] = "";
  const auto store = make(objects);
  if (!lists(*store)) return;
  const ListPage big = list(*store, "d/", 10'000);
  EXPECT_EQ(big.objects.size(), 57u);
  EXPECT_EQ(big.prefixes.size(), 9u);
  for (const uint32_t max_keys : {1u, 2u, 7u, 65u, 66u}) {
    const ListPage tiny = list(*store, "d/", max_keys);
    EXPECT_EQ(tiny.prefixes, big.prefixes);
    EXPECT_EQ(tiny.hidden, 2u);
    EXPECT_TRUE(
        std::ranges::equal(tiny.objects, big.objects,
                           [](const ObjectInfo& a, const ObjectInfo& b) { return a.key == b.key && a.size == b.size; }))
        << "pages of " << max_keys;
  }
}

TEST_P(StoreConformance, OddNamesAreNames) {
  std::vector<std::string> names = {"with space",
                                    "new\nline",
                                    "\xff\xfe\x80 invalid",
                                    "Schl\xc3\xb6\xc3\x9f.jpg",
                                    "\xe7\x8c\xab.png",
                                    "%41",
                                    "a:b",
                                    "quote\"'",
                                    "-dash",
                                    "\\back",
                                    "~tilde",
                                    "*?[x]",
                                    std::string(255, 'n')};
  const std::string folder = GetParam().only_utf8 ? "odd dir\n/" : "odd dir\n\xff/";
  if (GetParam().only_utf8) std::erase(names, "\xff\xfe\x80 invalid");
  Objects objects;
  for (const auto& name : names) objects[folder + name] = name;
  const auto store = make(objects);
  for (const auto& [key, bytes] : objects) EXPECT_EQ(text_of(read(*store, whole(key)).value()), bytes);
  if (!lists(*store)) return;
  const ListPage page = list(*store, folder, 5);
  EXPECT_EQ(page.objects.size(), names.size());
  for (const auto& object : page.objects) EXPECT_TRUE(objects.contains(object.key));
}

TEST_P(StoreConformance, ImpossibleNamesAreNotFound) {
  const auto store = make({{"x", "1"}});
  EXPECT_EQ(read(*store, whole(std::string(300, 'n'))).status().code(), Code::kNotFound);
  EXPECT_EQ(read(*store, whole(std::string(100'000, 'n'))).status().code(), Code::kNotFound);
  EXPECT_EQ(read(*store, whole(std::string("x\0y", 3))).status().code(), Code::kNotFound);
}

TEST_P(StoreConformance, AStopBeforeTheCallAnswersCancelled) {
  const auto store = make({{"x", "1"}});
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(read_wait(*store, whole("x"), stop.get_token()).status().code(), Code::kCancelled);
  EXPECT_EQ(list_wait(*store, {"", "", 10}, stop.get_token()).status().code(), Code::kCancelled);
  EXPECT_EQ(stat_wait(*store, "x", stop.get_token()).status().code(), Code::kCancelled);
}

TEST_P(StoreConformance, AStopDuringReadsAnswersEachOnce) {
  const auto store = make({{"x", some_bytes(300'000)}});
  for (int round = 0; round < 20; ++round) {
    Answers<Buffer> answers;
    std::stop_source stop;
    constexpr size_t kReads = 40;
    for (size_t i = 0; i < kReads; ++i) store->read(whole("x"), stop.get_token(), answers.take());
    stop.request_stop();
    ASSERT_TRUE(answers.wait_for_count(kReads));
    EXPECT_EQ(answers.count(), kReads);
    for (const Code code : answers.codes()) EXPECT_TRUE(code == Code::kOk || code == Code::kCancelled);
  }
  EXPECT_TRUE(read_wait(*store, whole("x"), {}).ok()) << "the store works on after a stop";
}

TEST_P(StoreConformance, ManyThreadsReadAtOnce) {
  Objects objects;
  for (int i = 0; i < 50; ++i) objects[fmt::format("k{}", i)] = some_bytes(static_cast<size_t>(i) * 997);
  const auto store = make(objects);
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 100; ++i) {
          const std::string key = fmt::format("k{}", (i * 13 + t) % 50);
          auto now = i % 2 == 0 ? store->read_now(whole(key)) : std::nullopt;
          const Result<Buffer> answer = now ? std::move(*now) : read_wait(*store, whole(key), {});
          if (!answer.ok() || text_of(*answer) != objects[key]) ++wrong;
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(store->stats().in_flight, 0u);
  EXPECT_GE(store->stats().requests, 800u);
  EXPECT_EQ(store->stats().errors, 0u);
}

TEST_P(StoreConformance, TheEndAnswersReadsInFlight) {
  for (int round = 0; round < 20; ++round) {
    auto store = make({{"x", some_bytes(100'000)}});
    Answers<Buffer> answers;
    for (int i = 0; i < 30; ++i) store->read(whole("x"), {}, answers.take());
    store.reset();
    EXPECT_EQ(answers.count(), 30u) << "every call has answered before the destructor ends";
  }
}

TEST_P(StoreConformance, AnAnswerMayDropTheStore) {
  auto store = make({{"x", "1"}});
  Answers<Buffer> answers;
  auto* held = new std::shared_ptr<Store>(store);
  Store* const plain = store.get();
  store.reset();
  plain->read(whole("x"), {}, [held, done = answers.take()](Result<Buffer> result) {
    delete held;
    done(std::move(result));
  });
  EXPECT_TRUE(answers.wait_for_count(1));
}

TEST_P(StoreConformance, BuffersOutliveTheStore) {
  const std::string bytes = some_bytes(123'456);
  auto store = make({{"x", bytes}});
  const Buffer retained = read_wait(*store, whole("x"), {}).value();
  store.reset();
  EXPECT_EQ(text_of(retained), bytes);
}

TEST_P(StoreConformance, CountsWhatItDoes) {
  const auto store = make({{"x", "12345"}});
  (void)read_wait(*store, whole("x"), {});
  (void)read_wait(*store, whole("missing"), {});
  const StoreStats stats = store->stats();
  EXPECT_EQ(stats.requests, 2u);
  EXPECT_EQ(stats.bytes, 5u);
  EXPECT_EQ(stats.errors, 1u);
  EXPECT_EQ(stats.in_flight, 0u);
}

}  // namespace forebay::conformance
