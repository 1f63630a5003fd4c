#include "stream/replay_disk.h"

#include <algorithm>
#include <map>
#include <random>

#include <gtest/gtest.h>

namespace forebay {
namespace {

Buffer piece_of(size_t size, uint8_t value) {
  Buffer piece = Buffer::allocate(size);
  std::fill_n(piece.data(), size, value);
  return piece;
}

TEST(ReplayDisk, pieces_come_and_go_in_any_order_and_holes_are_filled) {
  const auto disk = *ReplayDisk::open(testing::TempDir(), uint64_t{1} << 30);
  std::mt19937 random(3);
  std::map<int, std::pair<ReplayDisk::Slot, uint8_t>> there;
  uint64_t used = 0;
  for (int i = 0; i < 20'000; ++i) {
    if (there.size() == 100) {
      const auto out = std::next(there.begin(), random() % there.size());
      const auto& [slot, value] = out->second;
      const Result<Buffer> piece = disk->read(slot);
      ASSERT_TRUE(piece.ok());
      ASSERT_EQ(piece->size(), slot.size);
      ASSERT_TRUE(
          std::all_of(piece->data(), piece->data() + piece->size(), [&](uint8_t byte) { return byte == value; }));
      disk->free(slot);
      there.erase(out);
    }
    const auto value = static_cast<uint8_t>(random());
    const auto slot = disk->write(piece_of(1 + random() % 8000, value));
    ASSERT_TRUE(slot);
    there.emplace(i, std::pair(*slot, value));
    if (i == 10'000) used = disk->used();
  }
  EXPECT_LT(disk->used(), used + used / 5) << "20,000 pieces lay in the room of some hundred";
  EXPECT_LT(used, 100u * 8000 * 3);
}

TEST(ReplayDisk, a_budget_is_a_limit) {
  const auto disk = *ReplayDisk::open(testing::TempDir(), 10'000);
  std::vector<ReplayDisk::Slot> slots;
  while (const auto slot = disk->write(piece_of(1000, 1))) slots.push_back(*slot);
  EXPECT_GE(slots.size(), 8u);
  EXPECT_LE(disk->used(), 10'000u);
  disk->free(slots.back());
  EXPECT_TRUE(disk->write(piece_of(990, 2))) << "what went made room";
  EXPECT_FALSE(disk->write(piece_of(20'000, 2)));
}

TEST(ReplayDisk, a_folder_that_is_not_there_is_named) {
  const auto disk = ReplayDisk::open("/nowhere/at/all", 1000);
  EXPECT_EQ(disk.status().code(), Code::kUnavailable);
  EXPECT_NE(disk.status().message().find("/nowhere/at/all"), std::string::npos);
}

}  // namespace
}  // namespace forebay
