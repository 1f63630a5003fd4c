#include "cli/ledger_text.h"

#include <gtest/gtest.h>

#include "forebay/ledger.h"

namespace forebay {
namespace {

TEST(LedgerText, sizes_seconds_and_counts_are_lines_with_their_chunks) {
  Ledger ledger;
  ledger.stores.resize(2);
  ledger.stores[1].name = "s3://bucket/";
  ledger.stores[1].requests = 12;
  ledger.stores[1].seconds = 0.25;
  ledger.stores[1].read_bytes = {{256, 1024}, {0, 3, 1}, 5000};
  ledger.memory_peak = 3 << 20;
  ledger.chunks = {1, 1, 2};
  const std::string text = to_text(ledger);
  const auto has = [&](const std::string& name, const std::string& value) {
    return text.find("\n" + name + std::string(name.size() < 36 ? 36 - name.size() : 0, ' ') + " " + value + "\n") !=
           std::string::npos;
  };
  EXPECT_TRUE(has("stores[1].name", "s3://bucket/")) << text;
  EXPECT_TRUE(has("stores[1].requests", "12")) << text;
  EXPECT_TRUE(has("stores[1].seconds", "0.25 s")) << text;
  EXPECT_TRUE(has("stores[1].read_bytes", "3 to 1.0 KiB, 1 above 1.0 KiB")) << text;
  EXPECT_TRUE(has("memory_bytes.peak", "3.0 MiB")) << text;
  EXPECT_TRUE(has("chunks.decoded_times", "2 × 1, 1 × 2")) << text;
}

}  // namespace
}  // namespace forebay
