#include "format/table/load_codecs.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace forebay {
namespace {

TEST(LoadCodecs, ManyThreadsAtOnceGetTheSameCodecs) {
  std::vector<const TableCodecs*> found(8);
  std::vector<std::thread> threads;
  for (const TableCodecs*& codecs : found) {
    threads.emplace_back([&codecs] {
      if (const auto loaded = load_table_codecs(); loaded.ok()) codecs = *loaded;
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto loaded = load_table_codecs();
#ifdef FOREBAY_WITH_ARROW
  ASSERT_TRUE(loaded.ok()) << loaded.status().to_string();
  EXPECT_TRUE((*loaded)->version().starts_with("arrow "));
  for (const TableCodecs* codecs : found) EXPECT_EQ(codecs, *loaded);
#else
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.status().code(), Code::kUnsupported);
  EXPECT_NE(loaded.status().message().find("pip install 'forebay[tables]'"), std::string::npos);
#endif
}

#ifdef FOREBAY_WITH_ARROW
TEST(LoadCodecs, ErrorsOfTheModuleCrossIntoTheProgram) {
  const auto loaded = load_table_codecs();
  ASSERT_TRUE(loaded.ok()) << loaded.status().to_string();
  const std::vector<uint8_t> text(100, 'x');
  const auto bytes = (*loaded)->parquet().index_tail_bytes(text, text.size());
  ASSERT_FALSE(bytes.ok());
  EXPECT_EQ(bytes.status().code(), Code::kCorrupt);
}
#endif

}  // namespace
}  // namespace forebay
